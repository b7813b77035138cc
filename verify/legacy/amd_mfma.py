"""AMD MFMA (CDNA, 64 lanes): results, and operands in registers.

A group of lanes covers the fast dim; each lane holds ``height`` neighbours along the
other dim, groups of lanes follow, then further rounds of the whole warp. ``height`` is
4, or 1 for float64 results (younger than the pinned commit, like ``tiles_per_warp``:
a warp may own several neighbouring instruction tiles).

In a cluster, loops over columns of a result and over K of an operand run over the
whole tensor, not over the part of one block: what is too much repeats elements.
"""

from collections.abc import Sequence

from .arithmetic import Extent, Index, ceil_div, delinearize, product
from .model import Digit, DistributedModel
from .upstream import upstream

LANES = 64
RESULT = upstream("emitBaseIndexForMfmaLayout, emitMfmaOffsetForCTA")
OPERAND = upstream(
    "computeTensorElemMappingInBlock",
    "third_party/amd/lib/TritonAMDGPUToLLVM/ConvertLayoutOpToLLVM/"
    "SharedToDotOperandMFMA.cpp",
    "0471065a9d1bb87177d545567d94a535d97244a5",
)


def amd_mfma(
    shape: Sequence[Extent],
    warps_per_cta: Sequence[Extent],
    instr_shape: Sequence[int],
    is_transposed: bool,
    tiles_per_warp: Sequence[Extent] = (),
    element_bit_width: int = 32,
    columns: Extent | None = None,
) -> DistributedModel:
    """Return the index formula of an MFMA result.

    Args:
        shape: Tensor shape of one block, rank 2 or 3.
        warps_per_cta: Warps per dim.
        instr_shape: Rows, columns and K of the instruction.
        is_transposed: Whether a lane's neighbours lie along columns.
        tiles_per_warp: Neighbouring tiles of one warp, per dim; default 1.
        element_bit_width: Width of a result [bits].
        columns: Columns of the whole tensor; default those of the block.

    Example:
        >>> amd_mfma([16, 16], [1, 1], [16, 16, 16], False).position(3, 17, 0)
        [7, 1]

    Source: see ``RESULT``.
    """
    rank = len(shape)
    m, n = rank - 2, rank - 1
    size: list[Extent] = [1] * rank
    size[m], size[n] = instr_shape[:2]
    fast, slow = (m, n) if is_transposed else (n, m)
    height = 1 if element_bit_width == 64 else 4
    rounds = instr_shape[0] * instr_shape[1] // (LANES * height)
    neighbours = list(tiles_per_warp) or [1] * rank
    order = list(reversed(range(rank)))
    per_warp = [size[d] * neighbours[d] for d in range(rank)]
    per_tile = [per_warp[d] * warps_per_cta[d] for d in range(rank)]
    lanes_fast = size[fast]

    def locate(counters: Sequence[Index], lane: Index, warp: Index) -> list[Index]:
        element, turn, *tiles = counters
        warp_ids = delinearize(warp, warps_per_cta, order)
        inside: list[Index] = [0] * rank
        inside[fast] = lane % lanes_fast
        inside[slow] = (
            lane // lanes_fast * height
            + element
            + turn * (height * LANES // lanes_fast)
        )
        coordinates: list[Index] = [0] * rank
        for place, d in enumerate(order):
            neighbour, tile = tiles[2 * place], tiles[2 * place + 1]
            warp_id = warp_ids[d] % ceil_div(shape[d], per_warp[d])
            coordinates[d] = (
                inside[d]
                + neighbour * size[d]
                + warp_id * per_warp[d]
                + tile * per_tile[d]
            ) % shape[d]
        return coordinates

    loops = []
    for d in order:
        whole = shape[d] if d != n or columns is None else columns
        loops.append(Digit(d, neighbours[d] if d >= m else 1))
        loops.append(Digit(d, ceil_div(whole, per_tile[d])))
    return DistributedModel(
        shape=tuple(shape),
        digits=(Digit(slow, height), Digit(slow, rounds), *loops),
        lanes=LANES,
        warps=product(warps_per_cta),
        locate=locate,
        source=RESULT,
    )


def amd_mfma_operand(
    shape: Sequence[Extent],
    warps_per_cta: Sequence[Extent],
    instr_shape: Sequence[int],
    op_idx: int,
    k_width: Extent,
    tiles_per_warp: Sequence[Extent] = (),
    depth: Extent | None = None,
) -> DistributedModel:
    """Return the index formula of an operand of MFMA in registers.

    Args:
        shape: Shape of the operand, one block.
        warps_per_cta: Warps per dim of the result.
        instr_shape: Rows, columns and K of the instruction.
        op_idx: 0 for A (rows by K), 1 for B (K by columns).
        k_width: Elements along K that lie together in a lane.
        tiles_per_warp: Neighbouring tiles of one warp, per dim; default 1.
        depth: K of the whole tensor; default that of the block.

    Example:
        >>> model = amd_mfma_operand([32, 8], [1, 1], [32, 32, 8], 0, 4)
        >>> model.position(3, 33, 0)
        [1, 7]

    Source: see ``OPERAND``.
    """
    rank = len(shape)
    k_dim, free = (rank - 1, rank - 2) if op_idx == 0 else (rank - 2, rank - 1)
    wide = instr_shape[op_idx]
    # the 4-row side of 64 x 4: one lane holds what 16 lanes would
    repeats = 16 if wide == LANES else 1
    neighbours = (list(tiles_per_warp) or [1] * rank)[free]
    order = list(reversed(range(rank)))
    outer = [d for d in order if d != k_dim]
    size: list[Extent] = [1] * rank
    size[free] = wide * neighbours
    warps: list[Extent] = list(warps_per_cta)
    warps[k_dim] = 1
    per_tile = [size[d] * warps[d] for d in range(rank)]
    k_turn = k_width * (LANES // wide)
    k_tile = k_turn * repeats

    def locate(counters: Sequence[Index], lane: Index, warp: Index) -> list[Index]:
        element, turn, k_tile_id, neighbour, *tiles = counters
        warp_ids = delinearize(warp, warps_per_cta, order)
        coordinates: list[Index] = [0] * rank
        coordinates[k_dim] = (
            lane // wide * k_width + element + turn * k_turn + k_tile_id * k_tile
        ) % shape[k_dim]
        for tile, d in zip(tiles, outer, strict=True):
            warp_id = warp_ids[d] % ceil_div(shape[d], size[d])
            place = warp_id * size[d] + tile * per_tile[d]
            if d == free:
                place = place + lane % wide + neighbour * wide
            coordinates[d] = place % shape[d]
        return coordinates

    return DistributedModel(
        shape=tuple(shape),
        digits=(
            Digit(k_dim, k_width),
            Digit(k_dim, repeats),
            Digit(k_dim, ceil_div(shape[k_dim] if depth is None else depth, k_tile)),
            Digit(free, neighbours),
            *(Digit(d, ceil_div(shape[d], per_tile[d])) for d in outer),
        ),
        lanes=LANES,
        warps=product(warps_per_cta),
        locate=locate,
        source=OPERAND,
    )
