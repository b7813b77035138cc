"""Triton kernels of the exponential and its derivative, for many small matrices.

Scaling is decided on the device, one count of squarings for each matrix, so that the
host never waits. The polynomial is always the one of degree 18. Where a derivative is
wanted, each product is one of pairs, ``(P, P')(R, R') = (P R, P R' + P' R)``, and the
exponential itself is computed again: that is cheaper than to read its factors.

Up to 4 x 4, a thread has a matrix in its registers. Above, a program has one, and
multiplies by ``tl.dot``: on the matrix unit, where each float32 number is the sum of
two of its shorter ones and the product of the two small ones is left out ("tf32x3").
"""
# ruff: noqa: E501, N803
# mypy: disable-error-code="assignment"

import triton
import triton.language as tl

from .scheme import SCHEMES, reach

_SCHEME = SCHEMES[-1]
_LEFT, _RIGHT = _SCHEME.products[3]
_LAST_LEFT, _LAST_RIGHT = _SCHEME.products[4]

LIMIT = tl.constexpr(reach(18, 1, 2.0**-24))
B1_1, B1_2, B1_3 = (tl.constexpr(_LEFT[i]) for i in (1, 2, 3))
B5_2, B5_3, B5_6 = (tl.constexpr(_RIGHT[i]) for i in (2, 3, 4))
L_0, L_1, L_2, L_3, L_6 = (tl.constexpr(_LAST_LEFT[i]) for i in range(5))
R_0, R_1, R_2, R_3, R_6 = (tl.constexpr(_LAST_RIGHT[i]) for i in range(5))
T_1, T_2, T_3, T_6 = (tl.constexpr(_SCHEME.result[i]) for i in (1, 2, 3, 4))


@triton.jit  # type: ignore[misc,untyped-decorator,unused-ignore]  # triton has no types
def add(a, b):  # type: ignore[no-untyped-def]
    """Add."""
    return a + b


@triton.jit  # type: ignore[misc,untyped-decorator,unused-ignore]
def larger(a, b):  # type: ignore[no-untyped-def]
    """Return the larger; NaN if one is."""
    return tl.where((a > b) | (a != a), a, b)


@triton.jit  # type: ignore[misc,untyped-decorator,unused-ignore]
def halvings(norm):  # type: ignore[no-untyped-def]
    """Return how often a matrix of this norm must be halved; 0 if it is not finite."""
    bits = (norm / LIMIT).to(tl.int32, bitcast=True)
    count = (bits >> 23) - 127 + ((bits & 0x7FFFFF) != 0).to(tl.int32)
    return tl.where((count > 0) & (norm < float("inf")), count, 0)


@triton.jit  # type: ignore[misc,untyped-decorator,unused-ignore]
def half_to_the(count):  # type: ignore[no-untyped-def]
    """Return ``2**-count``, for counts up to 126."""
    return ((127 - count) << 23).to(tl.float32, bitcast=True)


@triton.jit  # type: ignore[misc,untyped-decorator,unused-ignore]
def product(x, y, PRECISION: tl.constexpr):  # type: ignore[no-untyped-def]
    """Multiply two matrices."""
    return tl.dot(x, y, input_precision=PRECISION)


