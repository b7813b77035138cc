# ruff: noqa: E501 - operations stand on one line
from collections.abc import Callable

import pytest

from verify.mlir import read_module
from verify.symbolic.terms import Term
from verify.ttir import evaluate
from verify.ttir.reductions import bound_of

Text = Callable[..., str]
INTEGERS = "%r = tt.make_range {end = 8 : i32, start = 3 : i32} : tensor<5xi32>\n"


def reduced(ttir: Text, combine: str, kind: str = "reduce") -> Term:
    shape = "i32" if kind == "reduce" else "tensor<5xi32>"
    pointer = "!tt.ptr<i32>" if kind == "reduce" else "tensor<5x!tt.ptr<i32>>"
    splat = (
        "" if kind == "reduce" else f"%q = tt.splat %y : !tt.ptr<i32> -> {pointer}\n"
    )
    name = "%y" if kind == "reduce" else "%q"
    extra = "" if kind == "reduce" else ", reverse = false"
    body = (
        f'{INTEGERS}%s = "tt.{kind}"(%r) <{{axis = 0 : i32{extra}}}> ({{\n'
        f"^bb0(%a: i32, %b: i32):\n  %c = {combine}\n  tt.{kind}.return %c : i32\n"
        f"}}) : (tensor<5xi32>) -> {shape}\n{splat}tt.store {name}, %s : {pointer}"
    )
    program = evaluate(read_module(ttir(body, "y: !tt.ptr<i32>, n: i32")))
    assert not program.unsupported
    value = program.accesses[-1].value
    assert value is not None
    return value.term()


@pytest.mark.parametrize(
    ("combine", "low", "high"),
    [
        ("arith.maxsi %a, %b : i32", 3, 7),
        ("arith.addi %a, %b : i32", 3, 35),
        ("arith.xori %a, %b : i32", -(2**31), 2**31 - 1),
    ],
)
def test_a_reduction_has_a_range(ttir: Text, combine: str, low: int, high: int) -> None:
    term = reduced(ttir, combine)
    assert (term.low, term.high) == (low, high)
    bound = bound_of(term)
    assert bound is not None and bound.high == 4


def test_equal_reductions_of_one_operation_are_equal_terms(ttir: Text) -> None:
    assert reduced(ttir, "arith.maxsi %a, %b : i32") is reduced(
        ttir, "arith.maxsi %a, %b : i32"
    )
    assert reduced(ttir, "arith.maxsi %a, %b : i32") is not reduced(
        ttir, "arith.minsi %a, %b : i32"
    )


def test_a_scan_knows_its_place(ttir: Text) -> None:
    term = reduced(ttir, "arith.addi %a, %b : i32", "scan")
    assert term.args[0] == "scan" and "lane0" in repr(term)


def test_a_product_multiplies_rows_and_columns(ttir: Text) -> None:
    body = (
        "%c = arith.constant dense<1.0> : tensor<4x8xf32>\n"
        "%t = tt.trans %c {order = array<i32: 1, 0>} : tensor<4x8xf32> -> tensor<8x4xf32>\n"
        "%z = arith.constant dense<0.0> : tensor<4x4xf32>\n"
        "%d = tt.dot %c, %t, %z, inputPrecision = tf32 : tensor<4x8xf32> * tensor<8x4xf32> -> tensor<4x4xf32>\n"
        "%q = tt.splat %y : !tt.ptr<f32> -> tensor<4x4x!tt.ptr<f32>>\n"
        "tt.store %q, %d : tensor<4x4x!tt.ptr<f32>>"
    )
    program = evaluate(read_module(ttir(body)))
    value = program.accesses[-1].value
    assert value is not None
    bound = bound_of(value.term())
    assert bound is not None and bound.high == 7


def test_a_region_of_another_form_has_no_meaning(ttir: Text) -> None:
    body = (
        INTEGERS + '%s = "tt.reduce"(%r) <{axis = 0 : i32}> ({\n^bb0(%a: i32):\n'
        "  tt.reduce.return %a : i32\n}) : (tensor<5xi32>) -> i32"
    )
    program = evaluate(read_module(ttir(body)))
    assert "another form" in program.unsupported[0].construct
