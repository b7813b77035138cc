# ruff: noqa: E501 - operations stand on one line
from collections.abc import Callable

from verify.mlir import ScalarType, read_module
from verify.symbolic.terms import FALSE, conjoin, invert, truth_symbol
from verify.ttir import Program, evaluate
from verify.ttir.control import joined, merged
from verify.ttir.tensor import scalar

Text = Callable[..., str]
START = "%z = arith.constant 0 : i32\n%f = arith.constant 0.0 : f32\n%t = arith.cmpi slt, %z, %n : i32\n"


def program(ttir: Text, body: str) -> Program:
    return evaluate(read_module(ttir(START + body)))


def test_branches_guard_and_merge(ttir: Text) -> None:
    found = program(
        ttir,
        "%a = scf.if %t -> (i32) {\n  tt.store %x, %f : !tt.ptr<f32>\n"
        "  scf.yield %n : i32\n} else {\n  scf.yield %z : i32\n}\n"
        "%p = tt.addptr %y, %a : !tt.ptr<f32>, i32\ntt.store %p, %f : !tt.ptr<f32>",
    )
    first, second = found.accesses
    assert repr(first.guard) == "0 < n" and repr(second.guard) == "true"
    assert repr(second.pointer) == "y + (n if 0 < n else 0)"


def test_an_early_return_guards_the_rest(ttir: Text) -> None:
    found = program(
        ttir,
        "cf.cond_br %t, ^bb1, ^bb2(%n : i32)\n^bb1:\ntt.return\n^bb2(%m: i32):\n"
        "tt.store %y, %f : !tt.ptr<f32>\ncf.br ^bb3\n^bb3:\n"
        "tt.store %x, %f : !tt.ptr<f32>",
    )
    assert [repr(a.guard) for a in found.accesses] == ["n <= 0", "n <= 0"]


def test_a_branch_back_has_no_meaning(ttir: Text) -> None:
    found = program(ttir, "cf.br ^bb1\n^bb1:\ncf.br ^bb1\n^bb2:")
    assert "back to ^bb1" in found.unsupported[0].construct


def test_a_while_loop_ends_where_its_condition_fails(ttir: Text) -> None:
    found = program(
        ttir,
        "%w = scf.while (%i = %z) : (i32) -> i32 {\n"
        "  %l = arith.cmpi slt, %i, %n : i32\n  scf.condition(%l) %i : i32\n} do {\n"
        "^bb0(%i: i32):\n  tt.store %x, %f : !tt.ptr<f32>\n"
        "  %j = arith.addi %i, %n : i32\n  scf.yield %j : i32\n}\n"
        "tt.store %y, %f : !tt.ptr<f32>",
    )
    inside, after = found.accesses
    assert repr(inside.guard) == "iteration0 * n < n"
    assert repr(after.guard) == "n <= iterations0 * n"


def test_calls_are_followed(ttir: Text) -> None:
    text = ttir(START + "tt.call @g(%y, %n) : (!tt.ptr<f32>, i32) -> ()") + (
        "tt.func private @g(%p: !tt.ptr<f32>, %k: i32) {\n"
        "  %q = tt.addptr %p, %k : !tt.ptr<f32>, i32\n"
        "  %v = arith.constant 1.0 : f32\n  tt.store %q, %v : !tt.ptr<f32>\n"
        "  tt.return\n}\n"
    )
    found = evaluate(read_module(text))
    assert [repr(a.pointer) for a in found.accesses] == ["y + n"]
    lost = evaluate(read_module(text.replace("call @g", "call @h")))
    assert "no body" in lost.unsupported[0].construct


def test_conditions_that_meet_again_are_joined() -> None:
    p, q = truth_symbol("p"), truth_symbol("q")
    assert joined([conjoin(p, q), conjoin(p, invert(q))]) is p
    assert joined([]) is FALSE
    one = scalar(ScalarType("i1"), p)
    assert merged(q, one, one).at() is p  # type: ignore[union-attr]
