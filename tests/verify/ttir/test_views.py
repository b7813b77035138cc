# ruff: noqa: E501 - operations stand on one line
from collections.abc import Callable

import pytest

from verify.mlir import ScalarType, TensorType, read_module
from verify.symbolic.terms import constant, symbol
from verify.symbolic.walk import value_at
from verify.ttir import evaluate
from verify.ttir.views import flattened, unflattened

Text = Callable[..., str]
RANGE = "%r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>\n"


def element(
    ttir: Text, body: str, name: str, shape: str
) -> tuple[object, list[object]]:
    """Store an integer tensor and return the term that is stored, with its lanes."""
    kind = f"tensor<{shape}"
    text = ttir(
        f"{RANGE}{body}\n%ps = tt.splat %y : !tt.ptr<i32> -> {kind}x!tt.ptr<i32>>\n"
        f"tt.store %ps, {name} : {kind}x!tt.ptr<i32>>",
        "y: !tt.ptr<i32>, n: i32",
    )
    program = evaluate(read_module(text))
    assert not program.unsupported
    access = program.accesses[-1]
    assert access.value is not None
    return access.value.term(), list(access.lanes)


def test_row_major_order() -> None:
    a, b = symbol("a", 0, 1), symbol("b", 0, 3)
    index = flattened((2, 4), (a, b))
    assert value_at(index, {a: 1, b: 2}) == 6
    assert unflattened((2, 4), index) == (a, b)
    assert unflattened((2, 4), constant(5)) == (constant(1), constant(1))


@pytest.mark.parametrize(
    ("body", "shape", "meaning"),
    [
        (
            "%a = tt.expand_dims %r {axis = 1 : i32} : tensor<8xi32> -> tensor<8x1xi32>\n"
            "%v = tt.broadcast %a : tensor<8x1xi32> -> tensor<8x4xi32>",
            "8x4",
            lambda i, j: i,
        ),
        (
            "%a = tt.reshape %r : tensor<8xi32> -> tensor<2x4xi32>\n"
            "%v = tt.trans %a {order = array<i32: 1, 0>} : tensor<2x4xi32> -> tensor<4x2xi32>",
            "4x2",
            lambda i, j: 4 * j + i,
        ),
        (
            "%b = arith.addi %r, %r : tensor<8xi32>\n"
            "%v = tt.join %r, %b : tensor<8xi32> -> tensor<8x2xi32>",
            "8x2",
            lambda i, j: (i, 2 * i)[j],
        ),
    ],
)
def test_elements_come_from_where_they_should(
    ttir: Text, body: str, shape: str, meaning: Callable[[int, int], int]
) -> None:
    term, lanes = element(ttir, body, "%v", shape)
    rows, columns = map(int, shape.split("x"))
    for i in range(rows):
        for j in range(columns):
            values = dict(zip(lanes, (i, j), strict=True))
            assert value_at(term, values) == meaning(i, j)  # type: ignore[arg-type]


def test_split_undoes_join(ttir: Text) -> None:
    body = (
        "%b = arith.addi %r, %r : tensor<8xi32>\n"
        "%j = tt.join %r, %b : tensor<8xi32> -> tensor<8x2xi32>\n"
        "%c, %v = tt.split %j : tensor<8x2xi32> -> tensor<8xi32>"
    )
    term, lanes = element(ttir, body, "%v", "8")
    assert value_at(term, {lanes[0]: 3}) == 6  # type: ignore[arg-type,dict-item]


def test_a_gather_reads_the_index_and_has_to_stay_inside(ttir: Text) -> None:
    body = (
        "%c = arith.constant dense<7> : tensor<8xi32>\n"
        "%i = arith.subi %c, %r : tensor<8xi32>\n"
        "%v = tt.gather %r[%i] {axis = 0 : i32} : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi32>"
    )
    term, lanes = element(ttir, body, "%v", "8")
    assert value_at(term, {lanes[0]: 2}) == 5  # type: ignore[arg-type,dict-item]
    bad = body.replace("dense<7>", "dense<9>")
    program = evaluate(read_module(ttir(RANGE + bad, "n: i32")))
    assert [claim.kind for claim in program.claims] == ["index"]


@pytest.mark.parametrize(
    "line",
    [
        "%v = tt.reshape %r allow_reorder : tensor<8xi32> -> tensor<8xi32>",
        "%v = tt.cat %r, %r : tensor<8xi32> -> tensor<16xi32>",
        "%v = tt.histogram %r : tensor<8xi32> -> tensor<16xi32>",
    ],
)
def test_orders_that_the_compiler_may_choose_are_left_open(
    ttir: Text, line: str
) -> None:
    shape = "16" if "16" in line else "8"
    term, _ = element(ttir, line, "%v", shape)
    assert "permutation" in repr(term) or "histogram" in repr(term)


def test_kinds() -> None:
    assert TensorType((2,), ScalarType("i1")).shape == (2,)
