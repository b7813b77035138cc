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


@triton.jit  # type: ignore[misc,untyped-decorator,unused-ignore]  # triton has no types
def interleave_kernel(  # type: ignore[no-untyped-def]
    source, target, columns, tiles, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    """Transpose part of a matrix of few rows: the output is written front to back."""
    item = tl.program_id(0).to(tl.int64)
    start = item // tiles * ROWS * columns
    place = (item % tiles).to(tl.int32) * BLOCK + tl.arange(0, BLOCK)
    inside = place < ROWS * columns
    values = tl.load(
        source + start + (place % ROWS * columns + place // ROWS), mask=inside
    )
    tl.store(target + start + place, values, mask=inside)


@triton.jit  # type: ignore[misc,untyped-decorator,unused-ignore]  # triton has no types
def deinterleave_kernel(  # type: ignore[no-untyped-def]
    source, target, rows, tiles, COLUMNS: tl.constexpr, BLOCK: tl.constexpr
):
    """Transpose part of a matrix of few columns, one output row after another."""
    item = tl.program_id(0).to(tl.int64)
    start = item // tiles * rows * COLUMNS
    row = (item % tiles).to(tl.int32) * BLOCK + tl.arange(0, BLOCK)
    inside = row < rows
    for column in tl.static_range(COLUMNS):
        values = tl.load(source + start + (row * COLUMNS + column), mask=inside)
        tl.store(target + start + (column * rows + row), values, mask=inside)
