"""From kernels to callables."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import torch

from compiler.ir.kernel import Kernel
from compiler.options import Options
from compiler.runtime.built import Built
from compiler.runtime.triton_kernel import TritonKernel
from compiler.runtime.triton_pool import POOL
from compiler.runtime.tune import TunedKernel
from compiler.triton_api import launcher_width, prepare_launcher

from .candidates import candidates, exchangeable, repeatable
from .plan import plan
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
    printed = partial(
        print_kernel, fast=options.fast_math, deterministic=options.deterministic
    )
    built: dict[str, Built] = {}
    plain: list[TritonKernel] = []
    for kernel in kernels:
        chosen = plan(kernel, invariant=options.deterministic)
        tuned = options.autotune and not interpret
        if tuned and exchangeable(chosen) and repeatable(chosen):
            several = [printed(kernel, other) for other in candidates(chosen)]
            built[kernel.name] = TunedKernel(
                [TritonKernel(one, interpret=interpret) for one in several]
            )
            continue
        alone = TritonKernel(printed(kernel, chosen), interpret=interpret)
        built[kernel.name] = alone
        plain.append(alone)
    if not interpret and torch.cuda.is_available():
        _compile(plain)
    return built


def _compile(kernels: Sequence[TritonKernel]) -> None:
    """Compile for the current device, several at once where there are several."""
    distinct = list({kernel.key: kernel for kernel in kernels}.values())
    major, minor = torch.cuda.get_device_capability()
    arch = 10 * major + minor

    launchers = sorted({launcher_width(kernel.arity) for kernel in distinct})

    def own(number: int) -> None:
        if number < len(launchers):
            # without it the first launch builds it, or says why it cannot
            with suppress(Exception):
                prepare_launcher(launchers[number])
        else:
            distinct[number - len(launchers)].compile(arch=arch)

    if len(distinct) > 1:
        jobs: list[dict[str, Any]] = [{"launcher": width} for width in launchers]
        POOL.compile([*jobs, *(kernel.job(arch) for kernel in distinct)], own)
    for kernel in kernels:
        kernel.compile(arch=arch)
