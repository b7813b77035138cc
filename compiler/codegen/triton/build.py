"""From kernels to callables."""

from collections.abc import Iterable, Sequence

import torch

from compiler.ir.kernel import Kernel
from compiler.options import Options
from compiler.runtime.built import Built
from compiler.runtime.triton_kernel import TritonKernel
from compiler.runtime.triton_pool import POOL

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
    built = {
        kernel.name: TritonKernel(print_kernel(kernel), interpret=interpret)
        for kernel in kernels
    }
    if not interpret and torch.cuda.is_available():
        _compile(list(built.values()))
    return dict(built)


def _compile(kernels: Sequence[TritonKernel]) -> None:
    """Compile for the current device, several at once where there are several."""
    distinct = list({kernel.key: kernel for kernel in kernels}.values())
    major, minor = torch.cuda.get_device_capability()
    arch = 10 * major + minor

    def own(number: int) -> None:
        distinct[number].compile(arch=arch)

    if len(distinct) > 1:
        POOL.compile([kernel.job(arch) for kernel in distinct], own)
    for kernel in kernels:
        kernel.compile(arch=arch)
