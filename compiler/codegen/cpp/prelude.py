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
// the same value, of which the compiler knows nothing
INLINE i32 hidden(i32 x) { __asm__("" : "+m"(x)); return x; }
INLINE i64 hidden(i64 x) { __asm__("" : "+m"(x)); return x; }
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
// of two zeros the first, as in eager mode's clamp
template <typename T> INLINE T maximum_of(T a, T b) { return a > b ? a : b; }
template <typename T> INLINE T minimum_of(T a, T b) { return a < b ? a : b; }
INLINE f32 maximum_of(f32 a, f32 b) { return (a >= b) | (a != a) ? a : b; }
INLINE f32 minimum_of(f32 a, f32 b) { return (a <= b) | (a != a) ? a : b; }
INLINE f64 maximum_of(f64 a, f64 b) { return (a >= b) | (a != a) ? a : b; }
INLINE f64 minimum_of(f64 a, f64 b) { return (a <= b) | (a != a) ? a : b; }
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
#define EXCHANGE(to, from, half, low, high) \\
    for (int k = 0; k < N / 2; ++k) { \\
        const int i = k / half * 2 * half + k % half; \\
        to[i] = __builtin_shuffle(from[i], from[i + half], (V)low); \\
        to[i + half] = __builtin_shuffle(from[i], from[i + half], (V)high); \\
    }
