"""Products of half-precision matrices on a GPU: which they are, which run in parts.

The library is fast only where each extent whose elements are adjacent in one of the
three matrices is a multiple of 16 bytes, and not only the steps between rows
(``benchmarks/product_alignment_gpu.py`` measures it). With aligned steps, a product of
odd extents is done as one over the largest such multiples and a few narrow ones: the
last columns, the last rows, the last terms of the sums. No data moves.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from compiler.cost.product import LIBRARY, Library
from compiler.ir.expression import Expression
from compiler.ir.index import constant_value
from compiler.ir.kernel import Allocate, Step
from compiler.ir.node import Alias, Buffer, Extern, Program, Reference

from .rows import ALIGNMENT, Layout, aligned, layout_of

FACTORS: Mapping[str, tuple[int, int]] = {
    "aten.mm.default": (0, 1),
    "aten.addmm.default": (1, 2),
    "aten.bmm.default": (0, 1),
    "aten.baddbmm.default": (1, 2),
}
"""Operator -> numbers of the arguments that are multiplied."""

HALF = ("float16", "bfloat16")

Parts = tuple[int, int, int]
"""Rows, columns and terms of the sums that one call does; narrow ones do the rest."""


@dataclass(frozen=True, slots=True)
class Product:
    """A call of the library's product of matrices.

    Attributes:
        call: The node.
        factors: Names of the two arrays that are multiplied.
        result: What it returns.
        operations: Multiplications and additions [operations].
        bias: Whether it adds a row, which the library does on the way only where the
            result has no gaps.
    """

    call: Extern
    factors: tuple[str, str]
    result: Buffer
    operations: int
    bias: bool

    @property
    def arrays(self) -> tuple[str, ...]:
        """Names of all matrices."""
        return (*self.factors, self.result.name)


def product_of(
    node: object, buffers: Mapping[str, Buffer], device: str = "cuda"
) -> Product | None:
    """Return a node as a half-precision product of known sizes on a device, or None."""
    if not isinstance(node, Extern) or str(node.target) not in FACTORS:
        return None
    result = node.outputs[0]
    numbers = FACTORS[str(node.target)]
    names = [a.name for n in numbers if isinstance(a := node.args[n], Reference)]
    if result is None or len(names) != 2 or not result.device.startswith(device):
        return None
    arrays = [*(buffers[name] for name in names), result]
    sizes = [constant_value(e) for array in arrays for e in array.shape]
    if any(array.dtype not in HALF for array in arrays) or None in sizes:
        return None
    operations = 2
    for extent in (*result.shape, arrays[0].shape[-1]):
        operations *= constant_value(extent) or 0
    first = node.args[0]
    added = numbers[0] == 1 and isinstance(first, Reference)
    bias = added and len(buffers[first.name].shape) == 1
    return Product(node, (names[0], names[1]), result, operations, bias)


def products(program: Program, device: str = "cuda") -> list[Product]:
    """Return the half-precision products of known sizes on a device."""
    buffers = program.buffers()
    made = (product_of(node, buffers, device) for node in program.nodes)
    return [product for product in made if product is not None]


def seconds(
    matrices: Sequence[Layout], dtype: str, library: Library = LIBRARY
) -> float:
    """Return how long a product takes, in parts where that is faster [s].

    Args:
        matrices: The left factor, the right one, the result.
        dtype: Theirs.
        library: What products take.
    """
    return _decided(matrices, dtype, library)[0]


def parts_of(
    matrices: Sequence[Layout], dtype: str, library: Library = LIBRARY
) -> Parts | None:
    """Return the parts in which a product is faster than as one; None if it is not.

    Args:
        matrices: The left factor, the right one, the result.
        dtype: Theirs.
        library: What products take.

    Example:
        >>> left = Layout((8192, 768), (768, 1), 0, 2)
        >>> right = Layout((768, 50257), (1, 768), 0, 2)
        >>> result = Layout((8192, 50257), (50264, 1), 0, 2)
        >>> parts_of((left, right, result), "bfloat16")
        (8192, 50256, 768)
    """
    return _decided(matrices, dtype, library)[1]


def aligned_parts(matrices: Sequence[Layout], dtype: str) -> Parts | None:
    """Return the largest extents that the library is fast with.

    Law: each is the product's extent, or the largest multiple of 16 bytes in it where
    elements along it are adjacent in one of the matrices.

    Args:
        matrices: The left factor, the right one, the result.
        dtype: Theirs.

    Returns:
        None where the product itself has them, or there are none: a step or an extent
        is too odd, or the library would copy a matrix first. Sums of float16 are not
        parted, since what the narrow part leaves in memory could be infinite where
        the sum is not.
    """
    left, _, result = matrices
    extents = (*result.shape[-2:], left.shape[-1])
    wanted = _adjacent(matrices)
    if wanted is None or any(m.alignment < ALIGNMENT for m in matrices):
        return None
    rows, columns, inner = (
        aligned(extent, result.size) if adjacent else extent
        for extent, adjacent in zip(extents, wanted, strict=True)
    )
    if (rows, columns, inner) == extents or 0 in (rows, columns, inner):
        return None
    if inner != extents[2] and dtype != "bfloat16":
        return None
    return rows, columns, inner


def alignment(matrices: Sequence[Layout]) -> tuple[int, bool]:
    """Return what a product's rate depends on.

    Args:
        matrices: The left factor, the right one, the result.

    Returns:
        What all steps between rows are multiples of, and the numbers of columns and of
        terms where they are adjacent in a matrix [bytes]; whether the rows are adjacent
        in the left factor and their number is no multiple of 16 bytes.

    Example:
        >>> left, right = Layout((64, 9), (16, 1), 0, 2), Layout((9, 80), (80, 1), 0, 2)
        >>> alignment((left, right, Layout((64, 80), (80, 1), 0, 2)))
        (2, False)
    """
    left, _, result = matrices
    rows, columns, inner = *result.shape[-2:], left.shape[-1]
    at = min(matrix.alignment for matrix in matrices)
    adjacent = _adjacent(matrices)
    if adjacent is None:
        return at, False
    for extent, counts in ((columns, adjacent[1]), (inner, adjacent[2])):
        while counts and extent * result.size % at:
            at //= 2
    return at, adjacent[0] and aligned(rows, result.size) < rows


def _decided(
    matrices: Sequence[Layout], dtype: str, library: Library
) -> tuple[float, Parts | None]:
    left, _, result = matrices
    rows, columns, inner = *result.shape[-2:], left.shape[-1]
    batch = result.elements // (rows * columns) if rows * columns else 0
    operations = 2 * batch * rows * columns * inner
    whole = library.seconds(operations, *alignment(matrices))
    parts = aligned_parts(matrices, dtype)
    if parts is None:
        return whole, None
    m, n, k = parts
    taken = library.seconds(2 * batch * m * n * k, ALIGNMENT)
    if n < columns:
        taken += library.narrow(batch, rows, columns - n, inner)
    if m < rows:
        taken += library.narrow(batch, rows - m, n, inner)
    if k < inner:  # the result is written twice and read once
        taken += library.narrow(batch, m, n, inner - k)
        taken += library.copying(2 * result.size * batch * m * n)
    return (taken, parts) if taken < whole else (whole, None)


def _adjacent(matrices: Sequence[Layout]) -> tuple[bool, bool, bool] | None:
    """Return of rows, columns, terms whether they are adjacent in some matrix.

    None where the library would copy a matrix, or the result has adjacent rows.
    """
    turned = [_turned(matrix) for matrix in matrices]
    if None in turned or turned[2]:
        return None
    return bool(turned[0]), True, not turned[0] or bool(turned[1])


def _turned(matrix: Layout) -> bool | None:
    """Return whether a matrix's columns are contiguous; None if neither is."""
    (rows, columns), (down, across) = matrix.shape[-2:], matrix.strides[-2:]
    if across == 1 and down >= columns:
        return False
    return True if down == 1 and across >= rows else None


