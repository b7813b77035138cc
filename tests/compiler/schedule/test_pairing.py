"""Digits of two nests are matched by what both touch."""

from compiler.ir.index import add, constant_value, digit, index, mul, symbol
from compiler.ir.node import Axis
from compiler.schedule.pairing import Pairing, Side

A, B, C = digit("a"), digit("b"), digit("c")
X, Y, Z = digit("x"), digit("y"), digit("z")


def side(kind: str = "outer", **extents: object) -> Side:
    sizes = {digit(name): extent for name, extent in extents.items()}
    return Side(sizes, dict.fromkeys(sizes, kind))  # type: ignore[arg-type]


def test_equal_digits_are_a_pair() -> None:
    pairing = Pairing(side(a=4, b=3), side(x=3, y=4), False)
    assert pairing.equate((A, B), (Y, X))
    assert pairing.pairs == {Y: A, X: B}


def test_a_merged_digit_is_cut() -> None:
    pairing = Pairing(side(a=12), side(x=3, y=4), False)
    assert pairing.equate((A,), (add(mul(X, 4), Y),))
    high, low = pairing.frame.leaves([Axis(A, index(12))])
    assert (constant_value(high.extent), constant_value(low.extent)) == (3, 4)
    assert pairing.pairs == {X: high.digit, Y: low.digit}
    assert pairing.frame.over_leaves(A) is add(mul(high.digit, 4), low.digit)


def test_both_sides_are_cut_to_a_common_refinement() -> None:
    pairing = Pairing(side(a=2, b=6), side(x=4, y=3), False)
    axes = [Axis(A, index(2)), Axis(B, index(6))]
    assert pairing.equate_axes(axes, [Axis(X, index(4)), Axis(Y, index(3))])
    assert len(pairing.pairs) == 3
    assert pairing.free(pairing.frame, axes) == []


def test_extents_without_a_common_refinement_change_nothing() -> None:
    pairing = Pairing(side(a=6), side(x=4), False)
    assert not pairing.equate((A,), (X,))
    assert pairing.pairs == {} and not pairing.frame.parts


def test_a_second_equation_must_agree() -> None:
    pairing = Pairing(side(a=4, b=4), side(x=4, y=4), False)
    assert pairing.equate((A, B), (X, Y))
    assert pairing.equate((B,), (Y,))
    assert not pairing.equate((A, B), (Y, X))
    assert pairing.pairs == {X: A, Y: B}


def test_other_forms_and_other_constants_do_not_match() -> None:
    pairing = Pairing(side(a=4), side(x=4), False)
    assert not pairing.equate((add(A, 1),), (X,))
    assert not pairing.equate((mul(A, -1),), (X,))
    assert not pairing.equate((A, A), (X,))
    assert pairing.equate((add(A, 1),), (add(X, 1),))


def test_outer_and_inner_digits_stay_apart_where_both_reduce() -> None:
    frame = Side({A: 4, B: 4}, {A: "outer", B: "inner"})
    other = Side({X: 4, Y: 4}, {X: "outer", Y: "inner"})
    pairing = Pairing(frame, other, True)
    assert not pairing.equate((A, B), (Y, X))
    assert pairing.equate((A, B), (X, Y))


def test_symbolic_extents_match_themselves() -> None:
    n = symbol("n")
    pairing = Pairing(side(a=mul(n, 4)), side(x=n, y=4), False)
    assert pairing.equate((A,), (add(mul(X, 4), Y),))
    assert not Pairing(side(a=n), side(x=symbol("m")), False).equate((A,), (X,))


def test_a_fixed_digit_is_not_cut() -> None:
    frame = Side({A: 12}, {A: "inner"}, frozenset({A}))
    pairing = Pairing(frame, side(x=3, y=4), False)
    assert not pairing.equate((A,), (add(mul(X, 4), Y),))
