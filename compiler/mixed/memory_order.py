"""The order in memory that makes load, upcast and matrix instruction free of moves.

A matrix instruction wants element (n, k) of a weight in a certain register of a certain
lane: that is a layout, the dot operand D: (register, lane, warp) -> (dim0, dim1). The
elements come from memory narrow, several to a 32-bit word, and reach their registers in
two steps, both linear over F2:

- *load*: a lane reads one vector, and the lanes' vectors follow each other;
- *upcast*: bit operations on a word yield target words. Target word i takes the
  elements at positions i, i + n, i + 2n, ... of the narrow word, for n target words:
  those of one target word lie ``target_bits`` apart, so that one mask selects all.

Where an element lies in memory is free, so memory takes up the difference: with R the
map (register, lane, warp) -> offset of what load and upcast do, the order is the L with

    R.compose(L) == D

and weights are packed by L's inverse. Marlin's order is the instance of 4-bit elements,
16-bit targets and the B operand of m16n8k16 (``compiler.permutations.marlin_tile``).
"""

from dataclasses import dataclass
from typing import Final

from algebra import LinearLayout
from algebra.bits import is_power_of_two, log2
from algebra.dims import LANE, OFFSET, REGISTER, WARP
from algebra.errors import DimMismatchError, NotInvertibleError, OutOfRangeError
from algebra.verdict import Proved, Refuted, Verdict
from compiler.permutations import INDEX

