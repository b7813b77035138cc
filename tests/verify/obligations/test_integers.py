"""Index expressions mean the same as the terms that z3 reads."""

from compiler.ir.index import add, digit, floordiv, mod, mul, symbol
from compiler.ir.ranges import Ranges
from verify.obligations.integers import Integers, ask
from verify.symbolic import terms
from verify.symbolic.question import Solver

ROW, SIZE = digit("i"), symbol("N")


def test_division_and_remainder_make_the_number_again() -> None:
    integers = Integers(Ranges({ROW: 100}))
    whole = add(mul(floordiv(ROW, 7), 7), mod(ROW, 7))
    differ = terms.invert(terms.equal(integers.term(whole), integers.term(ROW)))
    assert type(ask(Solver(), [integers], [differ])).__name__ == "Proved"


def test_a_counterexample_names_digits_and_sizes() -> None:
    integers = Integers(Ranges({ROW: SIZE}, {SIZE: 3}))
    last = terms.equal(integers.term(add(ROW, 1)), integers.term(SIZE))
    verdict = ask(Solver(), [integers], [last])
    case = verdict.counterexample  # type: ignore[union-attr]
    assert case["i"] + 1 == case["N"] >= 3
