import pytest

from verify.symbolic.terms import (
    add,
    at_most,
    constant,
    div,
    fit,
    mul,
    opaque,
    read,
    symbol,
)
from verify.symbolic.walk import nodes_of, substitute, symbols_of, value_at

X, Y = symbol("x"), symbol("y")


def test_symbols_are_found_inside_data_too() -> None:
    nested = opaque("value", "f", ((X, 3), Y))
    assert symbols_of(nested) == {X, Y}
    assert {X, Y} <= set(nodes_of(nested))
    assert symbols_of(constant(3)) == frozenset()


def test_substitution_is_simultaneous_and_simplifies() -> None:
    assert substitute(add(X, mul(constant(2), Y)), {X: Y, Y: X}) is add(
        Y, mul(constant(2), X)
    )
    assert substitute(at_most(X, constant(3)), {X: constant(2)}).kind == "true"
    nested = opaque("value", "f", ((X,),))
    assert substitute(nested, {X: Y}) is opaque("value", "f", ((Y,),))


def test_values() -> None:
    cell = read("int", "b", 0, X, 0, 9)
    term = add(fit(cell, 0, 5), constant(1))
    assert value_at(term, {X: 4}, lambda node, visit: visit(node.args[2])) == 5
    assert value_at(term, {cell: 7}) == 8
    with pytest.raises(KeyError):
        value_at(cell, {X: 4})
    with pytest.raises(ZeroDivisionError):
        value_at(div(X, Y), {X: 1, Y: 0})
