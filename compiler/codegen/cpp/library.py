"""Kernels to C++ functions to compiled libraries."""

from collections.abc import Sequence

from compiler.ir.index import constant_value
from compiler.ir.kernel import Kernel, Prefix
from compiler.ir.node import Axis
from compiler.options import Options
from compiler.runtime.cpp import CppKernel, Source, load_kernels

from .body import entry
from .columns import print_columns
from .nest import Nest, flatten
from .pointwise import adjacent, print_pointwise
from .prelude import prelude
from .rows import print_rows
from .stages import expanded
from .writer import Writer


def build(
    kernels: Sequence[Kernel], options: Options | None = None
) -> dict[str, CppKernel]:
    """Return kernel's name -> compiled kernel.

    Args:
        kernels: Distinct names.
        options: ``fast_math`` and ``threads`` matter; None: the defaults.

    Raises:
        BuildError: There is no compiler, or it refuses a source.
        NotImplementedError: A kernel's form cannot be printed.
    """
    options = options or Options()
    sources = [print_kernel(kernel, options) for kernel in kernels]
    return load_kernels(prelude(options.fast_math), sources)


def print_kernel(kernel: Kernel, options: Options | None = None) -> Source:
    """Return a kernel as the text of a C++ function.

    Its parameters are the kernel's buffers, in order, and then the sizes that it needs;
    it returns 0, or the status that :func:`compiler.runtime.cpp.raise_status` explains.
    """
    options = options or Options()
    nest = flatten(kernel)
    fast = _column_axis(nest) if nest.inner else None
    if nest.inner and fast is None:
        nest = expanded(nest)
    writer = Writer(nest, options.threads)
    if not nest.inner:
        print_pointwise(writer)
    elif fast is None:
        print_rows(writer)
    else:
        print_columns(writer, fast)
    parameters = tuple(nest.buffers)
    name = entry(kernel.name)
    return Source(kernel.name, name, writer.function(), parameters, nest.symbols)


def _column_axis(nest: Nest) -> Axis | None:
    """Return the outer axis that lanes run along; None: they run along the inner."""
    if not nest.outer:
        return None
    scans = any(isinstance(stage, Prefix) for stage in nest.stages)

    def long(axis: Axis) -> bool:
        extent = constant_value(axis.extent)
        return extent is None or extent >= 8

    inner = adjacent(nest, nest.inner[-1]) if long(nest.inner[-1]) else 0
    best = max(nest.outer[::-1], key=lambda axis: long(axis) * adjacent(nest, axis))
    score = long(best) * adjacent(nest, best)
    return best if score > inner or (scans and score >= inner > 0) else None
