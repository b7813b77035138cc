"""Pairs of expressions: equal where indices are; decided choices are made."""

from collections.abc import Sequence

import pytest

from compiler.ir.expression import Expression, make
from compiler.ir.index import (
    Index,
    add,
    digit,
    floordiv,
    index,
    minimum,
    mod,
    mul,
)
from verify.obligations.matching import Mismatch, Walk, recombined
from verify.symbolic.question import Solver

X, UNKNOWN = digit("x0"), digit("?1")


class Given:
    """All arrays are given; ``y`` is twice ``x``."""

    def shape(self, load: Expression) -> Sequence[Expression] | None:
        return (index(4), index(3)) if len(load.args) == 2 else None

    def kernel_value(self, load: Expression, walk: Walk) -> Expression | None:
        return None

    def defined_value(self, load: Expression, walk: Walk) -> Expression | None:
        if load.data != "y":
            return None
        one = read("x", *load.args)
        return make("add", (one, one), "float32")

    def together(
        self, mine: Expression, theirs: Expression, walk: Walk
    ) -> Mismatch | None:
        return Mismatch(f"{mine.op} is not {theirs.data}")

    def alike(
        self, mine: Expression, theirs: Expression, walk: Walk
    ) -> Mismatch | None:
        return Mismatch(f"{mine.data} is not {theirs.data}", wrong=True)

    def folded(
        self, local: Expression, load: Expression, walk: Walk
    ) -> Mismatch | None:
        return Mismatch("no reduction")


@pytest.fixture
def walk() -> Walk:
    return Walk(Given(), {X: index(12), UNKNOWN: index(12)}, {}, Solver())


def read(name: str, *at: Index) -> Expression:
    return make("load", tuple(index(i) for i in at), "float32", name)


def value(at: Expression) -> Expression:
    return make("from_index", (at,), "int64")


def compare(op: str, left: Expression, right: Index) -> Expression:
    return make(op, (value(left), value(index(right))), "bool")


def test_equal_indices_in_other_words(walk: Walk) -> None:
    other = add(mul(floordiv(X, 3), 3), mod(X, 3))
    assert walk.same(read("x", X), read("x", other)) is None
    assert walk.same(read("x", minimum(X, 11)), read("x", X)) is None
    found = walk.same(read("x", minimum(X, 10)), read("x", X))
    assert found is not None and found.wrong and found.point == (("x0", 11),)


def test_definitions_are_put_in(walk: Walk) -> None:
    twice = make("add", (read("x", X), read("x", X)), "float32")
    assert walk.same(twice, read("y", X)) is None
    once = make("add", (read("x", X), read("x", 0)), "float32")
    found = walk.same(once, read("y", X))
    assert found is not None and found.wrong


def test_an_unknown_axis_is_what_the_kernel_has_there(walk: Walk) -> None:
    assert walk.same(read("x", X), read("x", UNKNOWN)) is None
    assert walk.bound == {UNKNOWN: X}
    assert walk.same(read("x", 0), read("x", UNKNOWN)) is not None


def test_quotient_and_remainder_of_an_unknown_axis(walk: Walk) -> None:
    mine = read("x", floordiv(X, 3), mod(X, 3))
    theirs = read("x", floordiv(UNKNOWN, 3), mod(UNKNOWN, 3))
    assert walk.same(mine, theirs) is None and walk.bound == {UNKNOWN: X}


def test_an_unknown_axis_must_not_be_left(walk: Walk) -> None:
    found = walk.same(read("x", add(X, 1)), read("x", UNKNOWN))
    assert found is not None and "outside" in found.text and not found.wrong


def test_choices_that_are_decided_are_made(walk: Walk) -> None:
    always = compare("lt", X, 12)
    for op in ("guard", "where"):
        chosen = make(op, (always, read("x", X), read("z", X)), "float32")
        assert walk.same(read("x", X), chosen) is None
        assert walk.same(chosen, read("x", X)) is None
        assert walk.same(chosen, read("z", X)) is not None


def test_a_value_may_be_both_that_a_choice_is_between(walk: Walk) -> None:
    early = compare("lt", X, 5)
    for op in ("guard", "where"):
        same = make(op, (early, read("x", X), read("x", minimum(X, 11))), "float32")
        assert walk.same(read("x", X), same) is None
        # each only where it is chosen
        apart = make(op, (early, read("x", minimum(X, 4)), read("x", X)), "float32")
        assert walk.same(read("x", X), apart) is None
        other = make(op, (early, read("x", minimum(X, 3)), read("x", X)), "float32")
        assert walk.same(read("x", X), other) is not None
        assert walk.same(read("z", X), same) is not None


def test_reads_count_only_where_their_guard_holds(walk: Walk) -> None:
    inside = compare("lt", X, 5)
    nothing = make("constant", (), "float32", 0.0)
    one = make("guard", (inside, read("x", minimum(X, 4)), nothing), "float32")
    two = make("guard", (inside, read("x", X), nothing), "float32")
    assert walk.same(one, two) is None
    late = make("guard", (inside, read("x", minimum(X, 3)), nothing), "float32")
    found = walk.same(late, two)
    assert found is not None and found.point == (("x0", 4),)


def test_indices_that_are_read_must_be_read_alike(walk: Walk) -> None:
    def at(name: str) -> Expression:
        data = make("load", (X,), "int64", name)
        return make("checked_index", (data, index(12)), "index")

    assert walk.same(read("x", add(at("i"), X)), read("x", add(X, at("i")))) is None
    found = walk.same(read("x", at("i")), read("x", at("j")))
    assert found is not None and "come from data" in found.text


def test_sums_put_together() -> None:
    parts = add(mul(floordiv(X, 3), 6), mul(mod(X, 3), 2), 5)
    assert recombined(parts) is add(mul(X, 2), 5)
    assert recombined(mod(X, 3)) is mod(X, 3)
