"""From kernels to callables."""

from collections.abc import Iterable

from compiler.ir.kernel import Kernel
from compiler.options import Options
from compiler.runtime.built import Built
from compiler.runtime.triton_kernel import TritonKernel

from .printer import print_kernel


def build(
    kernels: Iterable[Kernel], options: Options, *, interpret: bool = False
) -> dict[str, Built]:
    """Return what runs each kernel, by the kernel's name.

    Args:
        kernels: What the scheduler made.
        options: The user's choices.
        interpret: Run in Triton's interpreter, on CPU tensors.

    Raises:
        BuildError: a kernel cannot be printed, or Triton refuses it.
    """
    return {
        kernel.name: TritonKernel(print_kernel(kernel), interpret=interpret)
        for kernel in kernels
    }
