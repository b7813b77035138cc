"""Triton kernels. These modules import triton; import them where they are used."""

from .build import build as build
from .printer import print_kernel as print_kernel
