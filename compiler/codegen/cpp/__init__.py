"""C++ sources: header-free, compiled by g++ and loaded with ctypes."""

from .library import build as build
from .library import print_kernel as print_kernel
