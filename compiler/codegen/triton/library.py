"""Device functions that generated kernels call: exact semantics, cheap arithmetic.

The error function follows no published code: its coefficients are a weighted minimax
fit (iteratively reweighted least squares, C. Lawson 1961) of ``erf(x)/x`` in ``x*x``
below 1, and of ``log2(erfc(x))`` above, where ``erf = 1 - 2**polynomial`` costs one
hardware exponential. A test checks the stated error over a dense set of float32.
"""

import triton
import triton.language as tl
from triton.language.extra import libdevice

# ruff: noqa: D103 - a table of one-line functions: the module and the names say it
# mypy: ignore-errors


@triton.jit
def exp2_flushed(x):
    """Return 2**x of float32 within 2**-22; results below 2**-126 become 0."""
    return tl.inline_asm_elementwise(
        "ex2.approx.ftz.f32 $0, $1;", "=f,f", [x], tl.float32, is_pure=True, pack=1
    )


@triton.jit
def inverse_fast(x):
    """Return 1 / x of float32 within 1 ulp for 1 <= x; beyond 2**126 that is 0."""
    return tl.inline_asm_elementwise(
        "rcp.approx.ftz.f32 $0, $1;", "=f,f", [x], tl.float32, is_pure=True, pack=1
    )


@triton.jit
def exp_fast(x):
    """Return exp(x) of float32, off by at most (abs(x) + 5) * 2**-24 of itself."""
    return exp2_flushed(x * 1.4426950408889634)


@triton.jit
def exp_of(x):
    """Return exp(x), fast for float32."""
    if x.dtype == tl.float32:
        return exp_fast(x)
    else:
        return libdevice.exp(x)


@triton.jit
def erf(x):
    """Return the error function of float32, within 2 ulp."""
    z = x * x
    p = tl.fma(z, -0.0005631442181766033, 0.004917556885629892)
    p = tl.fma(p, z, -0.026711316779255867)
    p = tl.fma(p, z, 0.11280180513858795)
    p = tl.fma(p, z, -0.37612324953079224)
    p = tl.fma(p, z, 0.12837912142276764)
    near = tl.fma(x, p, x)
    t = tl.abs(x)
    q = tl.fma(t, -0.0016597053036093712, 0.021320300176739693)
    q = tl.fma(q, t, -0.1278720200061798)
    q = tl.fma(q, t, -0.9442280530929565)
    q = tl.fma(q, t, -1.612122893333435)
    q = tl.fma(q, t, -0.003854465438053012)
    far = 1.0 - exp2_flushed(q)
    far = tl.where(x < 0.0, -far, far)
    return tl.where(t < 1.0, near, far)


@triton.jit
def erf_plus_one(x):
    """Return ``erf(x) + 1`` of float32, off by at most 2**-22.5 in absolute terms.

    ``1 + erf`` cancels for negative x in any order of evaluation that rounds the sum:
    here ``erfc(-x)`` stands for it, which is no worse anywhere.
    """
    t = tl.abs(x)
    q = tl.fma(t, -4.535860352916643e-05, 0.00044550769962370396)
    q = tl.fma(q, t, -0.001489441841840744)
    q = tl.fma(q, t, -0.0007746291230432689)
    q = tl.fma(q, t, 0.02825368009507656)
    q = tl.fma(q, t, -0.1484816074371338)
    q = tl.fma(q, t, -0.9184163808822632)
    q = tl.fma(q, t, -1.6279085874557495)
    tail = exp2_flushed(q * t)
    return tl.where(x < 0.0, tail, 2.0 - tail)


@triton.jit
def quotient_by(a, b, inverse):
    """Return a / b, rounded once, for 1 <= b < 2**126 and its rounded inverse.

    One step of Newton's method with exact remainder corrects the product with the
    inverse (P. Markstein, 1990); a quotient below 2**-126 may be off by its last bit.
    """
    quotient = a * inverse
    rest = tl.fma(-quotient, b, a)
    return tl.fma(rest, inverse, quotient)


@triton.jit
def floor_divide(a, b):
    """Return the floor of the quotient of signed integers."""
    quotient = a // b
    rest = a - quotient * b
    return tl.where((rest != 0) & ((rest < 0) != (b < 0)), quotient - 1, quotient)


@triton.jit
def floor_remainder(a, b):
    """Return the remainder of signed integers, of the divisor's sign."""
    rest = a % b
    return tl.where((rest != 0) & ((rest < 0) != (b < 0)), rest + b, rest)


@triton.jit
def float_floor_divide(a, b, quotient):
    """Return torch's floor division of floats; ``quotient`` is a / b."""
    rest = libdevice.fmod(a, b)
    whole = tl.fdiv(a - rest, b)
    whole = tl.where((rest != 0) & ((rest < 0) != (b < 0)), whole - 1, whole)
    floor = libdevice.floor(whole)
    floor = tl.where(whole - floor > 0.5, floor + 1, floor)
    zero = libdevice.copysign(whole * 0, quotient)
    return tl.where(b == 0, quotient, tl.where(whole != 0, floor, zero))


