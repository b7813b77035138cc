"""Scale factors of block-scaled products in registers: sm_120 mma, MFMA and WMMA.

These came with linear layouts; the formulas are the operand tables of the manuals
(PTX ISA, mma with block scaling; AMD CDNA4 and gfx1250 ISA) with Triton's loops
(``getSM120DotScaledScaleLayout``, ``chooseScaledMfmaScaleLayout``,
``chooseScaledWmmaScaleLayout``). A scale tensor is MN x K.
"""

from collections.abc import Callable, Sequence

from .arithmetic import Extent, Index, ceil_div, delinearize, product
from .model import Digit, DistributedModel
from .placement import MIXED, Placement

LANES = 32
SM120 = "PTX ISA, mma with block scaling; Triton getSM120DotScaledScaleLayout"
MFMA = "AMD CDNA4 ISA, V_MFMA_SCALE; Triton chooseScaledMfmaScaleLayout"
WMMA = "AMD gfx1250 ISA, V_WMMA_SCALE; Triton chooseScaledWmmaScaleLayout"


def sm120_scales(
    shape: Sequence[Extent],
    op_idx: int,
    warps_per_cta: Sequence[int],
    depth: Extent | None = None,
) -> DistributedModel:
    """Return the index formula of the scales of an sm_120 product.

    Args:
        shape: Shape of the scales, one block: (batch,) MN, K.
        op_idx: 0 for the scales of A, 1 for those of B.
        warps_per_cta: Warps per dim of the result.
        depth: K of the whole tensor; default that of the block.

    Example:
        >>> sm120_scales([16, 2], 0, [1, 1]).position(1, 5, 0)
        [9, 1]

    Source: see ``SM120``.
    """
    rank = len(shape)
    high = 8 if op_idx else 16

    def inside(lane: Index) -> tuple[Index, Index]:
        row = lane // 4
        return (row if op_idx else row + lane % 2 * 8), 0

    digits = (Digit(rank - 1, shape[rank - 1] if depth is None else depth),)
    return _scales(shape, digits, high, 32, inside, op_idx, warps_per_cta, SM120)


def mfma_scales(
    shape: Sequence[Extent],
    op_idx: int,
    rows: int,
    warps_per_cta: Sequence[int],
    tiles_per_warp: Sequence[int],
) -> DistributedModel:
    """Return the index formula of the scales of an MFMA product.

    Args:
        shape: Shape of the scales, one block: MN, K.
        op_idx: 0 for the scales of A, 1 for those of B.
        rows: Rows of the instruction, 16 or 32.
        warps_per_cta: Warps per dim of the result.
        tiles_per_warp: Neighbouring tiles of a warp per dim of the result.

    Example:
        >>> mfma_scales([32, 4], 0, 32, [1, 1], [1, 1]).position(1, 33, 0)
        [1, 3]

    Source: see ``MFMA``.
    """
    per_turn = 64 // rows
    neighbours = tiles_per_warp[op_idx]

    def inside(lane: Index) -> tuple[Index, Index]:
        return lane % rows, lane // rows

    digits = (Digit(1, ceil_div(shape[1], per_turn)), Digit(0, neighbours))
    return _scales(
        shape,
        digits,
        rows,
        64,
        inside,
        op_idx,
        warps_per_cta,
        MFMA,
        per_turn=per_turn,
    )


def _scales(
    shape: Sequence[Extent],
    digits: tuple[Digit, ...],
    high: int,
    lanes: int,
    inside: Callable[[Index], tuple[Index, Index]],
    op_idx: int,
    warps_per_cta: Sequence[int],
    source: str,
    per_turn: int = 1,
) -> DistributedModel:
    """Spread scales over warps: those of the other dim of the result hold copies."""
    rank = len(shape)
    mn, k = rank - 2, rank - 1
    own = rank - 2 + op_idx
    order = list(reversed(range(rank)))
    neighbours = digits[1].size if len(digits) > 1 else 1
    per_warp = high * neighbours
    sizes = {mn: per_warp * warps_per_cta[own]}
    for d in range(rank - 2):
        sizes[d] = warps_per_cta[d]
    loops = [mn, *(d for d in order if d < mn)]

    def locate(counters: Sequence[Index], lane: Index, warp: Index) -> list[Index]:
        row, column = inside(lane)
        warp_ids = delinearize(warp, warps_per_cta, order)
        coordinates: list[Index] = [0] * rank
        coordinates[k] = (column + counters[0] * per_turn) % shape[k]
        if len(digits) > 1:
            row = row + counters[1] * high
        tiles = counters[len(digits) :]
        for tile, d in zip(tiles, loops, strict=True):
            first = row + warp_ids[own] * per_warp if d == mn else warp_ids[d]
            coordinates[d] = (first + tile * sizes[d]) % shape[d]
        return coordinates

    return DistributedModel(
        shape=tuple(shape),
        digits=(*digits, *(Digit(d, ceil_div(shape[d], sizes[d])) for d in loops)),
        lanes=lanes,
        warps=product(warps_per_cta),
        locate=locate,
        source=source,
    )


def wmma_scales(
    shape: Sequence[int],
    op_idx: int,
    placement: Placement,
    instr_shape: Sequence[int] = (16, 16),
    is_transposed: bool = False,
    scale_factor: int = 32,
    depth: int | None = None,
) -> DistributedModel:
    """Return the index formula of the scales of a WMMA product.

    Sixteen lanes hold the scales of sixteen rows. The other sixteen hold those of the
    next tile of the warp, if it has one (the instruction selects), else copies.

    Args:
        shape: Shape of the scales, one block: MN, K.
        op_idx: 0 for the scales of A, 1 for those of B.
        placement: Where the tiles of the result's block go.
        instr_shape: Rows and columns of the instruction, 16 x 16 or 32 x 16.
        is_transposed: Whether rows and columns change roles.
        scale_factor: Elements that share a scale, 16 or 32.
        depth: K of the whole tensor; default that of the block.

    Example:
        >>> from .placement import Placement
        >>> wmma_scales([32, 4], 0, Placement()).position(1, 17, 0)
        [17, 1]

    Source: see ``WMMA``.
    """
    per_turn = 128 // scale_factor
    side = instr_shape[1 - op_idx if is_transposed else op_idx]
    steps = [v[op_idx] * side for v in placement.register if v[op_idx]]
    covered = placement.extent(op_idx) * side
    tiles = ceil_div(shape[0], covered)
    bits = [*steps, *(covered << i for i in range(tiles.bit_length() - 1))]
    # which row the upper sixteen lanes are at; 0: copies
    upper = 16 if side == 32 else 0
    if instr_shape[0] == 16 and bits:
        upper, bits = bits[0], bits[1:]

    def locate(counters: Sequence[Index], lane: Index, warp: Index) -> list[Index]:
        column, turn, *chosen = counters
        half = lane // 16
        row: Index = lane % 16
        if upper:
            row = row ^ half * upper
        for counter, step in zip(chosen, bits, strict=True):
            row = row ^ counter * step
        for vector in placement.warp:
            if vector[op_idx]:
                row = row ^ warp % 2 * (vector[op_idx] * side)
            warp = warp // 2
        return [row % shape[0], (column + turn * per_turn) % shape[1]]

    return DistributedModel(
        shape=tuple(shape),
        digits=(
            Digit(1, per_turn),
            Digit(1, ceil_div(depth or shape[1], per_turn)),
            *(Digit(MIXED, 2) for _ in bits),
        ),
        lanes=LANES,
        warps=1 << len(placement.warp),
        locate=locate,
        source=WMMA,
    )
