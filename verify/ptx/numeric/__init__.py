"""PTX kernels run on numbers, without a GPU; see ``run``."""

from .run import run_kernel

__all__ = ["run_kernel"]
