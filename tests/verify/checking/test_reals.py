import math

import pytest

from verify.checking.reals import (
    applied,
    chosen,
    is_finite,
    largest,
    minus,
    number,
    operation,
    power,
    product,
    reciprocal,
    root,
    simplified,
    size,
    smallest,
    total,
    value_of,
)
from verify.symbolic.terms import VALUE, opaque, symbol, truth_symbol

X = opaque(VALUE, "argument", ("x", "f32"))
Y = opaque(VALUE, "argument", ("y", "f32"))
TEST = truth_symbol("c")


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("0.25", "f32", 0.25),
        ("0xff800000", "f32", -math.inf),
        ("0x7f800000", "f32", math.inf),
        ("0xfc00", "f16", -math.inf),
        ("0xff80", "bf16", -math.inf),
        ("0x3c00", "f16", 1.0),
        ("0x0001", "f16", 2.0**-24),
        ("0xbff0000000000000", "f64", -1.0),
    ],
)
def test_constants_have_the_value_of_their_bits(
    text: str, kind: str, value: float
) -> None:
    assert value_of(opaque(VALUE, "constant", (text, kind))) == value


def test_what_is_no_known_constant_has_no_value() -> None:
    assert value_of(X) is None
    assert value_of(opaque(VALUE, "constant", ("0x00", "f8E4M3FN"))) is None
    assert math.isnan(value_of(opaque(VALUE, "constant", ("0x7fc00000", "f32"))) or 0.0)


def test_arithmetic_folds_constants() -> None:
    assert total(number(1), number(2)) is number(3)
    assert total(X, number(0)) is X
    assert total(number(-math.inf), X) is number(-math.inf)
    assert product(number(2), product(X, number(3))) is product(number(6), X)
    assert product(X, number(0)) is number(0)
    assert product(number(2), total(X, Y)) is total(
        product(number(2), X), product(number(2), Y)
    )
    assert minus(minus(X)) is X
    assert reciprocal(reciprocal(X)) is X
    assert reciprocal(number(4)) is number(0.25)
    assert largest(number(-math.inf), X) is X and smallest(X, number(math.inf)) is X
    assert power(number(-math.inf)) is number(0)
    assert root(number(0)) is number(0) and size(number(-2)) is number(2)


def test_what_is_undefined_is_not_made_a_number() -> None:
    infinite = number(math.inf)
    assert value_of(product(number(0), infinite)) is None
    assert value_of(total(infinite, number(-math.inf))) is None
    hidden = operation("sin", infinite)
    assert not is_finite(hidden) and value_of(product(number(0), hidden)) is None


def test_ways_to_write_one_thing_have_one_form() -> None:
    def form(name: str, *parts: object) -> object:
        return simplified(operation(name, *parts))  # type: ignore[arg-type]

    assert form("subf", X, Y) is total(X, product(number(-1), Y))
    assert form("divf", X, number(8)) is form("mulf", X, number(0.125))
    assert form("rsqrt", X) is reciprocal(root(X))
    assert form("negf", X) is form("mulf", number(-1), X)
    assert form("extf", X) is form("truncf", X) is X
    assert form("maximumf", X, Y) is form("maxnumf", X, Y)
    log2e = product(X, number(math.log2(math.e)))
    assert form("exp2", log2e) is form("exp", X)
    n = symbol("n", 0)
    assert form("sitofp", n) is operation("sitofp", n)
    assert simplified(opaque(VALUE, "sitofp", ("", "f32", symbol("k", 0)))) is form(
        "sitofp", symbol("k", 0)
    )
    assert simplified(opaque(VALUE, "argument", ("x", "bf16"))) is X
    extern = opaque(VALUE, "extern_elementwise", ("__nv_expf", "f32", X))
    assert simplified(extern) is form("exp", X)
    unknown = opaque(VALUE, "extern_elementwise", ("__nv_foo", "f32", X))
    assert simplified(unknown) is unknown


def test_different_things_stay_different() -> None:
    assert simplified(operation("subf", X, Y)) is not simplified(
        operation("subf", Y, X)
    )
    assert simplified(operation("divf", X, Y)) is not product(X, Y)
    assert number(1e-5) is not simplified(number(1.01e-5))


def test_choices_move_out_while_the_other_branch_is_a_constant() -> None:
    masked = chosen(TEST, X, number(-math.inf))
    assert applied(power, [masked]) is chosen(TEST, power(X), number(0))
    zeroed = chosen(TEST, X, number(0))
    assert applied(product, [zeroed, zeroed]) is chosen(TEST, product(X, X), number(0))
    stays = applied(total, [zeroed, Y])
    assert stays.kind != "ite"
    other = truth_symbol("d")
    nested = chosen(TEST, chosen(other, X, number(0)), number(0))
    assert nested.kind == "ite" and nested.args[1] is X
    flipped = chosen(TEST, number(0), X)
    assert flipped.args[1] is X and flipped.args[2] is number(0)
