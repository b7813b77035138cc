import pytest

from verify.symbolic.spelling import spell
from verify.symbolic.terms import (
    TRUE,
    Term,
    add,
    choose,
    conjoin,
    constant,
    equal,
    fit,
    invert,
    less,
    mul,
    opaque,
    pointer,
    read,
    symbol,
)

X, Y = symbol("x"), symbol("lane0:64")


@pytest.mark.parametrize(
    ("term", "text"),
    [
        (mul(add(X, Y), X), "(x + lane0) * x"),
        (less(X, Y), "x < lane0"),
        (invert(equal(X, Y)), "not (x == lane0)"),
        (conjoin(less(X, Y), equal(X, Y)), "x < lane0 and x == lane0"),
        (fit(X, 0, 3), "x"),
        (read("int", "b", 0, X, None, None), "b[x]"),
        (pointer("b", X), "b + x"),
        (choose(less(X, Y), X, constant(2)), "(x if x < lane0 else 2)"),
        (opaque("int", "andi", (X,)), "opaque(andi, x)"),
        (TRUE, "true"),
    ],
)
def test_terms_read_like_code(term: Term, text: str) -> None:
    assert spell(term) == repr(term) == text


def test_deep_terms_are_cut() -> None:
    term = X
    for _ in range(60):
        term = add(mul(term, X), Y)
    assert "..." in spell(term, 5)
