# ruff: noqa: E501 - operations stand on one line
from collections.abc import Callable

import pytest

from verify.mlir import read_module
from verify.symbolic.terms import constant, symbol
from verify.symbolic.walk import value_at
from verify.ttir import Program, evaluate
from verify.ttir.loops import trips_of

Text = Callable[..., str]
START = "%z = arith.constant 0 : i32\n%c = arith.constant 64 : i32\n%f = arith.constant 0.0 : f32\n"


def program(ttir: Text, body: str) -> Program:
    found = evaluate(read_module(ttir(START + body)))
    assert not found.unsupported
    return found


def test_a_pointer_that_is_moved_has_a_closed_form(ttir: Text) -> None:
    found = program(
        ttir,
        "%p:2 = scf.for %i = %z to %n step %c iter_args(%q = %y, %s = %f) -> (!tt.ptr<f32>, f32) : i32 {\n"
        "  %v = tt.load %q : !tt.ptr<f32>\n"
        "  %t = arith.addf %s, %v : f32\n"
        "  %r = tt.addptr %q, %c : !tt.ptr<f32>, i32\n"
        "  scf.yield %r, %t : !tt.ptr<f32>, f32\n"
        "}\n"
        "tt.store %p#0, %p#1 : !tt.ptr<f32>",
    )
    load, store = found.accesses
    assert repr(load.pointer) == "y + 64 * iteration0"
    assert repr(load.guard) == "64 * iteration0 < n" and len(load.loops) == 1
    end = store.pointer.args[1]
    for n, offset in ((0, 0), (1, 64), (64, 64), (65, 128)):
        assert value_at(end, {found.scalars["n"]: n}) == offset
    ((number, index),) = found.loops
    assert index == 1 and found.loops[number, index].carried.term().args[0] == "addf"


def test_a_counter_that_two_steps_move_is_not_guessed(ttir: Text) -> None:
    found = program(
        ttir,
        "%p = scf.for %i = %z to %n step %c iter_args(%q = %z) -> (i32) : i32 {\n"
        "  %r = arith.addi %q, %i : i32\n"
        "  scf.yield %r : i32\n"
        "}\n"
        "%a = tt.addptr %y, %p : !tt.ptr<f32>, i32\n"
        "tt.store %a, %f : !tt.ptr<f32>",
    )
    assert "opaque(loop" in repr(found.accesses[0].pointer)


def test_ranges_are_kept_where_the_body_keeps_them(ttir: Text) -> None:
    found = program(
        ttir,
        "%p = scf.for %i = %z to %n step %c iter_args(%q = %c) -> (i32) : i32 {\n"
        "  %l = arith.cmpi slt, %i, %c : i32\n"
        "  %r = arith.select %l, %z, %q : i32\n"
        "  scf.yield %r : i32\n"
        "}\n"
        "%a = tt.addptr %y, %p : !tt.ptr<f32>, i32\n"
        "tt.store %a, %f : !tt.ptr<f32>",
    )
    offset = found.accesses[0].pointer.args[1]
    assert offset.high == 64 and offset.low is not None


def test_nested_loops_know_each_other(ttir: Text) -> None:
    found = program(
        ttir,
        "scf.for %i = %z to %n step %c : i32 {\n"
        "  scf.for %j = %z to %i step %c : i32 {\n"
        "    %k = arith.addi %i, %j : i32\n"
        "    %a = tt.addptr %y, %k : !tt.ptr<f32>, i32\n"
        "    tt.store %a, %f : !tt.ptr<f32>\n"
        "  }\n"
        "}",
    )
    (store,) = found.accesses
    assert len(store.loops) == 2
    assert (
        repr(store.guard) == "64 * iteration0 < n and 64 * iteration1 < 64 * iteration0"
    )


@pytest.mark.parametrize(
    ("start", "stop", "step"), [(0, 7, 2), (3, 3, 1), (5, 2, 1), (0, 8, 4)]
)
def test_trips(start: int, stop: int, step: int) -> None:
    a, b, c = symbol("a"), symbol("b"), symbol("c", 1)
    values = {a: start, b: stop, c: step}
    assert value_at(trips_of(a, b, c), values) == len(range(start, stop, step))
    assert trips_of(constant(0), constant(8), constant(4)) is constant(2)
