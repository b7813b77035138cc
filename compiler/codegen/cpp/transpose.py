"""The C++ kernels that transpose matrices of any extents, one for each width."""

from .permute import WIDTHS

_HEAD = """\
typedef long long i64;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
struct u128 { u64 low, high; };

template <typename T>
static void transpose(const T *source, T *target, i64 threads, i64 batch, i64 rows,
                      i64 columns) {
    const i64 row_step = 32, column_step = rows < 32 ? 1024 : 32;
    const i64 column_tiles = (columns + column_step - 1) / column_step;
    const i64 size = rows * columns;
    const bool large = batch * size > 1 << 14;
#pragma omp parallel for num_threads(threads) schedule(static) if (large)
    for (i64 item = 0; item < batch * column_tiles; ++item) {
        const T *from = source + item / column_tiles * size;
        T *onto = target + item / column_tiles * size;
        const i64 first = item % column_tiles * column_step;
        const i64 beyond = first + column_step;
        const i64 end = beyond < columns ? beyond : columns;
        for (i64 row = 0; row < rows; row += row_step) {
            const i64 stop = row + row_step < rows ? row + row_step : rows;
            for (i64 c = first; c < end; ++c)
                for (i64 r = row; r < stop; ++r)
                    onto[c * rows + r] = from[r * columns + c];
        }
    }
}
"""

_FUNCTION = """
extern "C" void transpose_{width}(const void *source, void *target, i64 threads,
                             i64 batch, i64 rows, i64 columns) {{
    transpose((const u{bits} *)source, (u{bits} *)target, threads, batch, rows,
              columns);
}}
"""


def transpose_source() -> str:
    """Return the C++ text of all transposes.

    Example:
        >>> transpose_source().count('extern "C"')
        5
    """
    functions = [_FUNCTION.format(width=w, bits=8 * w) for w in WIDTHS]
    return _HEAD + "".join(functions)
