"""NVIDIA mma v2 (Ampere) and v3 (Hopper): results, and operands held in registers.

Eight rows by four threads hold pairs of columns; a second pair lies eight rows below.
Version 2 has one 16 x 8 tile a warp (8 x 8 for float64) and walks over warps with the
columns fastest; version 3 has a 16 x N tile and walks over warps with the rows fastest,
as its instruction demands.

Upstream assumes that the tensor is at least one instruction tile. For smaller tensors
the formula is taken modulo the shape, like the blocked one.
"""

from collections.abc import Sequence

from .arithmetic import Extent, Index, ceil_div, delinearize, product
from .model import Digit, DistributedModel
from .upstream import upstream

RESULT = upstream(
    "emitBaseIndexWithinCTAForMmaLayoutV2V3, emitOffsetForMmaLayoutV2, "
    "emitOffsetForMmaLayoutV3"
)
OPERAND_V2 = upstream(
    "MMA16816SmemLoader::computeLdmatrixMatOffs, computeLdsMatOffs, loadX4",
    "third_party/nvidia/lib/TritonNVIDIAGPUToLLVM/ConvertLayoutOpToLLVM/"
    "SharedToDotOperandMMAv2.cpp",
    "08c9558fb556fd493e3574456ae43344f9511d7c",
)
OPERAND_V3 = (
    upstream("isMmaToDotShortcut", "lib/Analysis/Utility.cpp")
    + " (from memory, not read again): operand A of wgmma is the result layout itself; "
    "k_width in place of 2"
)


def warp_order(version: int, rank: int) -> list[int]:
    """Return the dims of the warp grid, fastest first.

    Example:
        >>> warp_order(2, 3), warp_order(3, 3)
        ([2, 1, 0], [1, 2, 0])

    Source: Triton ``NvidiaMmaEncodingAttr::getWarpOrder``.
    """
    matrix = [rank - 1, rank - 2] if version == 2 else [rank - 2, rank - 1]
    return matrix + [dim for dim in reversed(range(rank - 2))]


def nvidia_mma(
    shape: Sequence[Extent],
    version: int,
    warps_per_cta: Sequence[Extent],
    instr_shape: Sequence[Extent],
) -> DistributedModel:
    """Return the index formula of an mma result.

    Args:
        shape: Tensor shape of one block, rank 2 or 3.
        version: 2 or 3.
        warps_per_cta: Warps per dim.
        instr_shape: Rows and columns of the instruction: ``[16, 8]``, ``[8, 8]`` or,
            with a batch of 1 first, ``[1, 16, 8]``; version 3: ``[16, N, K]``.

    Example:
        >>> nvidia_mma([16, 8], 2, [1, 1], [16, 8]).position(3, 5, 0)
        [9, 3]

    Source: see ``RESULT``.
    """
    rank = len(shape)
    rows, columns = instr_shape[:2] if version == 3 else instr_shape[-2:]
    return _mma(
        shape,
        warps_per_cta,
        warp_order(version, rank),
        inner=rank - 1,
        tile=(rows, columns),
        k_width=2,
        source=RESULT,
    )


def nvidia_mma_operand(
    shape: Sequence[Extent],
    version: int,
    warps_per_cta: Sequence[Extent],
    instr_shape: Sequence[int],
    op_idx: int,
    k_width: Extent,
) -> DistributedModel:
    """Return the index formula of an operand of mma in registers.

    Args:
        shape: Shape of the operand, one block.
        version: 2 or 3; version 3 has operand 0 only.
        warps_per_cta: Warps per dim of the result.
        instr_shape: As for the result.
        op_idx: 0 for A (rows by K), 1 for B (K by columns).
        k_width: Elements along K that lie together in a thread.

    Example:
        >>> nvidia_mma_operand([16, 16], 2, [1, 1], [16, 8], 0, 2).position(4, 5, 0)
        [1, 10]

    Source: see ``OPERAND_V2`` and ``OPERAND_V3``.
    """
    rank = len(shape)
    rows = instr_shape[0] if version == 3 else instr_shape[-2]
    inner = rank - 1 if op_idx == 0 else rank - 2
    return _mma(
        shape,
        warps_per_cta,
        warp_order(version, rank),
        inner=inner,
        tile=(rows if op_idx == 0 else 8, (4 if rows == 8 else 8) * k_width),
        k_width=k_width,
        source=OPERAND_V2 if version == 2 else OPERAND_V3,
    )


def _mma(
    shape: Sequence[Extent],
    warps_per_cta: Sequence[Extent],
    order: Sequence[int],
    *,
    inner: int,
    tile: tuple[Extent, Extent],
    k_width: Extent,
    source: str,
) -> DistributedModel:
    """Return the formula shared by results (inner = N) and operands (inner = K)."""
    rank = len(shape)
    outer = rank - 1 if inner == rank - 2 else rank - 2
    high, wide = tile
    size: list[Extent] = [1] * rank
    size[outer], size[inner] = high, wide
    contracted = source is not RESULT
    # K is the same for all warps: they hold copies along it
    warps: list[Extent] = list(warps_per_cta)
    if contracted:
        warps[inner] = 1
    per_tile = [size[d] * warps[d] for d in range(rank)]
    loops = [inner, outer, *reversed(range(rank - 2))]

    def locate(counters: Sequence[Index], lane: Index, warp: Index) -> list[Index]:
        element, half, step, *tiles = counters
        warp_ids = delinearize(warp, warps_per_cta, order)
        if contracted:
            warp_ids[inner] = 0
        inside: list[Index] = [0] * rank
        inside[outer] = lane // 4 + half * 8
        inside[inner] = lane % 4 * k_width + element + step * (4 * k_width)
        coordinates: list[Index] = [0] * rank
        for tile_id, d in zip(tiles, loops, strict=True):
            warp_id = warp_ids[d] % ceil_div(shape[d], size[d])
            place = inside[d] + warp_id * size[d] + tile_id * per_tile[d]
            coordinates[d] = place % shape[d]
        return coordinates

    return DistributedModel(
        shape=tuple(shape),
        digits=(
            Digit(inner, k_width),
            Digit(outer, ceil_div(high, 8)),
            Digit(inner, ceil_div(wide, 4 * k_width)),
            *(Digit(d, ceil_div(shape[d], per_tile[d])) for d in loops),
        ),
        lanes=32,
        warps=product(warps_per_cta),
        locate=locate,
        source=source,
    )
