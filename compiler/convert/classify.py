"""How far a layout conversion has to move its elements.

A conversion asks, for each place of the destination, for a place of the source that
holds the same element: ``conversion = dst.invert_and_compose(src)``. Where that map is
trivial over the blocks, then the warps, lanes and registers, nothing crosses them; the
fastest hardware that is left says what the conversion costs.
"""

from dataclasses import dataclass
from enum import Enum

from algebra.bits import set_bits
from algebra.dims import BLOCK, LANE, REGISTER, WARP
from algebra.errors import DimMismatchError, UnsupportedLayoutError
from algebra.layout import LinearLayout

Bit = tuple[str, int]
"""A bit of a hardware index: in-dim and position."""

SLOWEST_FIRST = (BLOCK, WARP, LANE, REGISTER)


class Movement(Enum):
    """The farthest way that an element has to go, the nearest first."""

    NOTHING = "no-op"
    REGISTERS = "registers"
    WITHIN_WARP = "within warp"
    SHARED_MEMORY = "through shared memory"
    ACROSS_BLOCKS = "across blocks"


@dataclass(frozen=True, slots=True)
class Move:
    """Where one bit of a destination index comes from.

    Attributes:
        to: Bit of the destination's index.
        sources: Bits of the source's index that select the same element; none for a
            bit that selects a copy.
        element: Image of ``to`` under the destination: how far along each tensor dim
            the bit goes [elements].
    """

    to: Bit
    sources: tuple[Bit, ...]
    element: tuple[tuple[str, int], ...]

    @property
    def stays(self) -> bool:
        """Whether the bit is the same in both layouts."""
        return self.sources == (self.to,)


@dataclass(frozen=True, slots=True)
class Conversion:
    """A conversion before a plan for it is made.

    Attributes:
        src: The source without registers that hold copies.
        dst: The destination without registers that hold copies.
        layout: Destination hardware -> source hardware, over all dims.
        crossing: The same over the dims that are left after the trivial ones are
            removed, slowest first.
        movement: The farthest way.
        exchanges: Lane bits that become register bits, in a conversion within a warp
            that permutes bits; None for other conversions. Upstream takes shuffles
            for fewer than two.
    """

    src: LinearLayout
    dst: LinearLayout
    layout: LinearLayout
    crossing: LinearLayout
    movement: Movement
    exchanges: int | None

    @property
    def moves(self) -> tuple[Move, ...]:
        """Where each bit of the destination's index comes from."""
        names = _bits(self.dst)
        sources = _bits(self.src)
        result = []
        vectors = [vector for basis in self.dst.bases.values() for vector in basis]
        for to, column, vector in zip(names, self.layout.columns, vectors, strict=True):
            along = zip(self.dst.out_names, vector, strict=True)
            result.append(
                Move(
                    to,
                    tuple(sources[bit] for bit in set_bits(column)),
                    tuple((dim, size) for dim, size in along if size),
                )
            )
        return tuple(result)

    @property
    def unread(self) -> tuple[Bit, ...]:
        """Bits of the source's index that the destination does not look at."""
        used = 0
        for column in self.layout.columns:
            used |= column
        bits = enumerate(_bits(self.src))
        return tuple(bit for position, bit in bits if not used >> position & 1)


