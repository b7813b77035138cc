"""Campaigns on the functions of libraries: layouts, and small Triton kernels."""