@triton.jit  # type: ignore[misc,untyped-decorator,unused-ignore]
def paired(x, dx, y, dy, PRECISION: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return the displacement of a product."""
    return tl.dot(dx, y, tl.dot(x, dy, input_precision=PRECISION), input_precision=PRECISION)  # fmt: skip


@triton.jit  # type: ignore[misc,untyped-decorator,unused-ignore]
def matrix_kernel(  # type: ignore[no-untyped-def]
    matrix,
    direction,
    out,
    N: tl.constexpr,
    SIZE: tl.constexpr,
    TRANSPOSED: tl.constexpr,
    PAIR: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """Exponentiate the matrix of the program, or differentiate its exponential.

    Args:
        matrix: A, contiguous [count, N, N].
        direction: E [count, N, N]; with ``PAIR`` only.
        out: Receives ``exp(A)``, or ``L(A, E)`` [count, N, N].
        N: Rows and columns, at most ``SIZE``.
        SIZE: 16, 32 or 64.
        TRANSPOSED: Whether ``A^T`` takes the place of A.
        PAIR: Whether the derivative is wanted.
        PRECISION: Of ``tl.dot``.
    """
    first = tl.program_id(0).to(tl.int64) * (N * N)
    i = tl.arange(0, SIZE)[:, None]
    j = tl.arange(0, SIZE)[None, :]
    mask = (i < N) & (j < N)
    one = tl.where(i == j, 1.0, 0.0)
    a = tl.load(matrix + first + i * N + j, mask=mask, other=0.0)
    if TRANSPOSED:
        a = tl.trans(a)
    norm = tl.reduce(tl.reduce(tl.abs(a), 0, add), 0, larger)
    count = halvings(norm)
    scale = half_to_the(count)
    a = a * scale
    a2 = product(a, a, PRECISION)
    a3 = product(a2, a, PRECISION)
    a6 = product(a3, a3, PRECISION)
    b1 = B1_1 * a + B1_2 * a2 + B1_3 * a3
    b5 = B5_2 * a2 + B5_3 * a3 + B5_6 * a6
    a9 = product(b1, b5, PRECISION)
    left = L_0 * one + L_1 * a + L_2 * a2 + L_3 * a3 + L_6 * a6 + a9
    right = R_0 * one + R_1 * a + R_2 * a2 + R_3 * a3 + R_6 * a6 + a9
    rest = T_1 * a + T_2 * a2 + T_3 * a3 + T_6 * a6
    if PAIR:
        e = tl.load(direction + first + i * N + j, mask=mask, other=0.0) * scale
        e2 = paired(a, e, a, e, PRECISION)
        e3 = paired(a2, e2, a, e, PRECISION)
        e6 = paired(a3, e3, a3, e3, PRECISION)
        c1 = B1_1 * e + B1_2 * e2 + B1_3 * e3
        c5 = B5_2 * e2 + B5_3 * e3 + B5_6 * e6
        e9 = paired(b1, c1, b5, c5, PRECISION)
        dleft = L_1 * e + L_2 * e2 + L_3 * e3 + L_6 * e6 + e9
        dright = R_1 * e + R_2 * e2 + R_3 * e3 + R_6 * e6 + e9
        d = T_1 * e + T_2 * e2 + T_3 * e3 + T_6 * e6
        d += paired(left, dleft, right, dright, PRECISION)
        p = rest + product(left, right, PRECISION)
        for _ in range(count):
            d = paired(p, d, p, d, PRECISION)
            p = product(p, p, PRECISION)
        exact = e
        p = d
    else:
        exact = one
        p = rest + product(left, right, PRECISION)
        for _ in range(count):
            p = product(p, p, PRECISION)
    p = tl.where(norm == 0, exact, p)
    # one element that is not finite spoils its matrix, and no other
    p = tl.where(norm < float("inf"), p, float("nan"))
    tl.store(out + first + i * N + j, p, mask=mask)


@triton.jit  # type: ignore[misc,untyped-decorator,unused-ignore]
def combine(one, c1, a, c2, a2, c3, a3, c6, a6, N: tl.constexpr):  # type: ignore[no-untyped-def]  # fmt: skip
    """Combine four matrices linearly and add a multiple of the identity."""
    result = ()
    for i in tl.static_range(N):
        for j in tl.static_range(N):
            value = c1 * a[i * N + j] + c2 * a2[i * N + j]
            value += c3 * a3[i * N + j] + c6 * a6[i * N + j]
            if i == j:
                value += one
            result += (value,)
    return result


@triton.jit  # type: ignore[misc,untyped-decorator,unused-ignore]
def small_sum(x, y, N: tl.constexpr):  # type: ignore[no-untyped-def]
    """Add two matrices."""
    result = ()
    for k in tl.static_range(N * N):
        result += (x[k] + y[k],)
    return result


@triton.jit  # type: ignore[misc,untyped-decorator,unused-ignore]
def small_product(x, y, N: tl.constexpr):  # type: ignore[no-untyped-def]
    """Multiply two matrices."""
    result = ()
    for i in tl.static_range(N):
        for j in tl.static_range(N):
            value = x[i * N] * y[j]
            for k in tl.static_range(1, N):
                value += x[i * N + k] * y[k * N + j]
            result += (value,)
    return result


@triton.jit  # type: ignore[misc,untyped-decorator,unused-ignore]
def small_paired(x, dx, y, dy, N: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return the displacement of a product."""
    return small_sum(small_product(x, dy, N), small_product(dx, y, N), N)


@triton.jit  # type: ignore[misc,untyped-decorator,unused-ignore]
def small_choice(kept, x, y, N: tl.constexpr):  # type: ignore[no-untyped-def]
    """Choose matrix by matrix."""
    result = ()
    for k in tl.static_range(N * N):
        result += (tl.where(kept, x[k], y[k]),)
    return result


@triton.jit  # type: ignore[misc,untyped-decorator,unused-ignore]
def unpack(tile, BLOCK: tl.constexpr, LOG2_SIZE: tl.constexpr):  # type: ignore[no-untyped-def]  # fmt: skip
    """Take a tile [BLOCK, 2**LOG2_SIZE] apart, into its columns."""
    pieces = (tile,)
    for bit in tl.static_range(LOG2_SIZE):
        zeros = ()
        ones = ()
        for k in tl.static_range(2**bit):
            piece = pieces[k]
            if bit < LOG2_SIZE - 1:
                piece = tl.reshape(piece, [BLOCK, 2 ** (LOG2_SIZE - 1 - bit), 2])
            zero, one = tl.split(piece)
            zeros += (zero,)
            ones += (one,)
        pieces = zeros + ones
    return pieces


@triton.jit  # type: ignore[misc,untyped-decorator,unused-ignore]
def pack(pieces, BLOCK: tl.constexpr, LOG2_SIZE: tl.constexpr):  # type: ignore[no-untyped-def]  # fmt: skip
    """Put columns together to a tile [BLOCK, 2**LOG2_SIZE]."""
    for bit in tl.static_range(LOG2_SIZE):
        joined = ()
        for k in tl.static_range(2 ** (LOG2_SIZE - 1 - bit)):
            joined += (tl.join(pieces[k], pieces[k + 2 ** (LOG2_SIZE - 1 - bit)]),)
        pieces = joined
    return tl.reshape(pieces[0], [BLOCK, 2**LOG2_SIZE])


@triton.jit(do_not_specialize=["count"])  # type: ignore[misc,untyped-decorator,unused-ignore]
def small_kernel(  # type: ignore[no-untyped-def]
    matrix,
    direction,
    out,
    count,
    N: tl.constexpr,
    LOG2_SIZE: tl.constexpr,
    BLOCK: tl.constexpr,
    TRANSPOSED: tl.constexpr,
    PAIR: tl.constexpr,
):
    """Do the same for matrices of size 2 to 4, each in one element of a block.

    Args:
        matrix: A, contiguous [count, N, N].
        direction: E [count, N, N]; with ``PAIR`` only.
        out: Receives ``exp(A)``, or ``L(A, E)`` [count, N, N].
        count: Number of matrices.
        N: 2 to 4.
        LOG2_SIZE: Of the smallest power of two that is at least ``N * N``.
        BLOCK: Matrices of a program.
        TRANSPOSED: Whether ``A^T`` takes the place of A.
        PAIR: Whether the derivative is wanted.
    """
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    element = tl.arange(0, 2**LOG2_SIZE)
    mask = (index < count)[:, None] & (element < N * N)[None, :]
    places = index[:, None] * (N * N) + element[None, :]
    raw = unpack(tl.load(matrix + places, mask=mask, other=0.0), BLOCK, LOG2_SIZE)
    norm = tl.full((BLOCK,), 0.0, tl.float32)
    for i in tl.static_range(N):
        column = tl.full((BLOCK,), 0.0, tl.float32)
        for j in tl.static_range(N):
            column += tl.abs(raw[i * N + j] if TRANSPOSED else raw[j * N + i])
        norm = larger(norm, column)
    squarings = halvings(norm)
    scale = half_to_the(squarings)
    a = ()
    for i in tl.static_range(N):
        for j in tl.static_range(N):
            a += ((raw[j * N + i] if TRANSPOSED else raw[i * N + j]) * scale,)
    a2 = small_product(a, a, N)
    a3 = small_product(a2, a, N)
    a6 = small_product(a3, a3, N)
    b1 = combine(0.0, B1_1, a, B1_2, a2, B1_3, a3, 0.0, a6, N)
    b5 = combine(0.0, 0.0, a, B5_2, a2, B5_3, a3, B5_6, a6, N)
    a9 = small_product(b1, b5, N)
    left = small_sum(a9, combine(L_0, L_1, a, L_2, a2, L_3, a3, L_6, a6, N), N)
    right = small_sum(a9, combine(R_0, R_1, a, R_2, a2, R_3, a3, R_6, a6, N), N)
    rest = combine(0.0, T_1, a, T_2, a2, T_3, a3, T_6, a6, N)
    most = tl.reduce(squarings, 0, larger)
    if PAIR:
        given = unpack(tl.load(direction + places, mask=mask, other=0.0), BLOCK, LOG2_SIZE)  # fmt: skip
        e = ()
        for k in tl.static_range(N * N):
            e += (given[k] * scale,)
        e2 = small_paired(a, e, a, e, N)
        e3 = small_paired(a2, e2, a, e, N)
        e6 = small_paired(a3, e3, a3, e3, N)
        c1 = combine(0.0, B1_1, e, B1_2, e2, B1_3, e3, 0.0, e6, N)
        c5 = combine(0.0, 0.0, e, B5_2, e2, B5_3, e3, B5_6, e6, N)
        e9 = small_paired(b1, c1, b5, c5, N)
        dleft = small_sum(e9, combine(0.0, L_1, e, L_2, e2, L_3, e3, L_6, e6, N), N)
        dright = small_sum(e9, combine(0.0, R_1, e, R_2, e2, R_3, e3, R_6, e6, N), N)
        d = combine(0.0, T_1, e, T_2, e2, T_3, e3, T_6, e6, N)
        d = small_sum(d, small_paired(left, dleft, right, dright, N), N)
        p = small_sum(rest, small_product(left, right, N), N)
        for done in range(most):
            due = done < squarings
            d = small_choice(due, small_paired(p, d, p, d, N), d, N)
            p = small_choice(due, small_product(p, p, N), p, N)
        exact = e
        result = d
    else:
        exact = combine(norm * 0 + 1, 0.0, a, 0.0, a, 0.0, a, 0.0, a, N)
        result = small_sum(rest, small_product(left, right, N), N)
        for done in range(most):
            result = small_choice(done < squarings, small_product(result, result, N), result, N)  # fmt: skip
    result = small_choice(norm == 0, exact, result, N)
    values = ()
    for k in tl.static_range(2**LOG2_SIZE):
        values += (tl.where(norm < float("inf"), result[k % (N * N)], float("nan")),)
    tl.store(out + places, pack(values, BLOCK, LOG2_SIZE), mask=mask)
