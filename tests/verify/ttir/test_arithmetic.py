import itertools

import numpy as np
import pytest

from verify.mlir import ScalarType
from verify.symbolic.terms import Term, constant, symbol
from verify.symbolic.walk import value_at
from verify.ttir.arithmetic import (
    absolute,
    binary,
    bits_of,
    bitwise_or,
    compare,
    min_of,
    remainder,
    signed,
    truncated_div,
    unsigned,
    widened,
)
from verify.ttir.run.numbers import binary_integer, compare_integers

I8 = ScalarType("i8")
X, Y = symbol("x", -128, 127), symbol("y", -128, 127)
SOME = (-128, -127, -65, -8, -3, -1, 0, 1, 2, 5, 64, 100, 127)
NAMES = (
    "addi", "subi", "muli", "divsi", "divui", "remsi", "remui", "ceildivsi",
    "floordivsi", "shli", "shrsi", "shrui", "minsi", "maxsi", "minui", "maxui",
    "andi", "ori", "xori",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_operations_agree_with_the_run_where_nothing_wraps(name: str) -> None:
    for x, y in itertools.product(SOME, SOME):
        if (y == 0 and ("div" in name or "rem" in name)) or (x, y) == (-128, -1):
            continue
        if name.startswith("sh") and not 0 <= y < 8:
            continue
        term = binary(name, I8, X, constant(y), "")
        assert term is not None
        try:
            value = value_at(term, {X: x})
        except KeyError:
            continue  # an opaque result: nothing is claimed
        machine = binary_integer(name, I8, np.asarray(x), np.asarray(y), False)
        if -128 <= value <= 127:
            assert value == int(machine), (x, y)
        else:
            assert any(node for node in [term] if node.fits)


@pytest.mark.parametrize(
    "predicate", ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "uge"]
)
def test_comparisons_agree_with_the_run(predicate: str) -> None:
    for x, y in itertools.product(SOME, SOME):
        term = compare(I8, predicate, X, Y)
        machine = compare_integers(I8, predicate, np.asarray(x), np.asarray(y))
        assert value_at(term, {X: x, Y: y}) == bool(machine)


def test_masks_have_a_meaning_and_other_bits_a_range() -> None:
    assert value_at(binary("andi", I8, X, constant(7), ""), {X: -3}) == 5  # type: ignore[arg-type]
    assert value_at(binary("andi", I8, X, constant(-8), ""), {X: -3}) == -8  # type: ignore[arg-type]
    small = symbol("s", 0, 3)
    joined = bitwise_or(
        I8, binary("shli", I8, symbol("t", 0, 7), constant(2), "") or X, small
    )
    assert value_at(joined, {symbol("t", 0, 7): 5, small: 2}) == 22
    mixed = binary("xori", I8, small, symbol("u", 0, 12), "")
    assert mixed is not None and (mixed.low, mixed.high) == (0, 15)
    assert min_of(X) == -128 and min_of(symbol("free")) == -1


def test_signs() -> None:
    for x in SOME:
        assert value_at(unsigned(I8, X), {X: x}) == x % 256
        assert value_at(signed(I8, unsigned(I8, X)), {X: x}) == x
        assert value_at(absolute(I8, X, ""), {X: x}) == abs(x)
    for x, y in itertools.product(SOME, (-3, 2, 7)):
        values = {X: x, Y: y}
        assert value_at(truncated_div(X, Y), values) == int(x / y)
        assert value_at(remainder(X, Y), values) == x - y * int(x / y)


def test_widths() -> None:
    wide = ScalarType("i32")
    truth: Term = compare(I8, "slt", X, Y)
    assert (
        value_at(widened("extsi", ScalarType("i1"), wide, truth, ""), {X: 0, Y: 1})
        == -1
    )
    assert value_at(widened("extui", I8, wide, X, ""), {X: -1}) == 255
    assert widened("extsi", I8, wide, X, "") is X
    assert widened("trunci", wide, I8, symbol("w", 0, 300), "").fits
    assert value_at(widened("trunci", I8, ScalarType("i1"), X, ""), {X: 3}) is True
    assert bits_of(wide) == 32
    assert binary("nonsense", I8, X, Y, "") is None