template <typename T, int PITCH>
INLINE void transpose_8x8(const T *from, i64 step, T *to) {
    const int N = 8;
    typedef T V __attribute__((vector_size(N * sizeof(T))));
    V r[N], s[N];
    for (int i = 0; i < N; ++i) __builtin_memcpy(&r[i], from + i * step, sizeof(V));
    const V low_4 = {0, 1, 2, 3, 8, 9, 10, 11};
    const V high_4 = {4, 5, 6, 7, 12, 13, 14, 15};
    EXCHANGE(s, r, 4, low_4, high_4)
    const V low_2 = {0, 1, 8, 9, 4, 5, 12, 13};
    const V high_2 = {2, 3, 10, 11, 6, 7, 14, 15};
    EXCHANGE(r, s, 2, low_2, high_2)
    const V low_1 = {0, 8, 2, 10, 4, 12, 6, 14};
    const V high_1 = {1, 9, 3, 11, 5, 13, 7, 15};
    EXCHANGE(s, r, 1, low_1, high_1)
    for (int i = 0; i < N; ++i) __builtin_memcpy(to + i * PITCH, &s[i], sizeof(V));
}
template <typename T, int PITCH>
INLINE void transpose_16x16(const T *from, i64 step, T *to) {
    const int N = 16;
    typedef T V __attribute__((vector_size(N * sizeof(T))));
    V r[N], s[N];
    for (int i = 0; i < N; ++i) __builtin_memcpy(&r[i], from + i * step, sizeof(V));
    const V low_8 = {0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23};
    const V high_8 = {8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31};
    EXCHANGE(s, r, 8, low_8, high_8)
    const V low_4 = {0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27};
    const V high_4 = {4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31};
    EXCHANGE(r, s, 4, low_4, high_4)
    const V low_2 = {0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29};
    const V high_2 = {2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31};
    EXCHANGE(s, r, 2, low_2, high_2)
    const V low_1 = {0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30};
    const V high_1 = {1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31};
    EXCHANGE(r, s, 1, low_1, high_1)
    for (int i = 0; i < N; ++i) __builtin_memcpy(to + i * PITCH, &r[i], sizeof(V));
}
template <typename T, int PITCH>
INLINE void transpose_tile(const T *from, i64 step, T *to, i64 rows, i64 columns) {
    const i64 N = sizeof(T) == 8 ? 8 : 16;
    i64 column = 0;
    for (; column + N <= columns; column += N) {
        i64 row = 0;
        for (; row + N <= rows; row += N) {
            const T *source = from + column * step + row;
            T *target = to + row * PITCH + column;
            if (N == 8) transpose_8x8<T, PITCH>(source, step, target);
            else transpose_16x16<T, PITCH>(source, step, target);
        }
        for (; row < rows; ++row)
            for (i64 c = column; c < column + N; ++c)
                to[row * PITCH + c] = from[c * step + row];
    }
    for (; column < columns; ++column)
        for (i64 row = 0; row < rows; ++row)
            to[row * PITCH + column] = from[column * step + row];
}
"""

SCANS: Final = """\
template <typename A, typename T>
INLINE A prefix_sum(const T *from, T *to, i64 count, A carry) {
    typedef T V __attribute__((vector_size(8 * sizeof(T))));
    typedef A W __attribute__((vector_size(64)));
    typedef i64 I __attribute__((vector_size(64)));
    const W none = {0, 0, 0, 0, 0, 0, 0, 0};
    const I one = {8, 0, 1, 2, 3, 4, 5, 6}, two = {8, 9, 0, 1, 2, 3, 4, 5};
    const I four = {8, 9, 10, 11, 0, 1, 2, 3};
    i64 i = 0;
    for (; i + 8 <= count; i += 8) {
        V narrow;
        __builtin_memcpy(&narrow, from + i, sizeof(V));
        W sum = __builtin_convertvector(narrow, W);
        sum += __builtin_shuffle(sum, none, one);
        sum += __builtin_shuffle(sum, none, two);
        sum += __builtin_shuffle(sum, none, four);
        const V out = __builtin_convertvector(sum + carry, V);
        __builtin_memcpy(to + i, &out, sizeof(V));
        carry += sum[7];
    }
    for (; i < count; ++i) to[i] = (T)(carry += (A)from[i]);
    return carry;
}
"""

FAST: Final = """\
INLINE f32 exp_f32(f32 x) {
    const bool none = x < -104.0f;
    x = -104.0f > x ? -104.0f : x;
    x = 89.0f < x ? 89.0f : x;
    const f32 shifted = __builtin_fmaf(x, 0x1.715476p0f, 0x1.8p23f);
    const f32 n = shifted - 0x1.8p23f;
    const i32 k = __builtin_bit_cast(i32, shifted) - 0x4b400000;
    const f32 high = __builtin_fmaf(n, -0x1.62e4p-1f, x);
    const f32 r = __builtin_fmaf(n, -0x1.7f7d1cp-20f, high);
    f32 p = 0x1.6a2448p-10f;
    p = __builtin_fmaf(p, r, 0x1.1239d4p-7f);
    p = __builtin_fmaf(p, r, 0x1.5558f2p-5f);
    p = __builtin_fmaf(p, r, 0x1.555492p-3f);
    p = __builtin_fmaf(p, r, 0x1.fffffcp-2f);
    p = __builtin_fmaf(p * r, r, r) + 1.0f;
    p = none ? 0.0f : p;  // no slow arithmetic on subnormal numbers where it is 0
    // two factors: the result may be subnormal or overflow
    const i32 half = k >> 1;
    const f32 scale = float_of((u32)(half + 127) << 23);
    return p * scale * float_of((u32)(k - half + 127) << 23);
}
INLINE f32 exp_small(f32 x) {
    // where x lies in [-60, 60] and two ulp do
    const f32 shifted = __builtin_fmaf(x, 0x1.715476p0f, 0x1.8p23f);
    const f32 r = __builtin_fmaf(shifted - 0x1.8p23f, -0x1.62e43p-1f, x);
    f32 p = 0x1.6a2448p-10f;
    p = __builtin_fmaf(p, r, 0x1.1239d4p-7f);
    p = __builtin_fmaf(p, r, 0x1.5558f2p-5f);
    p = __builtin_fmaf(p, r, 0x1.555492p-3f);
    p = __builtin_fmaf(p, r, 0x1.fffffcp-2f);
    p = __builtin_fmaf(p * r, r, r) + 1.0f;
    return p * float_of((bits_of(shifted) << 23) + 0x3f800000u);
}
INLINE f32 erf_f32(f32 x) {
    const f32 t = __builtin_fabsf(x), c = t < 4.0f ? t : 4.0f, s = x * x;
    f32 p = 0x1.496a28p-14f;
    p = __builtin_fmaf(p, s, -0x1.a3f6fcp-11f);
    p = __builtin_fmaf(p, s, 0x1.5405b2p-8f);
    p = __builtin_fmaf(p, s, -0x1.b7f90cp-6f);
    p = __builtin_fmaf(p, s, 0x1.ce2cf8p-4f);
    p = __builtin_fmaf(p, s, -0x1.81273ep-2f);
    p = __builtin_fmaf(p, s, 0x1.06eba8p-3f);
    const f32 small = __builtin_fmaf(p, x, x);
    f32 q = 0x1.852dc4p-13f;
    q = __builtin_fmaf(q, c, -0x1.814d22p-9f);
    q = __builtin_fmaf(q, c, 0x1.654246p-6f);
    q = __builtin_fmaf(q, c, -0x1.a60a94p-4f);
    q = __builtin_fmaf(q, c, -0x1.46c582p-1f);
    q = __builtin_fmaf(q, c, -0x1.2085b2p0f);
    q = __builtin_fmaf(q, c, -0x1.72e404p-12f);
    const f32 large = __builtin_copysignf(1.0f - exp_small(q), x);
    return t > 1.0f ? large : small;
}
INLINE f32 tanh_f32(f32 x) {
    const f32 t = __builtin_fabsf(x), c = t < 10.0f ? t : 10.0f, s = x * x;
    f32 p = -0x1.76abf6p-8f;
    p = __builtin_fmaf(p, s, 0x1.5256cep-6f);
    p = __builtin_fmaf(p, s, -0x1.b84448p-5f);
    p = __builtin_fmaf(p, s, 0x1.110768p-3f);
    p = __builtin_fmaf(p, s, -0x1.555534p-2f);
    const f32 small = __builtin_fmaf(p * s, t, t);
    const f32 large = 1.0f - 2.0f / (exp_small(c + c) + 1.0f);
    return __builtin_copysignf(t >= 0.625f ? large : small, x);
}
"""
"""exp, erf and tanh of float32 as polynomials, fitted here by least squares that
reweights towards the largest error (Lawson): off by at most 2 ulp, special values
included, and inline, so that vectors stay in registers."""

EXACT: Final = """\
#define exp_f32 expf
#define erf_f32 erff
#define tanh_f32 tanhf
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
            without them each element calls the scalar function, off by up to 3 ulp.
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
    inline = FAST if vector_functions else EXACT
    text = TYPES + CONVERSIONS + SEMANTICS + TILES + SCANS + inline
    return "\n".join([text, *lines, ""])
