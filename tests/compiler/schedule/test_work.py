"""What expressions and arrays take."""

from compiler.ir.expression import make
from compiler.ir.index import digit, index, mul, symbol
from compiler.ir.node import Axis, Buffer
from compiler.schedule.work import (
    TYPICAL,
    bytes_of,
    cost,
    elements,
    points,
    span,
    typical,
)


def test_sizes_are_numbers_where_symbols_are_typical() -> None:
    n = symbol("n")
    assert typical(7) == 7
    assert typical(mul(n, 2)) == 2 * TYPICAL
    assert points([Axis(digit("i"), n), Axis(digit("j"), index(3))]) == 3 * TYPICAL
    assert elements([]) == 1


def test_bytes_and_spans() -> None:
    shape = (index(2), index(3))
    buffer = Buffer("x", "bfloat16", shape, "cpu", (index(8), index(2)))
    assert bytes_of(buffer) == 12
    assert span(buffer) is index(13)


def test_indices_cost_nothing() -> None:
    i = digit("i")
    x = make("load", (mul(i, 3),), "float32", "x")
    assert cost(x) == 0
    exp = make("exp", (x,), "float32")
    # a shared part is computed once
    assert cost(make("add", (exp, exp), "float32")) == cost(exp) + 1
