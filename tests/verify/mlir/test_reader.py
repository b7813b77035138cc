# ruff: noqa: E501 - the text is as Triton prints it
import subprocess
import sys
from pathlib import Path

import pytest

from algebra.errors import ParseError
from verify.mlir import operations_of, read_module

TEXT = """
#loc = loc("k.py":1:0)
#blocked = #ttg.blocked<{sizePerThread = [1], order = [0]}>
module attributes {"ttg.num-warps" = 4 : i32} {
  tt.func public @k(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32} loc("x"(#loc)), %n: i32) attributes {noinline = false} {
    %c = arith.constant dense<0.000000e+00> : tensor<64xf32>
    %z = arith.constant 0 : i32
    %t = arith.cmpi slt, %z, %n : i32
    cf.cond_br %t, ^bb1, ^bb2(%n : i32)
  ^bb1:  // pred: ^bb0
    tt.return
  ^bb2(%m: i32 loc(unknown)):
    %r:2 = scf.for %i = %z to %m step %n iter_args(%a = %c, %b = %z) -> (tensor<64xf32>, i32)  : i32 {
      %s = "tt.reduce"(%a) <{axis = 0 : i32}> ({
      ^bb0(%p: f32, %q: f32):
        %u = arith.addf %p, %q : f32
        tt.reduce.return %u : f32
      }) : (tensor<64xf32>) -> f32
      scf.yield %a, %b : tensor<64xf32>, i32
    } loc(callsite(#loc at #loc2))
    %w = scf.while (%v = %z) : (i32) -> i32 {
      scf.condition(%t) %v : i32
    } do {
    ^bb0(%v: i32):
      scf.yield %v : i32
    }
    %old = tt.atomic_rmw fadd, acq_rel, gpu, %x, %s, %t : (!tt.ptr<f32>, f32, i1) -> f32
    %e = arith.extsi %n : i32 to i64
    %d = tt.dot %c, %c, %c, inputPrecision = tf32 : tensor<64xf32> * tensor<64xf32> -> tensor<64xf32>
    tt.return
  }
}
#loc2 = loc("user.py":9:4)
"""


def test_a_module_of_all_forms() -> None:
    module = read_module(TEXT)
    assert module.attributes["ttg.num-warps"] == 4
    assert "blocked" in module.aliases["#blocked"]
    function = module.functions["k"]
    assert function.public and function.arguments[0].attributes["tt.divisibility"] == 16
    by_name = {o.name: o for o in operations_of(function.body)}
    loop = by_name["scf.for"]
    assert loop.results == ("%r#0", "%r#1")
    assert loop.operands == ("%z", "%m", "%n", "%c", "%z")
    assert loop.bindings[1:] == (("%a", "%c"), ("%b", "%z"))
    assert module.source_of(loop) == "k.py:1:0"
    assert by_name["tt.reduce"].attributes == {"axis": 0}
    assert [s.block for s in by_name["cf.cond_br"].successors] == ["^bb1", "^bb2"]
    assert by_name["cf.cond_br"].successors[1].operands == ("%n",)
    assert by_name["tt.atomic_rmw"].words == ("fadd", "acq_rel", "gpu")
    assert str(by_name["arith.extsi"].result_type()) == "i64"
    assert by_name["tt.dot"].attributes["inputPrecision"] == "tf32"
    assert len(by_name["tt.dot"].types) == 2
    assert str(by_name["tt.dot"].result_type()) == "tensor<64xf32>"
    assert len(by_name["scf.while"].regions) == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "at least one tt.func"),
        ("module {", "expected '}'"),
        ("module {\n  nonsense\n}", "line 2"),
        ("tt.func @f() {\n  tt.store %a\n", "region of line 1"),
        ("tt.func @f() {\n  = 1\n}", "the name of an operation"),
        ("tt.func @f() {\n  %a = arith.addi %b, : \n}", "arith.addi"),
        ("tt.func @f() {\n  %a = tt.load (%b : i32\n}", "tt.load"),
        ("tt.func f() {}", "the name of the function"),
        ("tt.func @f() {\n}\ntt.func @f() {\n}", "each function once"),
        ("tt.func @f(%a) {\n}", "line 1"),
    ],
)
def test_a_malformed_text_is_an_error_that_names_the_line(text: str, said: str) -> None:
    with pytest.raises(ParseError) as caught:
        read_module(text)
    assert said in str(caught.value)
    assert "line " in str(caught.value)


def test_cutting_a_text_anywhere_gives_an_error_or_a_module() -> None:
    for end in range(0, len(TEXT), 37):
        try:
            read_module(TEXT[:end])
        except ParseError as error:
            assert "line " in str(error)


CHILD = """
import triton, triton.language as tl
from compiler.triton_api import ttir_text
from tests_kernel import k
print(ttir_text(k, {'x': '*fp32', 'y': '*fp32', 'n': 'i32'}, {'B': 64}))
"""
KERNEL = """
import triton, triton.language as tl
@triton.jit
def k(x, y, n, B: tl.constexpr):
    total = 0.0
    for start in range(0, n, B):
        o = start + tl.arange(0, B)
        total += tl.sum(tl.load(x + o, mask=o < n, other=0.0))
    tl.store(y, total)
"""


@pytest.mark.slow
@pytest.mark.parametrize("release", ["3.6.0", "3.8.0", "3.9.0"])
def test_other_releases_print_what_is_read(
    release: str, tmp_path: Path, repository: Path
) -> None:
    wheel = repository.parent / ".oracle" / release
    if not wheel.is_dir():
        pytest.skip(f"no triton {release} beside the checkout")
    (tmp_path / "tests_kernel.py").write_text(KERNEL)
    answer = subprocess.run(
        [sys.executable, "-c", CHILD],
        env={"PYTHONPATH": f"{wheel}:{repository}:{tmp_path}", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    names = {
        o.name for o in operations_of(read_module(answer.stdout).functions["k"].body)
    }
    assert {"scf.for", "tt.reduce", "tt.load", "tt.store"} <= names
