from hypothesis import given
from hypothesis import strategies as st

from verify.checking.lemmas import lemmas, products_in, size_monomials
from verify.symbolic.terms import add, less, mul, symbol
from verify.symbolic.walk import value_at

M, N = symbol("M"), symbol("N")
ROW, COLUMN = symbol("pid_x"), symbol("lane0:64", 0, 63)
SHARED = frozenset({M, N})
OFFSET = add(mul(ROW, N), COLUMN)
FORMULAS = [less(OFFSET, mul(M, N))]


def test_products_and_sizes_are_found() -> None:
    assert products_in(FORMULAS, SHARED) == [mul(ROW, N)]
    found = size_monomials([mul(M, N)], SHARED)
    assert {frozenset(m) for m in found} == {
        frozenset({M, N}),
        frozenset({M}),
        frozenset({N}),
    }


@given(*[st.integers(-20, 20)] * 3)
def test_each_instance_holds_for_all_integers(m: int, n: int, row: int) -> None:
    sizes = size_monomials([mul(M, N)], SHARED)
    instances = list(lemmas(FORMULAS, sizes, SHARED))
    assert len(instances) >= 2
    for instance in instances:
        assert value_at(instance, {M: m, N: n, ROW: row, COLUMN: 0})
