from itertools import product

from proofs.parametric.box import (
    Exponent,
    bounds,
    exponents,
    sizes,
    total,
    total_at_most,
    total_is,
)
from verify.terms import all_of, evaluate, holds


def test_a_box_holds_what_its_bounds_say() -> None:
    low, high = Exponent("low", 5, low=2), Exponent("high", 7)
    box = all_of(bounds((low, high)))
    inside = [
        (a, b)
        for a, b in product(range(8), repeat=2)
        if holds(box, {"low": a, "high": b})
    ]
    assert inside == [(a, b) for a in range(2, 6) for b in range(8)]
    assert high.bounds() == []


def test_products_of_sizes() -> None:
    group = exponents("t", 2, 3)
    assert [each.name for each in group] == ["t0", "t1"]
    for a, b in product(range(4), repeat=2):
        values = {"t0": a, "t1": b}
        assert evaluate(total(group), values) == a + b
        assert holds(total_is(group, 3), values) == (a + b == 3)
        assert holds(total_at_most(group, 3), values) == (a + b <= 3)
        assert [evaluate(s.value(), values) for s in sizes(group)] == [1 << a, 1 << b]
