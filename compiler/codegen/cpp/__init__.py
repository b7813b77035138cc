"""C++ sources: header-free, compiled by g++ and loaded with ctypes."""
