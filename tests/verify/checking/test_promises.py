from verify.checking.promises import poison_of, promises_of
from verify.symbolic.terms import (
    FALSE,
    TRUE,
    Term,
    add,
    at_most,
    choose,
    conjoin,
    constant,
    div,
    fit,
    invert,
    opaque,
    poison,
    symbol,
    truth_symbol,
)

X = symbol("x")
RISKY = fit(add(X, constant(1)), -8, 7, "12")
P = truth_symbol("p")


def test_a_promise_is_collected_once_and_with_its_line() -> None:
    covered: dict[Term, list[frozenset[Term]]] = {}
    (found,) = promises_of(add(RISKY, RISKY), (), covered)
    assert found.line == 12 and "int4" in found.text
    assert list(promises_of(RISKY, (), covered)) == []
    assert list(promises_of(RISKY, (P,), covered)) == []


def test_branches_and_conjuncts_say_where_it_matters() -> None:
    (found,) = promises_of(choose(P, RISKY, X), (), {})
    assert found.where == (P,)
    (found,) = promises_of(choose(P, X, RISKY), (), {})
    assert found.where == (invert(P),)
    (found,) = promises_of(conjoin(P, at_most(RISKY, X)), (), {})
    assert found.where == (P,)


def test_a_promise_under_a_condition_is_asked_again_without_it() -> None:
    covered: dict[Term, list[frozenset[Term]]] = {}
    assert len(list(promises_of(RISKY, (P,), covered))) == 1
    assert len(list(promises_of(RISKY, (), covered))) == 1


def test_divisors_are_promised_not_to_be_zero() -> None:
    assert ["not zero" in p.text for p in promises_of(div(X, symbol("y")), (), {})] == [
        True
    ]
    assert list(promises_of(div(X, symbol("y", 1)), (), {})) == []


def test_poison_flows_through_values_but_not_past_a_choice() -> None:
    bad = poison("value")
    value = opaque("value", "addf", (choose(P, opaque("value", "v", ()), bad), X))
    assert poison_of(value, lambda node: None) is invert(P)
    assert poison_of(choose(P, value, X), lambda node: None) is FALSE
    assert poison_of(bad, lambda node: None) is TRUE