WORD_BITS: Final = 32
"""Width of a register [bits]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryOrder:
    """An order in memory, and what it was derived from.

    Attributes:
        operand: Which element each register, lane and warp must hold.
        element_bits: Width in memory [bits].
        target_bits: Width in registers [bits].
        load_bits: What a lane reads at once [bits].
        reads: Offset that each register, lane and warp gets by load and upcast.
        layout: Element at each offset: ``offset`` -> the operand's dims.
    """

    operand: LinearLayout
    element_bits: int
    target_bits: int
    load_bits: int
    reads: LinearLayout
    layout: LinearLayout

    def prove(self) -> Verdict:
        """Prove that every register of every lane gets the element that it must hold.

        Both sides are linear, so equal images of the index bits are equal everywhere.

        Returns:
            ``Proved``, or ``Refuted`` with a register, lane and warp and the elements.
        """
        delivered = self.reads.compose(self.layout)
        for (name, bit), got, due in zip(
            _inputs(self.operand), delivered.columns, self.operand.columns, strict=True
        ):
            if got != due:
                at = {n: 1 << bit if n == name else 0 for n in self.operand.in_names}
                return Refuted(
                    {
                        "at": at,
                        "delivered": delivered.apply(at),
                        "wanted": self.operand.apply(at),
                    }
                )
        return Proved(
            "exact F2 algebra",
            (
                ("places", self.operand.get_total_in_dim_size()),
                ("elements", self.layout.get_total_in_dim_size()),
            ),
        )

    @property
    def index_map(self) -> LinearLayout:
        """The map row-major index -> offset, for ``compiler.permute``.

        The last of dim0, dim1, ... is the fastest.
        """
        names = sorted(self.layout.out_names, key=lambda name: (len(name), name))
        flat = self.layout.transpose_outs(names[::-1]).flatten_outs()
        inverse = flat.rename_in_dim(OFFSET, INDEX).invert()
        return inverse.rename_in_dim(inverse.in_names[0], INDEX).rename_out_dim(
            inverse.out_names[0], INDEX
        )


def _inputs(layout: LinearLayout) -> list[tuple[str, int]]:
    return [
        (name, bit)
        for name in layout.in_names
        for bit in range(layout.get_in_dim_size_log2(name))
    ]


def derive(
    operand: LinearLayout,
    element_bits: int,
    *,
    target_bits: int = 16,
    load_bits: int = 128,
) -> MemoryOrder:
    """Derive the order in memory for an operand.

    Offsets are, from the lowest bit: the position in a word, the word in a lane's
    vector, the lane, the lane's further vectors, the warp. Registers fill positions and
    words in their order. Registers, lanes and warps that hold copies read the same
    place.

    Args:
        operand: Map (register, lane, warp) -> element; registers in the order in which
            the instruction takes them, those of one 32-bit register first.
        element_bits: Width in memory: 4, 8, 16 or 32 [bits].
        target_bits: Width in registers: ``element_bits`` to 32 [bits].
        load_bits: What a lane reads at once: ``element_bits`` to 128; less than a word
            only where nothing is upcast [bits].

    Raises:
        OutOfRangeError: A width is none of these.
        DimMismatchError: A lane holds fewer elements than one load; enlarge the tile.
        NotInvertibleError: Places other than copies hold one element twice, or some
            element is nowhere.

    Example:
        >>> from algebra.encodings import DotOperand, NvidiaMma
        >>> mma = NvidiaMma(version=(2, 0), warps_per_cta=(1, 1), instr_shape=(16, 8))
        >>> a = DotOperand(op_idx=0, parent=mma, k_width=2)
        >>> order = derive(a.to_linear_layout([16, 64]), 4)
        >>> order.prove().method
        'exact F2 algebra'
        >>> [v for v in order.layout.bases["offset"][:3]]  # row + 8, k + 8, k + 1
        [(8, 0), (0, 8), (0, 1)]
    """
    _check_widths(element_bits, target_bits, load_bits)
    position_bits = log2(WORD_BITS // element_bits)
    shared_bits = log2(WORD_BITS // target_bits)
    vector_bits = log2(load_bits // element_bits)
    columns = {
        name: operand.in_columns(name) if operand.has_in_dim(name) else ()
        for name in (REGISTER, LANE, WARP)
    }
    held = [c for c in columns[REGISTER] if c]
    if len(held) < vector_bits:
        raise DimMismatchError(
            f"a load of {load_bits} bits has 2**{vector_bits} elements, got an operand "
            f"with register={1 << len(held)} elements a lane; enlarge the tile or load "
            "less",
            needed=vector_bits,
            got=len(held),
        )
    position_bits = min(position_bits, vector_bits)
    shared_bits = min(shared_bits, vector_bits)
    # position bit of each of a word's register bits: those of one target word on top
    positions = [
        *range(position_bits - shared_bits, position_bits),
        *range(position_bits - shared_bits),
    ]
    slots = [*positions, *range(position_bits, vector_bits)]
    lanes = [c for c in columns[LANE] if c]
    first_rest = vector_bits + len(lanes)
    slots += range(first_rest, first_rest + len(held) - vector_bits)
    place: dict[int, int] = dict(zip(held, slots, strict=True))
    place |= {c: vector_bits + i for i, c in enumerate(lanes)}
    warps = [c for c in columns[WARP] if c]
    place |= {c: len(held) + len(lanes) + i for i, c in enumerate(warps)}
    total = len(held) + len(lanes) + len(warps)
    if len(place) != total:
        raise NotInvertibleError(
            "two places that are no copies hold one element, got "
            f"operand={operand.bases}; drop the doubled basis"
        )
    reads = LinearLayout.from_columns(
        dict(zip(operand.in_names, operand.in_bits, strict=True)),
        {OFFSET: total},
        [1 << place[c] if c else 0 for c in operand.columns],
    )
    at = {slot: column for column, slot in place.items()}
    layout = LinearLayout.from_columns(
        {OFFSET: total},
        dict(zip(operand.out_names, operand.out_bits, strict=True)),
        [at[slot] for slot in range(total)],
    )
    if not layout.is_invertible:
        raise NotInvertibleError(
            "an order in memory needs each element once, got an operand that covers "
            f"2**{layout.rank} of 2**{sum(operand.out_bits)} elements from "
            f"2**{total} places; give one whole tile"
        )
    return MemoryOrder(
        operand=operand,
        element_bits=element_bits,
        target_bits=target_bits,
        load_bits=load_bits,
        reads=reads,
        layout=layout,
    )


def _check_widths(element_bits: int, target_bits: int, load_bits: int) -> None:
    for name, value, low, high in (
        ("element_bits", element_bits, 4, WORD_BITS),
        ("target_bits", target_bits, element_bits, WORD_BITS),
        ("load_bits", load_bits, element_bits, 4 * WORD_BITS),
    ):
        whole = isinstance(value, int) and is_power_of_two(value)
        if not whole or not low <= value <= high:
            raise OutOfRangeError(
                f"{name} must be a power of two from {low} to {high}, got "
                f"{name}={value!r}; pad the elements or load more at once"
            )
