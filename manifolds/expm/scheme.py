"""Which polynomial approximates the exponential, and in how few products.

A scheme is a straight-line program over registers. Register 0 is the identity,
register 1 the matrix; each product multiplies two linear combinations of the registers
before it and fills the next one. The result is a linear combination of all registers
but the last, plus the last.

The Taylor polynomials of degrees 1, 2, 4, 8, 12 and 18 take 0 to 5 products, fewer than
Paterson and Stockmeyer's 0, 1, 2, 4, 5 and 7.

Source: P. Bader, S. Blanes, F. Casas, Computing the matrix exponential with an
optimized Taylor polynomial approximation, Mathematics 7 (2019), sections 3.1 to 3.3.
That each program expands to the Taylor polynomial is a test in exact rationals.
"""

import math
from dataclasses import dataclass
from functools import cache
from math import sqrt

Row = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Scheme:
    """One straight-line program.

    Args:
        degree: Degree of the Taylor polynomial.
        products: For each product the coefficients of its left and of its right
            factor, over the registers that exist by then.
        result: Coefficients over all registers but the last product's.
    """

    degree: int
    products: tuple[tuple[Row, Row], ...]
    result: Row


_SQUARE: tuple[Row, Row] = ((0, 1), (0, 1))
_CUBE: tuple[Row, Row] = ((0, 0, 1), (0, 1))


def _degree_8() -> Scheme:
    root = sqrt(177)
    x3 = 2 / 3
    x1 = x3 * (1 + root) / 88
    x2 = x3 * (1 + root) / 352
    x4 = (29 * root - 271) / (315 * x3)
    x5 = 11 * (root - 1) / (1260 * x3)
    x6 = 11 * (root - 9) / (5040 * x3)
    x7 = (89 - root) / (5040 * x3**2)
    y2 = (857 - 58 * root) / 630
    products: tuple[tuple[Row, Row], ...] = (
        _SQUARE,
        ((0, 0, 1), (0, x1, x2)),
        ((0, 0, x3, 1), (x4, x5, x6, x7)),
    )
    return Scheme(8, products, (1, 1, y2, 0))


def _degree_12() -> Scheme:
    b1 = (
        *(9.0198e-16, 0.46932117595418237389),
        *(-0.20099424927047284052, -0.04623946134063071740),
    )
    b2 = (
        *(5.31597895759871264183, 1.19926790417132231573),
        *(0.01179296240992997031, 0.01108844528519167989),
    )
    b3 = (
        *(0.18188869982170434744, 0.05502798439925399070),
        *(0.09351590770535414968, 0.00610700528898058230),
    )
    b4 = (
        *(-2.0861320e-13, -0.13181061013830184015),
        *(-0.02027855540589259079, -0.00675951846863086359),
    )
    both = tuple(x + y for x, y in zip(b2, b3, strict=True))
    products = (_SQUARE, _CUBE, (b4, b4), ((*both, 1.0), (*b3, 1.0)))
    return Scheme(12, products, (*b1, 0.0))


def _degree_18() -> Scheme:
    b1 = (
        *(0.0, -1.00365581030144618291e-01, -8.02924648241156932449e-03),
        *(-8.92138498045729985177e-04, 0.0),
    )
    b2 = (
        *(0.0, 3.97849749499645077844e-01, 1.36783778460411720168),
        *(4.98289622525382669416e-01, -6.37898194594723280150e-04),
    )
    b3 = (
        *(-1.09676396052962061844e01, 1.68015813878906206114),
        *(5.71779846478865511061e-02, -6.98210122488052056106e-03),
        3.34975017086070470649e-05,
    )
    b4 = (
        *(-9.04316832390810593223e-02, -6.76404519071381882256e-02),
        *(6.75961301770459654925e-02, 2.95552570429315521194e-02),
        -1.39180257516060693404e-05,
    )
    b5 = (
        *(0.0, 0.0, -9.23364619367118555360e-02, -1.69364939002081722752e-02),
        -1.40086798182036094347e-05,
    )
    both = tuple(x + y for x, y in zip(b3, b4, strict=True))
    products: tuple[tuple[Row, Row], ...] = (
        _SQUARE,
        _CUBE,
        ((0, 0, 0, 1), (0, 0, 0, 1)),
        (b1, b5),
        ((*both, 1.0), (*b4, 1.0)),
    )
    return Scheme(18, products, (*b2, 0.0))


SCHEMES = (
    Scheme(1, (), (1, 1)),
    Scheme(2, (((0, 0.5), (0, 1)),), (1, 1)),
    Scheme(4, (_SQUARE, ((0, 0, 1), (1 / 2, 1 / 6, 1 / 24))), (1, 1, 0)),
    _degree_8(),
    _degree_12(),
    _degree_18(),
)
"""By increasing degree and number of products."""


@cache
def reach(degree: int, order: int, roundoff: float) -> float:
    """Return the largest 1-norm that a Taylor polynomial serves to full accuracy.

    With ``p = degree + 1 - order``, the first term that the polynomial's derivative of
    this order lacks has norm ``x**p / p!``. With the tail after it, it must not exceed
    the roundoff. What serves a derivative serves those of lower order.

    Law: grows with the degree, falls with the order.

    Args:
        degree: Degree of the polynomial, at least 1.
        order: Order of the derivative, at least 1.
        roundoff: Unit roundoff, half of ``torch.finfo(dtype).eps``.

    Returns:
        The largest such x [norm]; -1 where not even the zero matrix is served.

    Example:
        >>> [round(reach(m, 1, 2.0**-24), 4) for m in (1, 2, 4, 8, 12, 18)]
        [0.0, 0.0003, 0.0345, 0.4674, 1.3106, 2.9693]

    Source: the tail is bounded by a geometric series with ratio ``x / (p + 1)``.
    """
    power = degree + 1 - order
    if power <= 0:
        return -1.0
    low, high = 0.0, float(power)
    for _ in range(60):
        middle = (low + high) / 2
        first = math.exp(power * math.log(middle) - math.lgamma(power + 1))
        fits = first / (1 - middle / (power + 1)) <= roundoff
        low, high = (middle, high) if fits else (low, middle)
    return low


def choose(norm: float, order: int, roundoff: float) -> Scheme:
    """Return the cheapest scheme for a 1-norm; the last one where none reaches it.

    Args:
        norm: The largest 1-norm of a batch of matrices.
        order: Order of the derivative, at least 1.
        roundoff: Unit roundoff of the dtype.

    Returns:
        The scheme; matrices beyond its reach must be scaled.

    Example:
        >>> choose(0.1, 1, 2.0**-24).degree, choose(50.0, 1, 2.0**-24).degree
        (8, 18)
    """
    for scheme in SCHEMES:
        if norm <= reach(scheme.degree, order, roundoff):
            return scheme
    return SCHEMES[-1]


def squarings(norm: float, order: int, roundoff: float) -> int:
    """Return how often a matrix must be halved until the last scheme reaches it.

    Args:
        norm: Its 1-norm; not finite counts as zero.
        order: Order of the derivative, 1 to 18.
        roundoff: Unit roundoff of the dtype.

    Returns:
        The smallest such count.

    Example:
        >>> squarings(2.9, 1, 2.0**-24), squarings(3.0, 1, 2.0**-24)
        (0, 1)
    """
    limit = reach(SCHEMES[-1].degree, order, roundoff)
    if not limit < norm < math.inf:
        return 0
    return math.ceil(math.log2(norm / limit))