def classify(src: LinearLayout, dst: LinearLayout) -> Conversion:
    """Say how far a conversion moves its elements.

    Law: ``src.apply(conversion.layout.apply(h)) == dst.apply(h)`` for every place h
    of the destination.

    Args:
        src: Distributed layout: in-dims among register, lane, warp and block.
        dst: Distributed layout of the same tensor on the same hardware.

    Returns:
        The conversion: the map between the places, and the farthest way.

    Raises:
        UnsupportedLayoutError: an in-dim is not distributed, e.g. ``offset``.
        DimMismatchError: the tensors, or the numbers of lanes, warps or blocks, differ.
        NotSolvableError: the source lacks an element.

    Example:
        >>> src = LinearLayout.identity_1d(2, "register", "dim0")
        >>> src *= LinearLayout.identity_1d(2, "lane", "dim0")
        >>> dst = LinearLayout.identity_1d(2, "lane", "dim0")
        >>> dst *= LinearLayout.identity_1d(2, "register", "dim0")
        >>> classify(src, dst.transpose_ins(["register", "lane"])).movement
        <Movement.WITHIN_WARP: 'within warp'>

    Source: Triton ``minimalCvtLayout``, ``cvtReordersRegisters``,
        ``cvtNeedsWarpShuffle``, ``getWarpLayoutConvertDecomposition``.
    """
    src, dst = _distributed(src, "src"), _distributed(dst, "dst")
    _check_same_hardware(src, dst)
    layout = dst.invert_and_compose(src)
    crossing = layout
    for dim in SLOWEST_FIRST:
        rest = crossing.quotient([dim])
        if rest is None:
            break
        crossing = rest
    left = crossing.in_names
    if BLOCK in left:
        movement = Movement.ACROSS_BLOCKS
    elif WARP in left:
        movement = Movement.SHARED_MEMORY
    elif LANE in left:
        movement = Movement.WITHIN_WARP
    elif left:
        movement = Movement.REGISTERS
    else:
        movement = Movement.NOTHING
    exchanges = _exchanges(crossing) if movement is Movement.WITHIN_WARP else None
    return Conversion(src, dst, layout, crossing, movement, exchanges)


def _distributed(layout: LinearLayout, which: str) -> LinearLayout:
    """Bring a layout to (register, lane, warp, block) without copies in registers."""
    foreign = [dim for dim in layout.in_names if dim not in SLOWEST_FIRST]
    if foreign:
        raise UnsupportedLayoutError(
            f"a conversion needs distributed layouts, in-dims among "
            f"{list(reversed(SLOWEST_FIRST))}, got {which} with the in-dims "
            f"{list(layout.in_names)}; convert from and to registers",
            which=which,
            in_dims=layout.in_names,
        )
    dims = tuple(reversed(SLOWEST_FIRST))
    for dim in dims:
        if not layout.has_in_dim(dim):
            layout = layout.concat_ins(_absent(dim, layout))
    return layout.transpose_ins(dims).remove_zero_bases_along_dim(REGISTER)


def _absent(dim: str, layout: LinearLayout) -> LinearLayout:
    outs = dict(zip(layout.out_names, layout.out_bits, strict=True))
    return LinearLayout.from_columns({dim: 0}, outs, [])


def _check_same_hardware(src: LinearLayout, dst: LinearLayout) -> None:
    for dim in (LANE, WARP, BLOCK):
        here, there = src.get_in_dim_size(dim), dst.get_in_dim_size(dim)
        if here != there:
            raise DimMismatchError(
                f"src and dst need as many of {dim}, got {here} in src and {there} in "
                "dst; take both from one kernel",
                dim=dim,
                src=here,
                dst=there,
            )
    if src.out_dims != dst.out_dims:
        raise DimMismatchError(
            f"src and dst need the same tensor, got {src.out_dims} in src and "
            f"{dst.out_dims} in dst; give both the same shape",
            src=src.out_dims,
            dst=dst.out_dims,
        )


def _exchanges(crossing: LinearLayout) -> int | None:
    """Count lane bits that go to registers, for a permutation of bits; else None.

    Bits that have no source, or no destination, are paired by position where they can
    be, so that a copy stays where it is.
    """
    registers = crossing.get_in_dim_size_log2(REGISTER)
    lanes = crossing.get_in_dim_size_log2(LANE)
    held = crossing.get_out_dim_size_log2(REGISTER)
    columns = list(crossing.columns)
    used = [column for column in columns if column]
    if len(set(used)) < len(used) or any(column.bit_count() > 1 for column in used):
        return None
    to_registers = sum(1 for column in columns[registers:] if 0 < column < 1 << held)
    free_lanes = sum(1 for column in columns[registers:] if not column)
    lost_lanes = lanes - sum(1 for column in columns if column >> held)
    return to_registers + max(free_lanes - lost_lanes, 0)


def _bits(layout: LinearLayout) -> list[Bit]:
    return [
        (dim, position)
        for dim, bits in zip(layout.in_names, layout.in_bits, strict=True)
        for position in range(bits)
    ]
