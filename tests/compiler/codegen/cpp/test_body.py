"""Where statements go, and under which conditions loads happen."""

import pytest

from compiler.codegen.cpp.body import Body, entry, parameter, pointer
from compiler.ir.index import add, digit, floordiv, index, mul, sub, symbol
from compiler.ir.ranges import Ranges
from compiler.ir.scalar import apply, constant, load, local

ROW, COL = digit("i"), digit("j")


def body_of(*roots: object) -> Body:
    body = Body(Ranges({ROW: 8, COL: 8}))
    body.prepare([(root, None) for root in roots])  # type: ignore[misc]
    return body


def test_what_does_not_change_in_a_loop_is_before_it() -> None:
    outside = apply("exp", load("x", (ROW,), "float32"))
    value = apply("add", outside, load("y", (COL,), "float32"))
    body = body_of(value)
    with body.block("for (i)"):
        body.bind(ROW, "i")
        with body.block("for (j)"):
            body.bind(COL, "j")
            body.value(value)
    before, after = body.text().split("for (j)")
    assert "exp_f32" in before
    assert "p_y[j]" in after
    assert "exp_f32" not in after


def test_guarded_loads_happen_under_their_condition() -> None:
    condition = load("c", (ROW,), "bool")
    inner = load("x", (sub(ROW, 3),), "float32")
    value = apply("guard", condition, apply("exp", inner), constant(0.0, "float32"))
    for roots, guarded in (([value], True), ([value, inner], False)):
        body = body_of(*roots)
        with body.block("for (i)"):
            body.bind(ROW, "i")
            for root in roots:
                body.value(root)
        assert ("? p_x" in body.text()) == guarded


def test_a_leaf_that_nothing_binds_is_an_error() -> None:
    body = body_of(local("m", "float32"))
    with pytest.raises(NotImplementedError, match="local m"):
        body.value(local("m", "float32"))


def test_divisions_truncate_only_where_nothing_is_negative() -> None:
    good, bad = floordiv(add(ROW, 5), 3), floordiv(sub(4, ROW), 3)
    body = body_of(good, bad)
    with body.block("for (i)"):
        body.bind(ROW, "i")
        body.value(good)
        body.value(bad)
    assert "/ 3u" in body.text()
    assert "floor_quotient(" in body.text()


def test_values_of_a_buffer_that_changed_are_loaded_again() -> None:
    value = load("x", (index(0),), "float32")
    body = body_of(value)
    first = body.value(value)
    body.forget("x")
    assert body.value(value) != first
    body.forget("y")
    assert body.text().count("p_x[") == 2


def test_a_size_is_divided_as_a_size() -> None:
    n = symbol("n")
    body = body_of(floordiv(mul(ROW, n), 3))
    with body.block("for (i)"):
        body.bind(ROW, "i")
        assert body.depth(mul(n, 2)) == 0


def test_names_are_no_words_of_the_language() -> None:
    assert pointer("int") == "p_int"
    assert parameter(symbol("s-0")) == "n_s_0"
    assert entry("exp") == "k_exp"