@triton.jit
def float_remainder(a, b):
    """Return torch's remainder of floats, of the divisor's sign."""
    rest = libdevice.fmod(a, b)
    return tl.where((rest != 0) & ((rest < 0) != (b < 0)), rest + b, rest)


@triton.jit
def shift_left(a, b, BITS: tl.constexpr):
    """Return a << b; 0 for shifts that are negative or no smaller than the width."""
    inside = (b >= 0) & (b < BITS)
    return tl.where(inside, a << tl.where(inside, b, 0), 0)


@triton.jit
def shift_right(a, b, BITS: tl.constexpr):
    """Return a >> b; only the sign for shifts that are no smaller than the width."""
    inside = (b >= 0) & (b < BITS)
    return a >> tl.where(inside, b, BITS - 1)


@triton.jit
def unsigned_shift_right(a, b, BITS: tl.constexpr):
    inside = (b >= 0) & (b < BITS)
    return tl.where(inside, a >> tl.where(inside, b, 0), 0)


@triton.jit
def sign(x):
    return tl.where(x > 0, 1, 0).to(x.dtype) - tl.where(x < 0, 1, 0).to(x.dtype)


@triton.jit
def add_combine(a, b):
    return a + b


@triton.jit
def multiply_combine(a, b):
    return a * b


@triton.jit
def xor_combine(a, b):
    return a ^ b


@triton.jit
def maximum_combine(a, b):
    return tl.maximum(a, b)


@triton.jit
def minimum_combine(a, b):
    return tl.minimum(a, b)


@triton.jit
def float_maximum_combine(a, b):
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def float_minimum_combine(a, b):
    return tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def first_greatest(a, i, b, j):
    """Combine (value, position) pairs: NaN is greatest, ties go to the first."""
    beats = (a > b) | ((a != a) & (b == b))
    ties = (a == b) | ((a != a) & (b != b))
    left = beats | (ties & (i < j))
    return tl.where(left, a, b), tl.where(left, i, j)


@triton.jit
def first_smallest(a, i, b, j):
    """Combine (value, position) pairs: NaN is smallest, ties go to the first."""
    beats = (a < b) | ((a != a) & (b == b))
    ties = (a == b) | ((a != a) & (b != b))
    left = beats | (ties & (i < j))
    return tl.where(left, a, b), tl.where(left, i, j)


@triton.jit
def last_greatest(a, i, b, j):
    """Combine running maxima: NaN stays, ties go to the later one."""
    right = (b >= a) & (a == a) | (b != b)
    return tl.where(right, b, a), tl.where(right, j, i)


@triton.jit
def last_smallest(a, i, b, j):
    """Combine running minima: NaN stays, ties go to the later one."""
    right = (b <= a) & (a == a) | (b != b)
    return tl.where(right, b, a), tl.where(right, j, i)


@triton.jit
def softmax_step(greatest, total, value):
    """Take one more value into (maximum, sum of exp(value - maximum)).

    ``greatest`` starts at the least finite number, so that -inf adds nothing. The fast
    exponential's relative error grows as 2**-24 * |argument|, but so does the smallness
    of what it adds: the sum is off by less than 2**-24 of its greatest term for each.
    """
    difference = value - greatest
    shrink = exp_of(-tl.abs(difference))
    total = tl.where(difference > 0, tl.fma(total, shrink, 1.0), total + shrink)
    return tl.maximum(greatest, value, propagate_nan=tl.PropagateNan.ALL), total


@triton.jit
def softmax_combine(greatest, total, other_greatest, other_total):
    """Combine two pairs of maximum and sum of exponentials."""
    difference = other_greatest - greatest
    shrink = exp_of(-tl.abs(difference))
    total = tl.where(
        difference > 0, total * shrink + other_total, total + other_total * shrink
    )
    return (
        tl.maximum(greatest, other_greatest, propagate_nan=tl.PropagateNan.ALL),
        total,
    )


@triton.jit
def logsumexp_combine(a, b):
    """Return log(exp(a) + exp(b)); -inf where both are."""
    high = tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)
    low = tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)
    infinite = (tl.abs(high) == float("inf")) & (high == low)
    return tl.where(infinite, high, high + libdevice.log1p(libdevice.exp(low - high)))


@triton.jit
def random_bits(seed, offset):
    """Return the first word of Philox-4x32-10, key ``seed``, counter ``offset``.

    Source: J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011.
    """
    a = offset.to(tl.uint32)
    b = (offset >> 32).to(tl.uint32)
    c = a * 0
    d = a * 0
    key = seed.to(tl.uint32)
    other_key = (seed >> 32).to(tl.uint32)
    for _ in tl.static_range(10):
        high = tl.umulhi(a, 0xD2511F53)
        low = a * 0xD2511F53
        other_high = tl.umulhi(c, 0xCD9E8D57)
        other_low = c * 0xCD9E8D57
        a = other_high ^ b ^ key
        b = other_low
        c = high ^ d ^ other_key
        d = low
        key = key + 0x9E3779B9
        other_key = other_key + 0xBB67AE85
    return a.to(tl.int32, bitcast=True)
