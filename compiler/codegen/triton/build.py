"""From kernels to callables."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Any

import torch

from compiler.errors import NotTiledError
from compiler.ir.kernel import Kernel
from compiler.options import Options
from compiler.runtime.built import Built
from compiler.runtime.triton_kernel import TritonKernel
from compiler.runtime.triton_pool import POOL, Task
from compiler.runtime.tune import TunedKernel
from compiler.triton_api import launcher_width, prepare_launcher

from .candidates import candidates, exchangeable, repeatable
from .plan import plan
from .printer import Printed, print_kernel
from .product_plan import without_descriptors
from .tile import Plan, lies_across


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
    compilation = None
    assigns = options.layouts == "assigned" and options.certify != "ttir"
    assigns = assigns and not interpret
    if not interpret and torch.cuda.is_available():
        compilation = Compilation()
    for kernel in kernels:
        chosen = plan(kernel, invariant=options.deterministic)
        tuned = options.autotune and not interpret
        if tuned and exchangeable(chosen) and repeatable(chosen):
            several = [
                TritonKernel(printed(kernel, other)) for other in candidates(chosen)
            ]
            if assigns and (ours := _assigned(chosen, several[0].printed)):
                several.insert(0, ours)
            built[kernel.name] = TunedKernel(several)
            continue
        alone = TritonKernel(printed(kernel, chosen), interpret=interpret)
        if assigns:
            alone = _assigned(chosen, alone.printed) or alone
        if chosen.factors is not None and chosen.factors.tiling.descriptors:
            plain = printed(kernel, without_descriptors(chosen))
            alone.unaligned = TritonKernel(plain, interpret=interpret)
        built[kernel.name] = alone
        if compilation is not None:
            compilation.add(alone)
    if compilation is not None:
        compilation.finish()
    return built


def _assigned(chosen: Plan, printed: Printed) -> TritonKernel | None:
    """Return a kernel with layouts of ours, None where tile graphs cannot express it.

    Where an address is not aligned, the kernel runs as Triton lays it out.
    """
    if not lies_across(chosen):
        return None
    # few programs need it, and it takes long to import
    from compiler.codegen.gluon.fused_kernel import print_assigned

    try:
        found = TritonKernel(print_assigned(chosen, printed))
    except NotTiledError:
        return None
    found.unaligned = TritonKernel(printed)
    return found


class Compilation:
    """Kernels that are compiled for the current device, while others are printed.

    Equal ones are compiled once. A single one is compiled without other processes.
    """

    def __init__(self) -> None:
        major, minor = torch.cuda.get_device_capability()
        self._arch = 10 * major + minor
        self._kernels: list[TritonKernel] = []
        self._distinct: dict[Any, TritonKernel] = {}
        self._widths: set[int] = set()
        self._tasks: list[Task] = []
        self._work: list[Callable[[], Any]] = []

    def add(self, kernel: TritonKernel) -> None:
        """Begin to compile a kernel, unless it is the first."""
        self._kernels.append(kernel)
        if kernel.key in self._distinct:
            return
        self._distinct[kernel.key] = kernel
        if len(self._distinct) == 2:
            for one in self._distinct.values():
                self._begin(one)
        elif len(self._distinct) > 2:
            self._begin(kernel)

    def _begin(self, kernel: TritonKernel) -> None:
        width = launcher_width(kernel.arity)
        if width not in self._widths:
            self._widths.add(width)
            self._work.append(partial(_launcher, width))
            self._tasks.append(POOL.submit({"launcher": width}))
        self._work.append(partial(kernel.compile, arch=self._arch))
        self._tasks.append(POOL.submit(kernel.job(self._arch)))

    def finish(self) -> None:
        """Compile the rest, here too.

        Raises:
            BuildError: Triton refuses a kernel.
        """
        if self._tasks:
            POOL.finish(self._tasks, lambda number: self._work[number]())
        for kernel in self._kernels:
            kernel.compile(arch=self._arch)


def _launcher(width: int) -> None:
    # without it the first launch builds it, or says why it cannot
    with suppress(Exception):
        prepare_launcher(width)
