from collections.abc import Callable

import pytest

from verify.mlir import Dense, HexFloat, ScalarType, TensorType, read_module
from verify.symbolic.terms import FALSE, TRUE, constant
from verify.ttir import evaluate
from verify.ttir.elementwise import constant_term, elementwise_of

Text = Callable[..., str]


def stored(text: str) -> str:
    program = evaluate(read_module(text))
    assert not program.unsupported
    value = program.accesses[-1].value
    assert value is not None
    return repr(value.term())


def test_constants() -> None:
    assert constant_term(ScalarType("i1"), 1) is TRUE
    assert constant_term(ScalarType("i1"), False) is FALSE
    assert constant_term(ScalarType("i8"), 255) is constant(-1)
    one = constant_term(ScalarType("f32"), 1.0)
    assert one is constant_term(ScalarType("f32"), 1) and one.sort == "value"
    assert constant_term(ScalarType("f32"), HexFloat(5)) is not one
    assert constant_term(TensorType((2,), ScalarType("f32")), 1.0) is one


def test_floats_remember_how_they_were_made(ttir: Text, block: str) -> None:
    body = block + (
        "%v = tt.load %from, %mask : tensor<64x!tt.ptr<f32>>\n"
        "%w = math.exp %v : tensor<64xf32>\n"
        "%u = arith.addf %w, %v : tensor<64xf32>\n"
        "tt.store %to, %u, %mask : tensor<64x!tt.ptr<f32>>"
    )
    text = stored(ttir(body))
    assert "addf" in text and "exp" in text and "x[" in text


def test_select_and_listed_constants(ttir: Text) -> None:
    arguments = "y: !tt.ptr<i32>, n: i32"
    body = (
        "%c = arith.constant dense<[3, 5]> : tensor<2xi32>\n"
        "%r = tt.make_range {end = 2 : i32, start = 0 : i32} : tensor<2xi32>\n"
        "%s = arith.cmpi slt, %r, %c : tensor<2xi32>\n"
        "%t = arith.select %s, %c, %r : tensor<2xi1>, tensor<2xi32>\n"
        "%p = tt.splat %y : !tt.ptr<i32> -> tensor<2x!tt.ptr<i32>>\n"
        "%q = tt.addptr %p, %r : tensor<2x!tt.ptr<i32>>, tensor<2xi32>\n"
        "tt.store %q, %t : tensor<2x!tt.ptr<i32>>"
    )
    assert "3 if lane0 == 0 else 5" in stored(ttir(body, arguments))


@pytest.mark.parametrize("pure", ["true", "false"])
def test_inline_assembly_is_a_value_only_if_it_is_pure(
    ttir: Text, block: str, pure: str
) -> None:
    body = block + (
        '%w = tt.elementwise_inline_asm "mov.b32 $0, $1;" {constraints = "=r,r", '
        f"packed_element = 1 : i32, pure = {pure}}} %index : tensor<64xi32> -> "
        "tensor<64xi32>"
    )
    program = evaluate(read_module(ttir(body)))
    assert bool(program.unsupported) == (pure == "false")


def test_pointers_keep_their_offset_through_casts_of_one_width(ttir: Text) -> None:
    body = (
        "%p = tt.bitcast %y : !tt.ptr<f32> -> !tt.ptr<i32>\n"
        "tt.store %p, %n : !tt.ptr<i32>\n"
        "%q = tt.bitcast %y : !tt.ptr<f32> -> !tt.ptr<i8>\n"
        "%b = arith.trunci %n : i32 to i8\n"
        "tt.store %q, %b : !tt.ptr<i8>"
    )
    first, second = evaluate(read_module(ttir(body))).accesses
    assert repr(first.pointer) == "y + 0"
    assert "tt.bitcast" in repr(second.pointer)


def test_other_dialects_are_not_elementwise() -> None:
    assert elementwise_of("tt.load") is None
    assert Dense(1).type is None
