"""Shared memory of the tensor cores, for each swizzle width, with symbolic shapes."""

from functools import partial

from verify.legacy import nvmma_shared
from verify.legacy.arithmetic import ceil_div, smaller
from verify.legacy.nvmma_shared import BOX, SOURCE
from verify.terms import Size, Term, all_of, as_size, equal, less, lift, variable

from .box import Exponent, bounds
from .query import Parametric, Query

SCOPE = (
    "elements: 8 to 64 bits; rows: 8 to 2^9; contiguous dim: one swizzled row to 2^9"
)
INSTANCES = {0: 560, 32: 364, 64: 308, 128: 252}
BITS = Exponent("b", 6, low=3)
ROWS, COLUMNS = Exponent("r", 9, low=3), Exponent("c", 9)


def _layout(offset: Term, swizzle: int, *, transposed: bool) -> tuple[Term, Term]:
    """Return the row and column of an offset: pieces, and one from row to column.

    A strip of the contiguous dim holds its rows; boxes of 256 rows follow in the order
    of the dims: before further strips, or after them where dim 0 is contiguous.
    """
    strip = ceil_div(8 * swizzle, BITS.size) if swizzle else smaller(COLUMNS.size, BOX)
    rows = smaller(ROWS.size, BOX)
    strips = ceil_div(COLUMNS.size, strip)
    boxes = ceil_div(ROWS.size, rows)
    place, rest = offset % strip, offset // strip
    row, rest = rest % rows, rest // rows
    # without swizzle boxes are row-major, with it they follow the dims
    columns_first = transposed if swizzle else not transposed
    if columns_first:
        far, high = rest % strips, rest // strips
    else:
        high, far = rest % boxes, rest // boxes
    column = place
    if swizzle:
        phase = row // (128 // swizzle) % (swizzle // 16)
        column = place ^ phase * ceil_div(128, BITS.size)
    return row + high * rows, column + far * strip


def questions(swizzle: int) -> list[Query]:
    """Return the questions for one swizzle width, plain and transposed."""
    row, column = variable("row", 9), variable("column", 9)
    box = [
        *bounds((BITS, ROWS, COLUMNS)),
        less(row, ROWS.size.value()),
        less(column, COLUMNS.size.value()),
    ]
    if swizzle:
        strip = as_size(ceil_div(8 * swizzle, BITS.size))
        box.append(less(strip.exponent, COLUMNS.term + 1))
    found = []
    for transposed in (False, True):
        shape: tuple[Size, Size] = (ROWS.size, COLUMNS.size)
        point: tuple[Term, Term] = (row, column)
        if transposed:
            shape, point = (shape[1], shape[0]), (point[1], point[0])
        model = nvmma_shared(shape, swizzle, BITS.size, transposed)
        offset = lift(model.offset(point))
        back = _layout(offset, swizzle, transposed=transposed)
        claim = all_of(
            (
                equal(back[0], row),
                equal(back[1], column),
                less(offset, (ROWS.size * COLUMNS.size).value()),
            )
        )
        name = "transposed" if transposed else "plain"
        found.append(Query(name, claim, tuple(box)))
    return found


def parametric() -> list[Parametric]:
    """Return one theorem a swizzle width."""
    return [
        Parametric(
            name=f"tensor_core_shared_with_{swizzle}_byte_swizzle_inverts_its_addresses",
            statement=(
                f"Tensor-core shared memory with {swizzle}-byte swizzle, plain and "
                "transposed: the linear layout of the address of an element is that "
                "element, and addresses stay below the size"
            ),
            scope=SCOPE,
            source=SOURCE,
            instances=INSTANCES[swizzle],
            build=partial(questions, swizzle),
        )
        for swizzle in (0, 32, 64, 128)
    ]
