"""What every generated C++ source starts with: types, conversions, semantics of torch.

No header is included, so a source compiles in a tenth of a second. Values of a half
type live in registers as the float that they equal: loading widens, storing narrows
without rounding, and a cast to a half type rounds in float.
"""

from typing import Final

TYPES: Final = """\
typedef long long i64;
typedef int i32;
typedef short i16;
typedef signed char i8;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;
#define INLINE static inline __attribute__((always_inline))
extern "C" void *aligned_alloc(u64, u64);
extern "C" void free(void *);
"""

CONVERSIONS: Final = """\
INLINE u32 bits_of(f32 x) { return __builtin_bit_cast(u32, x); }
INLINE f32 float_of(u32 u) { return __builtin_bit_cast(f32, u); }
INLINE f32 load_bfloat16(u16 h) { return float_of((u32)h << 16); }
INLINE u16 store_bfloat16(f32 x) { return (u16)(bits_of(x) >> 16); }
INLINE f32 round_bfloat16(f32 x) {
    const u32 u = bits_of(x);
    const u32 r = (u + 0x7fffu + ((u >> 16) & 1u)) & 0xffff0000u;
    return float_of(x != x ? u | 0x400000u : r);
}
INLINE f32 load_float16(u16 h) {
    const u32 a = ((u32)h & 0x7fffu) << 13;
    const u32 finite = bits_of(float_of(a) * 0x1p112f);
    const u32 r = a >= 0x0f800000u ? a | 0x7f800000u : finite;
    return float_of(r | ((u32)h & 0x8000u) << 16);
}
INLINE u16 store_float16(f32 x) {
    const u32 u = bits_of(x), a = u & 0x7fffffffu;
    const u32 normal = (a - 0x38000000u) >> 13;
    const u32 small = bits_of(float_of(a) + 0.5f) - 0x3f000000u;
    const u32 special = 0x7c00u | ((a >> 13) & 0x3ffu);
    const u32 r = a < 0x38800000u ? small : a >= 0x47800000u ? special : normal;
    return (u16)(r | (u >> 16 & 0x8000u));
}
INLINE f32 round_float16(f32 x) {
    const u32 u = bits_of(x), a = u & 0x7fffffffu;
    const u32 even = (a + 0xfffu + ((a >> 13) & 1u)) & ~0x1fffu;
    const u32 small = bits_of((float_of(a) + 0.5f) - 0.5f);
    const u32 finite = a < 0x38800000u ? small : even;
    const u32 kept = finite >= 0x47800000u ? 0x7f800000u : finite;
    const u32 r = a > 0x7f800000u ? a | 0x400000u : kept;
    return float_of(r | (u & 0x80000000u));
}
"""

SEMANTICS: Final = """\
template <typename T> INLINE T larger(T a, T b) { return a > b ? a : b; }
template <typename T> INLINE T smaller(T a, T b) { return a < b ? a : b; }
INLINE f32 larger(f32 a, f32 b) { return (a > b) | (a != a) ? a : b; }
INLINE f64 larger(f64 a, f64 b) { return (a > b) | (a != a) ? a : b; }
INLINE f32 smaller(f32 a, f32 b) { return (a < b) | (a != a) ? a : b; }
INLINE f64 smaller(f64 a, f64 b) { return (a < b) | (a != a) ? a : b; }
template <typename T> INLINE T sign(T a) { return (T)((T)(a > 0) - (T)(a < 0)); }
INLINE f32 absolute(f32 a) { return __builtin_fabsf(a); }
INLINE f64 absolute(f64 a) { return __builtin_fabs(a); }
template <typename T> INLINE T absolute(T a) { return (T)(a < 0 ? -a : a); }
INLINE i64 floor_quotient(i64 a, i64 b) { return a / b - (a % b < 0); }
INLINE i64 floor_rest(i64 a, i64 b) { const i64 r = a % b; return r < 0 ? r + b : r; }
template <typename T> INLINE T truncdiv(T a, T b) {
    return b == (T)-1 ? (T)-a : (T)(a / b);
}
template <typename T> INLINE T fmod_of(T a, T b) {
    return b == (T)-1 ? (T)0 : (T)(a % b);
}
template <typename T> INLINE T remainder_of(T a, T b) {
    const T r = fmod_of(a, b);
    return (r != 0) & ((r < 0) != (b < 0)) ? (T)(r + b) : r;
}
template <typename T> INLINE T floordiv(T a, T b) {
    const T q = truncdiv(a, b), r = fmod_of(a, b);
    return (r != 0) & ((r < 0) != (b < 0)) ? (T)(q - 1) : q;
}
INLINE u8 truncdiv(u8 a, u8 b) { return (u8)(a / b); }
INLINE u8 fmod_of(u8 a, u8 b) { return (u8)(a % b); }
INLINE u8 remainder_of(u8 a, u8 b) { return (u8)(a % b); }
INLINE u8 floordiv(u8 a, u8 b) { return (u8)(a / b); }
#define FLOATING(T, f) \\
    INLINE T truncdiv(T a, T b) { return __builtin_trunc##f(a / b); } \\
    INLINE T fmod_of(T a, T b) { return __builtin_fmod##f(a, b); } \\
    INLINE T remainder_of(T a, T b) { \\
        const T r = __builtin_fmod##f(a, b); \\
        return (r != 0) & ((b < 0) != (r < 0)) ? r + b : r; \\
    } \\
    INLINE T floordiv(T a, T b) { \\
        const T r = __builtin_fmod##f(a, b), whole = (a - r) / b; \\
        const T q = (r != 0) & ((b < 0) != (r < 0)) ? whole - 1 : whole; \\
        const T down = __builtin_floor##f(q); \\
        const T near = q - down > (T)0.5 ? down + 1 : down; \\
        const T zero = __builtin_copysign##f((T)0, a / b); \\
        return b == 0 ? a / b : q != 0 ? near : zero; \\
    }
FLOATING(f32, f)
FLOATING(f64, )
template <typename T, typename U> INLINE T shift_left(T a, T b) {
    const bool out = (b < 0) | (b >= (T)(8 * sizeof(T)));
    return out ? (T)0 : (T)((U)a << (U)b);
}
template <typename T> INLINE T shift_right(T a, T b) {
    const T most = (T)(8 * sizeof(T) - 1);
    const bool out = (b < 0) | (b > most);
    const T shifted = (T)(a >> (out ? most : b));
    return out & ((T)-1 > 0) ? (T)0 : shifted;
}
INLINE i32 random_bits(i64 seed, i64 offset) {
    u32 k0 = (u32)seed, k1 = (u32)((u64)seed >> 32);
    u32 a = (u32)offset, b = (u32)((u64)offset >> 32), c = 0, d = 0;
    for (int round = 0; round < 10; ++round) {
        const u64 p = (u64)a * 0xD2511F53u, q = (u64)c * 0xCD9E8D57u;
        a = (u32)(q >> 32) ^ b ^ k0;
        b = (u32)q;
        c = (u32)(p >> 32) ^ d ^ k1;
        d = (u32)p;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return (i32)a;
}
"""

