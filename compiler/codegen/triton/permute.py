"""The Triton kernel that carries out a ``TilePlan``.

One compiled kernel serves all plans of the same shape: vectors, sizes and the in-tile
transpose are constants, everything else comes as one table (``TilePlan.tables``). A
program xors its base into the tables of rows and columns; loads follow the source's
lines, stores the destination's, and Triton converts between the two layouts.
"""

import triton
import triton.language as tl


@triton.jit(do_not_specialize=["bits", "program_bits", "low_bits"])  # type: ignore[misc,untyped-decorator,unused-ignore]  # triton ships no types
def permute_kernel(  # type: ignore[no-untyped-def]
    source,
    target,
    table,
    bits,
    program_bits,
    low_bits,
    SOURCE_COLUMNS: tl.constexpr,  # noqa: N803
    SOURCE_ROWS: tl.constexpr,  # noqa: N803
    TARGET_COLUMNS: tl.constexpr,  # noqa: N803
    TARGET_ROWS: tl.constexpr,  # noqa: N803
    SOURCE_VECTOR: tl.constexpr,  # noqa: N803
    TARGET_VECTOR: tl.constexpr,  # noqa: N803
    SHAPE: tl.constexpr,  # noqa: N803
    AXES: tl.constexpr,  # noqa: N803
):
    """Move one tile: program ``batch << program_bits | program``."""
    item = tl.program_id(0).to(tl.int64)
    program = item & ((1 << program_bits.to(tl.int64)) - 1)
    start = (item >> program_bits) << bits

    source_rows = table + SOURCE_COLUMNS
    target_columns = source_rows + SOURCE_ROWS
    target_rows = target_columns + TARGET_COLUMNS
    bases = target_rows + TARGET_ROWS
    low_size = 1 << low_bits
    high_size = 1 << (program_bits - low_bits)
    low = program & (low_size - 1)
    high = program >> low_bits
    high_bases = bases + 2 * low_size
    source_base = tl.load(bases + low) ^ tl.load(high_bases + high)
    target_base = tl.load(bases + low_size + low) ^ tl.load(
        high_bases + high_size + high
    )

    source_column = tl.load(table + tl.arange(0, SOURCE_COLUMNS))
    source_row = tl.load(source_rows + tl.arange(0, SOURCE_ROWS))
    places = (source_base ^ source_row)[:, None] ^ source_column[None, :]
    places = tl.max_contiguous(
        tl.multiple_of(places, [1, SOURCE_VECTOR]), [1, SOURCE_VECTOR]
    )
    tile = tl.load(source + start + places)

    tile = tl.reshape(tl.permute(tl.reshape(tile, SHAPE), AXES), [TARGET_ROWS, TARGET_COLUMNS])

    target_column = tl.load(target_columns + tl.arange(0, TARGET_COLUMNS))
    target_row = tl.load(target_rows + tl.arange(0, TARGET_ROWS))
    places = (target_base ^ target_row)[:, None] ^ target_column[None, :]
    places = tl.max_contiguous(
        tl.multiple_of(places, [1, TARGET_VECTOR]), [1, TARGET_VECTOR]
    )
    tl.store(target + start + places, tile)
