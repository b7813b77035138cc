"""The Triton kernel that carries out a ``TilePlan``.

One compiled kernel serves all plans of the same shape: vectors, sizes and the in-tile
transpose are constants, everything else comes as one table (``TilePlan.tables``). A
program xors its base with the basis vectors of row and column; loads follow the
source's lines, stores the destination's, and Triton converts between the two layouts.
Bits of a row that a thread holds in registers are constants to the compiler, so an
address costs a few xors.
"""

import triton
import triton.language as tl


@triton.jit(do_not_specialize=["bits", "program_bits", "low_bits"])  # type: ignore[misc,untyped-decorator,unused-ignore]  # triton has no types
def permute_kernel(  # type: ignore[no-untyped-def]
    source,
    target,
    table,
    bits,
    program_bits,
    low_bits,
    SOURCE_COLUMN_BITS: tl.constexpr,
    SOURCE_ROW_BITS: tl.constexpr,
    TARGET_COLUMN_BITS: tl.constexpr,
    TARGET_ROW_BITS: tl.constexpr,
    SOURCE_VECTOR: tl.constexpr,
    TARGET_VECTOR: tl.constexpr,
    SHAPE: tl.constexpr,
    AXES: tl.constexpr,
):
    """Move one tile: program ``batch << program_bits | program``."""
    item = tl.program_id(0).to(tl.int64)
    program = item & ((1 << program_bits.to(tl.int64)) - 1)
    start = (item >> program_bits) << bits
    start = tl.multiple_of(start, max(SOURCE_VECTOR, TARGET_VECTOR))

    address_type = table.dtype.element_ty
    target_basis = table + (SOURCE_COLUMN_BITS + SOURCE_ROW_BITS)
    bases = target_basis + (TARGET_COLUMN_BITS + TARGET_ROW_BITS)
    low_size = 1 << low_bits
    high_size = 1 << (program_bits - low_bits)
    low = program & (low_size - 1)
    high = program >> low_bits
    high_bases = bases + 2 * low_size
    source_base = tl.load(bases + low) ^ tl.load(high_bases + high)
    target_base = tl.load(bases + low_size + low) ^ tl.load(
        high_bases + high_size + high
    )

    row_basis = table + SOURCE_COLUMN_BITS
    column_index = tl.arange(0, 1 << SOURCE_COLUMN_BITS)
    column = column_index.to(address_type) * 0
    for i in tl.static_range(SOURCE_COLUMN_BITS):
        column ^= tl.where((column_index >> i) & 1 != 0, tl.load(table + i), 0)
    row_index = tl.arange(0, 1 << SOURCE_ROW_BITS)
    row = row_index.to(address_type) * 0
    for i in tl.static_range(SOURCE_ROW_BITS):
        row ^= tl.where((row_index >> i) & 1 != 0, tl.load(row_basis + i), 0)
    places = (source_base ^ row)[:, None] ^ column[None, :]
    places = tl.max_contiguous(
        tl.multiple_of(places, [1, SOURCE_VECTOR]), [1, SOURCE_VECTOR]
    )
    tile = tl.load(source + start + places)

    # of fixed rank, padded by ones: Triton's releases agree on single axes only
    tile = tl.permute(
        tl.reshape(tile, SHAPE),
        *(AXES[0], AXES[1], AXES[2], AXES[3], AXES[4], AXES[5], AXES[6]),
        *(AXES[7], AXES[8], AXES[9], AXES[10], AXES[11], AXES[12], AXES[13]),
    )
    tile = tl.reshape(tile, [1 << TARGET_ROW_BITS, 1 << TARGET_COLUMN_BITS])

    row_basis = target_basis + TARGET_COLUMN_BITS
    column_index = tl.arange(0, 1 << TARGET_COLUMN_BITS)
    column = column_index.to(address_type) * 0
    for i in tl.static_range(TARGET_COLUMN_BITS):
        column ^= tl.where((column_index >> i) & 1 != 0, tl.load(target_basis + i), 0)
    row_index = tl.arange(0, 1 << TARGET_ROW_BITS)
    row = row_index.to(address_type) * 0
    for i in tl.static_range(TARGET_ROW_BITS):
        row ^= tl.where((row_index >> i) & 1 != 0, tl.load(row_basis + i), 0)
    places = (target_base ^ row)[:, None] ^ column[None, :]
    places = tl.max_contiguous(
        tl.multiple_of(places, [1, TARGET_VECTOR]), [1, TARGET_VECTOR]
    )
    tl.store(target + start + places, tile)
