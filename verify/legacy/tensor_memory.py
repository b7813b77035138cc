"""Tensor memory (Blackwell): blocks of 64 or 128 rows side by side, and scales.

Tensor memory came after linear layouts, so no older index code exists: the formulas are
the data-path layouts of the PTX ISA manual (tcgen05, "Data path layout organization"
and "Scale factor layouts"), with Triton's order of blocks
(``tensorMemoryToLinearLayout``).
"""

from collections.abc import Sequence

from .arithmetic import Index, ceil_div
from .model import Digit, DistributedModel

ROWS = 128
SOURCE = "PTX ISA, tcgen05 data path layouts D, E, F; Triton tensorMemoryToLinearLayout"
SCALES = (
    "PTX ISA, tcgen05 scale factor layouts; Triton tensorMemoryScalesToLinearLayout"
)
NAMES = ("col", "row", "")


def tensor_memory(
    shape: Sequence[int],
    block_m: int,
    block_n: int,
    col_stride: int = 1,
    *,
    pair: bool = False,
    fp4_padded: bool = False,
) -> DistributedModel:
    """Return which element a row and a column of tensor memory hold.

    Args:
        shape: Rows and columns of the tensor, one block of the cluster.
        block_m: Rows of a block, 64 or 128.
        block_n: Columns of a block.
        col_stride: Places from one column to the next.
        pair: Whether two blocks of the cluster share one block of 64 rows each.
        fp4_padded: Whether each value takes two places.

    Example:
        >>> tensor_memory([64, 64], 64, 32).position(3, 17, 0)
        [1, 35]

    Source: see ``SOURCE``.
    """
    rows, columns = shape
    stride = col_stride * (2 if fp4_padded else 1)
    wide = min(block_n, columns)
    tall = block_m
    # 64 rows fill half of the memory: the other half is the next block, or a copy
    second_m = block_m == 64 and not pair and rows > 64
    second_n = block_m == 64 and not pair and not second_m and columns > wide
    paired = pair and block_m == 64
    across, down = wide, tall
    if second_m:
        down = 128
    if second_n:
        across = 2 * wide
    if paired:
        if wide == 1:
            stride = stride // 2
        wide = max(1, wide // 2)

    def locate(counters: Sequence[Index], lane: Index, warp: Index) -> list[Index]:
        _, column, tile_m, tile_n = counters
        m: Index
        n: Index
        if block_m == 128:
            m, n = lane, column
        elif paired:
            m, n = lane % 64, column + lane // 64 * wide
        else:
            half = lane // 16 % 2
            m, n = lane // 32 * 16 + lane % 16, column
            if second_m:
                m = m + half * 64
            elif second_n:
                n = n + half * wide
        return [(m + tile_m * down) % rows, (n + tile_n * across) % columns]

    return DistributedModel(
        shape=tuple(shape),
        digits=(
            Digit(-1, stride),
            Digit(1, wide),
            Digit(0, ceil_div(rows, down)),
            Digit(1, ceil_div(columns, across)),
        ),
        lanes=ROWS,
        warps=1,
        locate=locate,
        source=SOURCE,
        names=NAMES,
    )


def tensor_memory_scales(shape: Sequence[int], rows_first: bool) -> DistributedModel:
    """Return which scale a row and a column of tensor memory hold.

    Args:
        shape: Rows and columns (MN and K) of the scales, one block of the cluster.
        rows_first: Whether blocks follow each other along MN before K.

    Example:
        >>> tensor_memory_scales([128, 4], True).position(13, 37, 0)
        [101, 1]

    Source: see ``SCALES``.
    """
    quarters = 4 if shape[0] > 64 else 2
    per_block = (32 * quarters, 4)
    order = (0, 1) if rows_first else (1, 0)

    def locate(counters: Sequence[Index], lane: Index, warp: Index) -> list[Index]:
        k, quarter, *tiles = counters
        m = lane % 32 + quarter * 32
        inside = [m, k]
        return [
            (inside[d] + tiles[order.index(d)] * per_block[d]) % shape[d]
            for d in (0, 1)
        ]

    return DistributedModel(
        shape=tuple(shape),
        digits=(
            Digit(1, 4),
            Digit(0, quarters),
            *(Digit(d, ceil_div(shape[d], per_block[d])) for d in order),
        ),
        lanes=ROWS,
        warps=1,
        locate=locate,
        source=SCALES,
        names=NAMES,
    )


def scale_tile_offset(coordinates: Sequence[Index], shape: Sequence[int]) -> Index:
    """Return where a scale lies in shared memory for a copy to tensor memory.

    Args:
        coordinates: Row (MN) and column (K) of the scale.
        shape: Rows and columns of the scales, at least 128 x 4.

    Example:
        >>> scale_tile_offset([33, 1], [128, 4])
        21

    Source: PTX ISA, tcgen05.cp 32x128b.warpx4; Triton's unit test
        ``CanonicalScaleSmemLayout``.
    """
    m, k = coordinates
    block = k // 4 + m // 128 * ceil_div(shape[1], 4)
    return k % 4 + m // 32 % 4 * 4 + m % 32 * 16 + block * 512
