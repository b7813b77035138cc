"""Padded shared memory: no linear layout, but no two elements share an address."""

from verify.legacy import padded_address
from verify.legacy.padded_shared import SOURCE
from verify.terms import at_most, implies, less, variable

from .box import bounds, exponents, sizes
from .query import Parametric, Query

SCOPE = (
    "one padding directly: interval up to 2^4, padding up to 2^3, offset up to 2^7; "
    "each step: sizes up to 2^7, offsets up to 2^20"
)


def questions() -> list[Query]:
    """Ask: one padding keeps the order of offsets, in a small box; and each step does.

    The steps (dividing by an interval, multiplying by a padding, adding) are asked for
    large numbers. An address is made of such steps, however many paddings there are.
    """
    i, p = exponents("i", 1, 4), exponents("p", 1, 3)
    one, other = variable("offset", 7), variable("offset'", 7)
    intervals, paddings = sizes(i), sizes(p)
    direct = implies(
        less(one, other),
        less(
            padded_address(one, intervals, paddings),
            padded_address(other, intervals, paddings),
        ),
    )
    size = exponents("k", 1, 7)
    power = sizes(size)[0]
    x, y, a, b = (variable(name, 20) for name in "xyab")
    ordered = less(x, y)
    return [
        Query("one padding", direct, tuple(bounds(i, p))),
        Query("division", at_most(x // power, y // power), (ordered, *bounds(size))),
        Query("multiplication", less(x * power, y * power), (ordered, *bounds(size))),
        Query("addition", less(x + a, y + b), (ordered, at_most(a, b))),
    ]


def parametric() -> list[Parametric]:
    """Return the theorems about padded shared memory."""
    return [
        Parametric(
            name="padded_shared_address_is_injective",
            statement="Addresses grow with offsets: no two elements share an address",
            scope=SCOPE,
            source=SOURCE,
            instances=5 * 4,
            build=questions,
            method="monotone step by step",
        )
    ]
