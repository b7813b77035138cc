"""Gluon kernels. These modules import triton; import them where they are used."""