def product_parts(
    inputs: Iterable[Buffer | Expression],
    steps: Iterable[Step],
    notes: list[str],
    device: str = "cuda",
    library: Library = LIBRARY,
) -> dict[str, Parts]:
    """Return the products of a schedule that are to run in parts.

    Args:
        inputs: The schedule's.
        steps: The schedule's.
        notes: Gets which they are.
        device: Where products are looked at.
        library: What products take.

    Returns:
        Name of the result -> parts.
    """
    buffers = {b.name: b for b in inputs if isinstance(b, Buffer)}
    found: dict[str, Parts] = {}
    for step in steps:
        if isinstance(step, (Allocate, Alias)):
            buffers[step.buffer.name] = step.buffer
        if not isinstance(step, Extern):
            continue
        buffers.update({b.name: b for b in step.outputs if b is not None})
        product = product_of(step, buffers, device)
        if product is None:
            continue
        layouts = [layout_of(buffers[name]) for name in product.arrays]
        matrices = [layout for layout in layouts if layout is not None]
        if len(matrices) < 3:
            continue
        parts = parts_of(matrices, product.result.dtype, library)
        if parts is not None:
            name = product.result.name
            found[name] = parts
            notes.append(
                f"{name} is multiplied in parts of {' x '.join(map(str, parts))}"
            )
    return found
