# ruff: noqa: E501 - operations stand on one line
from collections.abc import Callable

import numpy as np
import pytest

from verify.mlir import read_module
from verify.ttir import function_of
from verify.ttir.run import GuardedMemory, Launch, RunError, run_program

Text = Callable[..., str]
START = "%z = arith.constant 0 : i32\n%one = arith.constant 1 : i32\n%r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>\n"


def result(ttir: Text, body: str, n: int = 5) -> int:
    text = ttir(
        f"{START}{body}\ntt.store %y, %v : !tt.ptr<i32>", "y: !tt.ptr<i32>, n: i32"
    )
    module = read_module(text)
    memory = GuardedMemory({"y": 8}, lambda buffer, offsets: np.asarray(offsets))
    run_program(module, function_of(module, None), Launch({"n": n}, {}, {}, {}), memory)
    return int(memory.written["y"][0])


def test_loops_and_branches(ttir: Text) -> None:
    loop = (
        "%v = scf.for %i = %z to %n step %one iter_args(%a = %z) -> (i32) : i32 {\n"
        "  %b = arith.addi %a, %i : i32\n  scf.yield %b : i32\n}"
    )
    assert result(ttir, loop) == 10
    branch = (
        "%t = arith.cmpi slt, %n, %one : i32\n"
        "%v = scf.if %t -> (i32) {\n  scf.yield %one : i32\n} else {\n  scf.yield %n : i32\n}"
    )
    assert (result(ttir, branch, 0), result(ttir, branch, 7)) == (1, 7)
    wait = (
        "%v = scf.while (%i = %z) : (i32) -> i32 {\n  %l = arith.cmpi slt, %i, %n : i32\n"
        "  scf.condition(%l) %i : i32\n} do {\n^bb0(%i: i32):\n"
        "  %j = arith.addi %i, %one : i32\n  scf.yield %j : i32\n}"
    )
    assert result(ttir, wait) == 5


def test_reductions_and_scans(ttir: Text) -> None:
    body = (
        '%s = "tt.scan"(%r) <{axis = 0 : i32, reverse = false}> ({\n^bb0(%a: i32, %b: i32):\n'
        "  %c = arith.addi %a, %b : i32\n  tt.scan.return %c : i32\n}) : (tensor<8xi32>) -> tensor<8xi32>\n"
        '%v = "tt.reduce"(%s) <{axis = 0 : i32}> ({\n^bb0(%a: i32, %b: i32):\n'
        "  %c = arith.maxsi %a, %b : i32\n  tt.reduce.return %c : i32\n}) : (tensor<8xi32>) -> i32"
    )
    assert result(ttir, body) == 28


def test_products_and_histograms(ttir: Text) -> None:
    body = (
        "%a = arith.constant dense<2> : tensor<4x8xi32>\n%b = arith.constant dense<3> : tensor<8x4xi32>\n"
        "%c = arith.constant dense<1> : tensor<4x4xi32>\n"
        "%d = tt.dot %a, %b, %c : tensor<4x8xi32> * tensor<8x4xi32> -> tensor<4x4xi32>\n"
        "%h = tt.histogram %r : tensor<8xi32> -> tensor<4xi32>\n"
        '%u = "tt.reduce"(%h) <{axis = 0 : i32}> ({\n^bb0(%p: i32, %q: i32):\n'
        "  %w = arith.addi %p, %q : i32\n  tt.reduce.return %w : i32\n}) : (tensor<4xi32>) -> i32\n"
        "%e = tt.reshape %d : tensor<4x4xi32> -> tensor<16xi32>\n"
        '%f = "tt.reduce"(%e) <{axis = 0 : i32}> ({\n^bb0(%p: i32, %q: i32):\n'
        "  %w = arith.maxsi %p, %q : i32\n  tt.reduce.return %w : i32\n}) : (tensor<16xi32>) -> i32\n"
        "%v = arith.addi %u, %f : i32"
    )
    assert result(ttir, body) == 49 + 4


def test_a_loop_that_is_too_long_confirms_nothing(ttir: Text) -> None:
    loop = "scf.for %i = %z to %n step %one : i32 {\n  %b = arith.addi %i, %i : i32\n}\n%v = arith.addi %n, %n : i32"
    with pytest.raises(RunError, match="more than"):
        result(ttir, loop, 10**6)
    with pytest.raises(RunError, match="step 0"):
        result(ttir, loop.replace("step %one", "step %z"))
