"""From scheduled kernels to callable ones, whatever the tools of the machine can do.

A kernel that cannot be built is evaluated by PyTorch's operators, and a warning names
the user's line and the reason.
"""

import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from pickle import PicklingError
from typing import Any, NoReturn

import torch

from compiler.errors import CompileError, FallbackWarning
from compiler.ir.evaluate import run_kernel
from compiler.ir.expression import Expression, leaves
from compiler.ir.form import form_of
from compiler.ir.kernel import Kernel, Prefix, Reduction
from compiler.options import Options
from compiler.runtime.built import Built, Shared

Builder = Callable[[Sequence[Kernel], Options], Mapping[str, Built]]


class Evaluated:
    """A kernel that runs by PyTorch's operators, one at a time.

    Attributes:
        kernel: What it does.
        parameters: All arrays of the kernel.
        symbols: All its sizes.
    """

    source = "evaluated by PyTorch's operators"

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.parameters = tuple(kernel.buffers)
        self.symbols = tuple(sorted(leaves("symbol", *_roots(kernel)), key=repr))

    def __reduce__(self) -> NoReturn:
        raise PicklingError(f"{self.kernel.name} was not built")

    def __call__(self, *arguments: Any) -> None:
        """Run it; IndexError for an index out of range."""
        count = len(self.parameters)
        tensors: dict[str, torch.Tensor] = dict(
            zip(self.parameters, arguments[:count], strict=True)
        )
        names = (str(symbol.data) for symbol in self.symbols)
        run_kernel(
            self.kernel, tensors, dict(zip(names, arguments[count:], strict=True))
        )


def _roots(kernel: Kernel) -> list[Expression]:
    roots = [axis.extent for axis in (*kernel.outer, *kernel.inner)]
    for buffer in kernel.buffers.values():
        roots += [*buffer.shape, *(buffer.strides or ())]
    for stage in kernel.stages:
        if isinstance(stage, Reduction):
            roots += stage.values
        elif isinstance(stage, Prefix):
            roots.append(stage.value)
        else:
            roots += [*stage.target, stage.value]
            if stage.condition is not None:
                roots.append(stage.condition)
    return roots


def device_type(kernel: Kernel) -> str:
    """Return ``"cpu"``, ``"cuda"`` or the like: where a kernel runs."""
    kinds = {buffer.device.partition(":")[0] for buffer in kernel.buffers.values()}
    return next((kind for kind in sorted(kinds) if kind != "cpu"), "cpu")


def build_kernels(
    kernels: Sequence[Kernel], options: Options, refuted: frozenset[str] = frozenset()
) -> dict[str, Built]:
    """Return kernel's name -> what runs it; equal kernels are compiled once.

    Args:
        kernels: All kernels of a schedule.
        options: With ``fallback``, what cannot be built is evaluated.
        refuted: Names of kernels that must not be built.

    Raises:
        CompileError: A kernel cannot be built and ``fallback`` is off.
    """
    found: dict[str, Built] = {}
    first: dict[Hashable, Kernel] = {}
    twins: list[tuple[str, str, dict[str, str]]] = []
    for kernel in kernels:
        if kernel.name in refuted:
            continue
        form = form_of(kernel)
        other = first.setdefault(form.key, kernel)
        if other is not kernel:
            names = dict(zip(other.buffers, form.arrays, strict=True))
            twins.append((kernel.name, other.name, names))
    for device in sorted({device_type(kernel) for kernel in kernels}):
        wanted = [k for k in first.values() if device_type(k) == device]
        found.update(_built(wanted, options, device))
    if options.fallback:
        for kernel in first.values():
            give_alternative(found.get(kernel.name), kernel)
    for name, other_name, names in twins:
        if other_name in found:
            found[name] = Shared(found[other_name], names)
    for kernel in kernels:
        if kernel.name not in found:
            found[kernel.name] = Evaluated(kernel)
    return found


def give_alternative(built: Any, kernel: Kernel) -> None:
    """Let a kernel that is compiled when it is called run by PyTorch if it cannot be.

    Args:
        built: The kernel; one that is compiled already has no need.
        kernel: What it does.
    """
    if not hasattr(built, "instead"):
        return
    evaluated = Evaluated(kernel)
    wanted = [*evaluated.parameters, *evaluated.symbols]
    given = [*built.parameters, *built.symbols]

    def instead(*arguments: Any) -> None:
        named: dict[Any, Any] = dict(zip(given, arguments, strict=True))
        evaluated(*(named[name] for name in wanted))

    built.instead = instead
    if getattr(built, "unaligned", None) is not None:
        built.unaligned.instead = instead


def warm_up(example_inputs: Sequence[Any]) -> None:
    """Start the processes that compile for a GPU while the graph is still traced."""
    if any(getattr(value, "is_cuda", False) for value in example_inputs):
        from compiler.runtime.triton_pool import POOL

        POOL.start()


def _builder(device: str) -> Builder:
    if device == "cpu":
        from compiler.codegen.cpp import build as build_cpp

        return build_cpp
    from compiler.codegen.triton import build as build_triton

    return build_triton


def _built(
    kernels: Sequence[Kernel], options: Options, device: str
) -> dict[str, Built]:
    if not kernels:
        return {}
    try:
        return dict(_builder(device)(kernels, options))
    except Exception as error:
        if len(kernels) > 1 and not _same_for_all(error):
            # which of them is it? the others run compiled
            found: dict[str, Built] = {}
            for kernel in kernels:
                found.update(_built([kernel], options, device))
            return found
        _report(kernels, error, options)
        return {}


def _same_for_all(error: Exception) -> bool:
    """Return whether other kernels would meet the same error: no compiler, no room."""
    from compiler.errors import BuildError

    return isinstance(error, (ImportError, OSError)) or (
        isinstance(error, BuildError) and not error.facts.get("output")
    )


def _report(kernels: Sequence[Kernel], error: Exception, options: Options) -> None:
    names = ", ".join(kernel.name for kernel in kernels[:3])
    more = f" and {len(kernels) - 3} more" if len(kernels) > 3 else ""
    lines = [line for kernel in kernels for line in kernel.origins if line]
    where = f" (from {lines[0]})" if lines else ""
    reason = str(error).strip() or type(error).__name__
    if not options.fallback:
        raise CompileError(
            f"kernel {names}{more}{where} had to be built: {reason}"
        ) from error
    warnings.warn(
        f"kernel {names}{more}{where} runs by PyTorch's own operators, slower, "
        f"because it could not be built: {reason}",
        FallbackWarning,
        stacklevel=2,
    )
