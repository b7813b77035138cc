"""The Triton kernel that transposes matrices of any extents, by masked tiles."""

import triton
import triton.language as tl


@triton.jit  # type: ignore[misc,untyped-decorator,unused-ignore]  # triton has no types
def transpose_kernel(  # type: ignore[no-untyped-def]
    source,
    target,
    rows,
    columns,
    row_tiles,
    column_tiles,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """Transpose one tile of one matrix of a batch."""
    item = tl.program_id(0).to(tl.int64)
    column_tile = item % column_tiles
    row_tile = item // column_tiles % row_tiles
    start = item // column_tiles // row_tiles * rows * columns
    row = row_tile * ROWS + tl.arange(0, ROWS)
    column = column_tile * COLUMNS + tl.arange(0, COLUMNS)
    inside = (row < rows)[:, None] & (column < columns)[None, :]
    places = row[:, None] * columns + column[None, :]
    tile = tl.load(source + start + places, mask=inside)
    inside = (column < columns)[:, None] & (row < rows)[None, :]
    places = column[:, None] * rows + row[None, :]
    tl.store(target + start + places, tl.trans(tile), mask=inside)
