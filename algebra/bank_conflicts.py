"""Exact bank conflicts of a shared-memory access, as a difference of two ranks.

Shared memory is a row of banks, one 32-bit word wide. In one wavefront the memory
serves any set of words that lie in different banks (a word is served to all lanes that
want it); two different words in one bank take two wavefronts.

Everything here is linear over F2. Let h range over the hardware bits of one wavefront
(the registers of a vector and as many lanes as fill a row of banks). The word index
W h = offset * bits / 32 and the bank index B h = W h mod banks are binary matrices, so
the access touches 2**rank(W) words in 2**rank(B) banks and every touched bank gets
equally many. Hence the law

    extra wavefronts = 2 ** (rank(W) - rank(B)) - 1.

Equal addresses, broadcast within a word, several elements in a word and several rows
of banks are all inside the two ranks; nothing has to be special-cased. Xor swizzles
finer than a word are counted right, where the subspace count
2**dim(segment & lanes) - 1 of Triton's ``bankConflictsMemDesc`` is too low.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .arguments import expect_layout
from .bits import log2
from .contiguity import Vectorisation, largest_vectorisation, vector_of
from .dims import LANE, OFFSET, REGISTER
from .errors import DimMismatchError, OutOfRangeError, UnsupportedLayoutError
from .gauss import rank
from .layout import LinearLayout

WORD_BITS = 32


@dataclass(frozen=True, slots=True)
class LaneTile:
    """The lanes that one wavefront serves, where that isn't simply the first ones.

    Attributes:
        lane_contig: Lane bits that hold parts of one 128-bit row (matrix instructions).
        lane_addr: Lane bits that address different rows.

    ``ld.shared`` of 128 bits is ``LaneTile((), (0, 1, 2))``, a 128-bit read on CDNA
    ``LaneTile((), (0, 1, 4))``, ``ldmatrix`` ``LaneTile((0, 1), (2, 3, 4))`` and its
    transposed form ``LaneTile((2, 3, 4), (0, 1))``. Empty means: the default.

    Source: Triton ``LocalMemOpTile``.
    """

    lane_contig: tuple[int, ...] = ()
    lane_addr: tuple[int, ...] = ()

    @property
    def lanes(self) -> tuple[int, ...]:
        """All lane bits of the tile."""
        return self.lane_contig + self.lane_addr


Tile = LaneTile | Mapping[str, Sequence[int]]


def bank_conflicts(
    distributed: LinearLayout,
    shared: LinearLayout,
    element_bits: int,
    vector: int | None = None,
    banks: int = 32,
    lane_tile: Tile | None = None,
) -> int:
    """Count the extra wavefronts of one shared-memory access; 0 = no conflict.

    Law: equal to ``simulate_wavefronts`` of the same arguments, lane by lane.

    Args:
        distributed: register, lane, warp, block -> tensor.
        shared: offset, block -> tensor, [offset in elements].
        element_bits: Size of an element [bits], a power of two.
        vector: Elements of one access of one lane; default: the most that are legal
            within 128 bits.
        banks: Number of 32-bit banks.
        lane_tile: Lane bits of one wavefront: a ``LaneTile``, or a mapping with its
            two fields; default: the lowest lanes that fill one row of banks.

    Returns:
        Wavefronts of one access beyond the first.

    Raises:
        DimMismatchError: a dim is missing, or the two layouts' tensors differ.
        NotPowerOfTwoError: a size isn't a power of two.
        NotSolvableError: the shared layout lacks an element of the distributed one.
        OutOfRangeError: the tile names a lane bit that the layout hasn't.
        UnsupportedLayoutError: ``vector`` elements aren't contiguous in all threads.

    Example:
        >>> row_major = LinearLayout.from_bases(
        ...     {"offset": [[0, 1 << i] for i in range(5)]
        ...      + [[1 << i, 0] for i in range(5)]}, ["dim0", "dim1"])
        >>> by_column = LinearLayout.from_bases(
        ...     {"register": [[0, 1 << i] for i in range(5)],
        ...      "lane": [[1 << i, 0] for i in range(5)]}, ["dim0", "dim1"])
        >>> bank_conflicts(by_column, row_major, 32, vector=1)
        31

    Source: theorem ``conflicts_are_a_difference_of_ranks``; Triton
    ``bankConflictsMemDesc``.
    """
    expect_layout("distributed", distributed)
    expect_layout("shared", shared)
    access = shared_access(distributed, shared)
    columns = wavefront_columns(access, element_bits, vector, banks, lane_tile)
    return extra_wavefronts(columns, element_bits, banks)


def extra_wavefronts(offsets: Sequence[int], element_bits: int, banks: int = 32) -> int:
    """Apply the rank law to the offset images of the bits of one wavefront.

    Args:
        offsets: Image of each hardware bit of the wavefront [elements].
        element_bits: Size of an element [bits].
        banks: Number of 32-bit banks.

    Returns:
        ``2 ** (rank(word) - rank(bank)) - 1``.

    Example:
        >>> extra_wavefronts([1, 2, 4, 8, 16], 32), extra_wavefronts([32, 64], 32)
        (0, 3)
        >>> extra_wavefronts([1], 16)  # two halves of one word
        0
    """
    words = word_columns(offsets, element_bits)
    bank_mask = (1 << log2(banks, what="banks")) - 1
    return (1 << rank(words) - rank(word & bank_mask for word in words)) - 1


def word_columns(offsets: Sequence[int], element_bits: int) -> list[int]:
    """Turn element offsets to word offsets; a wide element adds its words' bits.

    Example:
        >>> word_columns([1, 2, 4], 16), word_columns([1], 128)
        ([0, 1, 2], [1, 2, 4])
    """
    per_word = log2(WORD_BITS) - log2(element_bits, what="element_bits")
    if per_word >= 0:
        return [offset >> per_word for offset in offsets]
    inner = [1 << i for i in range(-per_word)]
    return inner + [offset << -per_word for offset in offsets]


def shared_access(distributed: LinearLayout, shared: LinearLayout) -> LinearLayout:
    """Return the map from hardware to shared-memory offset, offset first.

    Law: ``shared.apply(access.apply(h)) == distributed.apply(h)``.

    Raises:
        DimMismatchError: an in-dim ``register``, ``lane`` or ``offset`` is missing, or
            the two layouts' tensors differ.
        NotSolvableError: ``shared`` lacks an element that ``distributed`` holds.
    """
    expect_layout("distributed", distributed)
    expect_layout("shared", shared)
    for layout, name, needed in (
        (distributed, "distributed", (REGISTER, LANE)),
        (shared, "shared", (OFFSET,)),
    ):
        if not set(needed) <= set(layout.in_names):
            raise DimMismatchError(
                f"the {name} layout needs the in-dims {list(needed)}, "
                f"got in_dims={list(layout.in_names)}",
                needed=needed,
                in_dims=layout.in_names,
            )
    access = distributed.invert_and_compose(shared)
    rest = [name for name in access.out_names if name != OFFSET]
    return access.transpose_outs([OFFSET, *rest])


def wavefront_columns(
    access: LinearLayout,
    element_bits: int,
    vector: int | None = None,
    banks: int = 32,
    lane_tile: Tile | None = None,
) -> list[int]:
    """Return the offset images of the hardware bits that share one wavefront.

    Args and errors are those of ``bank_conflicts``; ``access`` maps hardware to
    memory, its first out-dim is the offset.
    """
    expect_layout("access", access)
    tile = _as_tile(lane_tile)
    registers = _images(access, REGISTER)
    lanes = _images(access, LANE)
    group = _vectorisation(access, element_bits, vector)
    chosen = list(group.registers)
    word_bits = log2(WORD_BITS)
    if tile.lane_contig:
        held = word_bits - log2(element_bits)
        spare = [i for i, image in enumerate(registers) if image and i not in chosen]
        chosen = (chosen + spare)[: max(held, 0)]
    if tile.lanes:
        selected = tile.lanes
    else:
        words = len(chosen) + log2(element_bits) - word_bits
        selected = tuple(range(max(0, log2(banks, what="banks") - max(words, 0))))
        selected = selected[: len(lanes)]
    if any(lane >= len(lanes) for lane in selected):
        raise OutOfRangeError(
            f"the layout has {len(lanes)} lane bits, the tile needs "
            f"lanes={list(selected)}; use a tile of this layout's warp size",
            lanes=selected,
            lane_bits=len(lanes),
        )
    return [registers[i] for i in chosen] + [lanes[i] for i in selected]


def _vectorisation(
    access: LinearLayout, element_bits: int, vector: int | None
) -> Vectorisation:
    """Return the widest legal vector, or the wanted one if it is legal."""
    widest = largest_vectorisation(access, element_bits)
    if vector is None:
        return widest
    wanted = vector_of(access, vector)
    if wanted is None:
        raise UnsupportedLayoutError(
            f"{vector} elements of an access must be contiguous and aligned in every "
            f"thread, got vector={vector}; at most {widest.elements} are",
            vector=vector,
            largest=widest.elements,
        )
    return wanted


def _images(access: LinearLayout, in_dim: str) -> list[int]:
    """Return the offset images of the bits of one in-dim."""
    mask = (1 << access.out_bits[0]) - 1
    return [column & mask for column in access.in_columns(in_dim)]


def _as_tile(tile: Tile | None) -> LaneTile:
    """Read a tile in either form."""
    if tile is None:
        return LaneTile()
    if isinstance(tile, LaneTile):
        return tile
    return LaneTile(
        tuple(tile.get("lane_contig", ())), tuple(tile.get("lane_addr", ()))
    )
