"""What each operator reads, as maps of index bits, and what that makes of layouts.

Elements are packed: the bits of dim0 lowest, then those of dim1, and so on. For an
operator that moves nothing between threads, ``need`` is the F2-affine map from an
element of its result to the element of an operand that it is made of. Everything else
follows from it, for any linear layout:

* backward: where the result has the layout R, an operand with the layout need after R
  is in place;
* forward: a layout of the operand is the layout of a result whose need it covers;
* the proof of an edge: ``sources`` finds, by linear algebra, the register of the same
  thread that holds what each register of the result needs, or says that there is none.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from algebra import propagate
from algebra.affine import AffineLayout
from algebra.dims import BLOCK, LANE, REGISTER, WARP, dim_name
from algebra.gauss import Echelon, apply
from algebra.layout import LinearLayout
from compiler.convert.copies import without_copies
from compiler.ir.tile import (
    Step,
    Tile,
    TileJoin,
    TileSplit,
    TileUpcast,
    TileView,
)


@dataclass(frozen=True, slots=True)
class Need:
    """The element of an operand for each element of a result, packed.

    Attributes:
        columns: Image of each bit of a result's element.
        offset: Image of element zero.
    """

    columns: tuple[int, ...]
    offset: int = 0

    def after(self, layout: LinearLayout, shape: Sequence[int]) -> AffineLayout:
        """Return the layout of the operand's elements at a result's places.

        Args:
            layout: Of the result.
            shape: Of the operand [elements].
        """
        columns = [apply(self.columns, column) for column in layout.columns]
        parts = {}
        rest = self.offset
        for axis, size in enumerate(bits_of(shape)):
            parts[dim_name(axis)] = rest & (1 << size) - 1
            rest >>= size
        return AffineLayout(with_columns(layout, shape, columns), parts)


def bits_of(shape: Sequence[int]) -> list[int]:
    """Return log2 of each size [bits]."""
    return [size.bit_length() - 1 for size in shape]


def with_columns(
    like: LinearLayout, shape: Sequence[int], columns: Sequence[int]
) -> LinearLayout:
    """Return a layout on the hardware of ``like`` from packed columns."""
    ins = dict(zip(like.in_names, like.in_bits, strict=True))
    return from_columns(ins, shape, columns)


def from_columns(
    hardware: dict[str, int], shape: Sequence[int], columns: Sequence[int]
) -> LinearLayout:
    """Return a layout of a tile from packed columns, surjective or not."""
    outs = {dim_name(axis): bits for axis, bits in enumerate(bits_of(shape))}
    return LinearLayout.from_columns(hardware, outs, columns)


def layout_of(
    shape: Sequence[int],
    register: Sequence[int],
    lane: Sequence[int],
    warp: Sequence[int],
) -> LinearLayout:
    """Return a layout of one block from packed columns.

    Example:
        >>> layout_of([4], [1], [2], []).bases["lane"]
        ((2,),)
    """
    hardware = {
        REGISTER: len(register),
        LANE: len(lane),
        WARP: len(warp),
        BLOCK: 0,
    }
    return from_columns(hardware, shape, [*register, *lane, *warp])


def need(step: Step, result: int = 0) -> Need:
    """Return what a result of a step reads of its operands, the same of each.

    Args:
        step: A map, view, join, split or upcast; of others the identity is meant: the
            operand has the coordinates of the result.
        result: Number of the result.
    """
    match step:
        case TileView(operands=(operand,), result=tile, kind=kind, order=order):
            return _view(operand, tile, kind, order)
        case TileJoin(result=tile):
            total = sum(bits_of(tile.shape))
            return Need((*(1 << bit for bit in range(total - 1)), 0))
        case TileSplit(halves=halves):
            total = sum(bits_of(halves[0].shape))
            return Need(tuple(1 << bit for bit in range(total)), result << total)
        case TileUpcast(result=tile, axis=axis):
            sizes = bits_of(tile.shape)
            low = sum(sizes[:axis])
            kept = [1 << bit for bit in range(low)]
            rest = [1 << bit for bit in range(low, sum(sizes) - 1)]
            return Need((*kept, 0, *rest))
        case _:
            from compiler.ir.tile import results_of

            tiles = results_of(step) or step.operands
            total = sum(bits_of(tiles[result].shape))
            return Need(tuple(1 << bit for bit in range(total)))


def _view(operand: Tile, result: Tile, kind: str, order: Sequence[int]) -> Need:
    source, target = bits_of(operand.shape), bits_of(result.shape)
    if kind == "expand_dims":
        return Need(tuple(1 << bit for bit in range(sum(target))))
    if kind == "broadcast":
        columns, place = [], 0
        for old, new in zip(source, target, strict=True):
            columns += [1 << place + bit if old else 0 for bit in range(new)]
            place += old
        return Need(tuple(columns))
    if kind == "transpose":
        starts = [sum(source[:axis]) for axis in range(len(source))]
        return Need(
            tuple(
                1 << starts[axis] + bit for axis in order for bit in range(source[axis])
            )
        )
    # row-major bit -> packed bit, on both sides
    before, after = _row_major(source), _row_major(target)
    found = {bit: at for at, bit in enumerate(after)}
    return Need(tuple(1 << before[found[bit]] for bit in range(sum(target))))


def _row_major(sizes: Sequence[int]) -> list[int]:
    """Return the packed bit of each row-major bit, the last dim the fastest."""
    found: list[int] = []
    for axis in reversed(range(len(sizes))):
        start = sum(sizes[:axis])
        found += range(start, start + sizes[axis])
    return found


def compact(layout: LinearLayout) -> LinearLayout:
    """Return a layout without registers that hold copies."""
    return without_copies(AffineLayout(layout))[1].linear


def backward(step: Step, layout: LinearLayout) -> LinearLayout:
    """Return a layout of the operands from which a result with ``layout`` is made.

    Law: ``sources(step, backward(step, R), R)`` is not None, for any linear R.

    Args:
        step: A step that moves nothing between threads.
        layout: Of the results, any linear one.
    """
    if isinstance(step, TileSplit):
        return propagate.join(layout)
    if not isinstance(step, TileView | TileJoin | TileUpcast):
        return layout
    operand = step.operands[0]
    return compact(need(step).after(layout, operand.shape).linear)


def forward(step: Step, layout: LinearLayout) -> tuple[LinearLayout, LinearLayout]:
    """Return layouts of the operands and the results that suit ``layout``.

    The operand's is ``layout`` itself, but for a split of pairs that lie in different
    threads, whose pairs must come together first.

    Law: with (A, R) = forward(step, L), ``sources(step, A, R)`` is not None, and R
    holds every element if L does.

    Args:
        step: A step that moves nothing between threads.
        layout: Of the operands, any linear one.
    """
    match step:
        case TileView(kind="broadcast", result=tile):
            return layout, propagate.broadcast(layout, tile.shape)
        case TileView(kind="expand_dims", result=tile):
            return layout, with_columns(layout, tile.shape, layout.columns)
        case TileView(kind="transpose", order=order):
            return layout, propagate.trans(layout, order)
        case TileView(result=tile):
            return layout, propagate.reshape(layout, tile.shape)
        case TileJoin():
            return layout, propagate.join(layout)
        case TileUpcast(axis=axis):
            return layout, propagate.fp4_to_fp(layout, axis)
        case TileSplit(halves=(half, _)):
            top = sum(bits_of(half.shape))
            columns = [column & (1 << top) - 1 for column in layout.columns]
            halves = compact(with_columns(layout, half.shape, columns))
            made = propagate.join(halves)
            if sources(step, layout, halves) is not None:
                made = layout
            return made, halves
        case _:
            return layout, layout


def sources(
    step: Step, operand: LinearLayout, result: LinearLayout, which: int = 0
) -> AffineLayout | None:
    """Return which register of its own thread each register of a result reads.

    This is the proof of an edge: a map from places to places, the same register in all
    threads, that composed with the operand's layout is what the result needs.

    Args:
        step: A step that moves nothing between threads.
        operand: Layout of the operands.
        result: Layout of the results.
        which: Number of the result.

    Returns:
        New register -> old register; None if some thread lacks an element.
    """
    shape = step.operands[0].shape if step.operands else ()
    wanted = need(step, which).after(result, shape)
    return renaming(operand, wanted)


def renaming(held: LinearLayout, wanted: AffineLayout) -> AffineLayout | None:
    """Return the register of its own thread that has what each place wants.

    Law: for each register r and thread t, ``held(renaming(r), t) == wanted(r, t)``.

    Returns:
        New register -> old register; None if there is none that is the same in all
        threads.
    """
    old, new = held.in_bits[0], wanted.linear.in_bits[0]
    if held.columns[old:] != wanted.linear.columns[new:]:
        return None
    echelon = Echelon(held.columns[:old])
    columns = []
    for target in (*wanted.linear.columns[:new], wanted.packed_offset):
        remainder, tag = echelon.reduce(target)
        if remainder:
            return None
        columns.append(tag)
    linear = LinearLayout.from_columns({REGISTER: new}, {REGISTER: old}, columns[:-1])
    return AffineLayout(linear, {REGISTER: columns[-1]})
