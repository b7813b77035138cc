"""The C++ kernels that carry out a ``LinePlan``, one function for each width.

All maps share one build: a plan comes as tables at run time. ``permute_block`` moves
runs of any length, for maps that fix many low index bits.
"""

from typing import Final

WIDTHS: Final = (1, 2, 4, 8, 16)
"""Element widths that have a function ``permute_<width>`` [bytes]."""

_HUGE_PAGES: Final = 14
"""``MADV_HUGEPAGE`` of Linux."""

BUFFER_BYTES: Final = 1 << 16
"""Size of a core's buffer: no tile may be larger [bytes]."""

_HEAD = """\
typedef long long i64;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
struct u128 { u64 low, high; };

struct Bases { const i64 *source_low, *target_low, *source_high, *target_high; };

static inline Bases split_bases(const i64 *tables, i64 low_bits, i64 program_bits) {
    const i64 low = 1LL << low_bits, high = 1LL << (program_bits - low_bits);
    return {tables, tables + low, tables + 2 * low, tables + 2 * low + high};
}

template <typename T>
static void permute(const T *__restrict source, T *__restrict target, i64 threads,
                    i64 batch, i64 bits, i64 line_bits, i64 row_bits, i64 low_bits,
                    const i64 *__restrict addresses, const int *__restrict places) {
    const i64 line = 1LL << line_bits, rows = 1LL << row_bits;
    const i64 program_bits = bits - line_bits - row_bits;
    const i64 *source_rows = addresses, *target_rows = addresses + rows;
    const Bases bases = split_bases(addresses + 2 * rows, low_bits, program_bits);
    const int *at_line = places, *at_place = places + rows;
    const i64 low = (1LL << low_bits) - 1, programs = batch << program_bits;
    const bool large = batch << bits > 1 << 14;
#pragma omp parallel num_threads(threads) if (large)
    {
        alignas(64) T buffer[%(buffer)d / sizeof(T)];
#pragma omp for schedule(static)
        for (i64 item = 0; item < programs; ++item) {
            const i64 program = item & ((1LL << program_bits) - 1);
            const i64 start = (item >> program_bits) << bits;
            const i64 lo = program & low, hi = program >> low_bits;
            const i64 from = bases.source_low[lo] ^ bases.source_high[hi];
            const i64 onto = bases.target_low[lo] ^ bases.target_high[hi];
            const int at_tile = at_place[onto & (line - 1)];
            for (i64 r = 0; r < rows; ++r)
                __builtin_memcpy(buffer + r * line,
                                 source + start + (from ^ source_rows[r]),
                                 line * sizeof(T));
            for (i64 r = 0; r < rows; ++r) {
                T *__restrict out = target + start + ((onto & -line) ^ target_rows[r]);
                const int at = at_tile ^ at_line[r];
                for (i64 q = 0; q < line; ++q)
                    out[q] = buffer[at ^ at_place[q]];
            }
        }
    }
}

extern "C" int madvise(void *, unsigned long, int);

// Ask for huge pages before the first touch: faults cost more than the permutation.
extern "C" void permute_prepare(char *target, i64 bytes) {
    const i64 page = 1LL << 21, first = ((i64)target + page - 1) & -page;
    const i64 end = ((i64)target + bytes) & -page;
    if (end > first) madvise((char *)first, end - first, %(advice)d);
}

extern "C" void permute_block(const char *source, char *target, i64 threads,
                              i64 batch, i64 bits, i64 low_bits,
                              const i64 *tables, i64 block_bytes) {
    const Bases bases = split_bases(tables, low_bits, bits);
    const i64 low = (1LL << low_bits) - 1, blocks = batch << bits;
    const bool large = blocks * block_bytes > 1 << 16;
#pragma omp parallel for num_threads(threads) if (large)
    for (i64 item = 0; item < blocks; ++item) {
        const i64 block = item & ((1LL << bits) - 1), start = item - block;
        const i64 lo = block & low, hi = block >> low_bits;
        const i64 from = start + (bases.source_low[lo] ^ bases.source_high[hi]);
        const i64 onto = start + (bases.target_low[lo] ^ bases.target_high[hi]);
        __builtin_memcpy(target + onto * block_bytes, source + from * block_bytes,
                         block_bytes);
    }
}
"""

_FUNCTION = """
extern "C" void permute_%(width)d(const void *source, void *target, i64 threads,
                           i64 batch, i64 bits, i64 line_bits,
                           i64 row_bits, i64 low_bits,
                           const i64 *addresses, const int *places) {
    permute((const u%(bits)d *)source, (u%(bits)d *)target, threads, batch, bits,
            line_bits, row_bits, low_bits, addresses, places);
}
"""


def permute_source() -> str:
    """Return the C++ text of all permutation kernels.

    Example:
        >>> permute_source().count('extern "C"')
        8
    """
    functions = [_FUNCTION % {"width": w, "bits": 8 * w} for w in WIDTHS]
    return _HEAD % {"buffer": BUFFER_BYTES, "advice": _HUGE_PAGES} + "".join(functions)