TILES: Final = """\
template <typename T, int M0, int M1, int M2, int M3, int M4, int M5, int M6, int M7,
          typename V>
INLINE V pick(V a, V b) {
    return __builtin_shufflevector(a, b, M0, M1, M2, M3, M4, M5, M6, M7);
}
template <typename T, int PITCH>
INLINE void transpose_8x8(const T *from, i64 step, T *to) {
    typedef T V __attribute__((vector_size(8 * sizeof(T))));
    V r[8], s[8];
    for (int i = 0; i < 8; ++i) __builtin_memcpy(&r[i], from + i * step, sizeof(V));
    for (int i = 0; i < 4; ++i) {
        s[i] = pick<T, 0, 1, 2, 3, 8, 9, 10, 11>(r[i], r[i + 4]);
        s[i + 4] = pick<T, 4, 5, 6, 7, 12, 13, 14, 15>(r[i], r[i + 4]);
    }
    for (int k = 0; k < 4; ++k) {
        const int i = k < 2 ? k : k + 2;
        r[i] = pick<T, 0, 1, 8, 9, 4, 5, 12, 13>(s[i], s[i + 2]);
        r[i + 2] = pick<T, 2, 3, 10, 11, 6, 7, 14, 15>(s[i], s[i + 2]);
    }
    for (int i = 0; i < 8; i += 2) {
        s[i] = pick<T, 0, 8, 2, 10, 4, 12, 6, 14>(r[i], r[i + 1]);
        s[i + 1] = pick<T, 1, 9, 3, 11, 5, 13, 7, 15>(r[i], r[i + 1]);
    }
    for (int i = 0; i < 8; ++i) __builtin_memcpy(to + i * PITCH, &s[i], sizeof(V));
}
template <typename T, int PITCH>
INLINE void transpose_tile(const T *from, i64 step, T *to, i64 rows, i64 columns) {
    i64 column = 0;
    for (; column + 8 <= columns; column += 8) {
        i64 row = 0;
        for (; row + 8 <= rows; row += 8)
            transpose_8x8<T, PITCH>(from + column * step + row, step,
                                    to + row * PITCH + column);
        for (; row < rows; ++row)
            for (i64 c = column; c < column + 8; ++c)
                to[row * PITCH + c] = from[c * step + row];
    }
    for (; column < columns; ++column)
        for (i64 row = 0; row < rows; ++row)
            to[row * PITCH + column] = from[column * step + row];
}
"""

VECTOR_FUNCTIONS: Final = (
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan"),
    *("asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *("erf", "erfc"),
)
"""Functions of one operand that libmvec has since glibc 2.35."""

VECTOR_FUNCTIONS_2: Final = ("pow", "atan2", "hypot")
"""Functions of two operands that libmvec has."""

SCALAR_FUNCTIONS: Final = ("lgamma",)
"""Functions that no vector library has."""


def prelude(vector_functions: bool) -> str:
    """Return the text that kernels rely on.

    Args:
        vector_functions: Declare functions of libmvec, which are off by up to 4 ulp;
            without them each element calls the scalar function, off by up to 1 ulp.
    """
    simd = '__attribute__((simd("notinbranch"), const))'
    plain = "__attribute__((const))"
    lines = []
    for names, operands in (
        (VECTOR_FUNCTIONS, 1),
        (VECTOR_FUNCTIONS_2, 2),
        (SCALAR_FUNCTIONS, 1),
    ):
        vector = vector_functions and names is not SCALAR_FUNCTIONS
        for name in names:
            for suffix, spelled in (("f", "f32"), ("", "f64")):
                args = ", ".join([spelled] * operands)
                attribute = simd if vector else plain
                lines.append(
                    f'extern "C" {attribute} {spelled} {name}{suffix}({args});'
                )
    return "\n".join([TYPES + CONVERSIONS + SEMANTICS + TILES, *lines, ""])
