# ruff: noqa: E501 - operations stand on one line
from collections.abc import Callable

from algebra.verdict import Proved, Unknown
from verify.checking.poison import definedness, promises
from verify.checking.setting import Setting

Make = Callable[..., Setting]
SUM = """
%v = tt.load %from, %mask : tensor<64x!tt.ptr<f32>>
%s = "tt.reduce"(%v) <{axis = 0 : i32}> ({
^bb0(%a: f32, %b: f32):
  %c = arith.addf %a, %b : f32
  tt.reduce.return %c : f32
}) : (tensor<64xf32>) -> f32
%p = tt.addptr %y, %pid : !tt.ptr<f32>, i32
tt.store %p, %s : !tt.ptr<f32>
"""
DEFAULT = "%zero = arith.constant dense<0.0> : tensor<64xf32>\n" + SUM.replace(
    "%from, %mask", "%from, %mask, %zero"
)
LOOP = """
%z = arith.constant 0 : i32
%zero = arith.constant dense<0.0> : tensor<64xf32>
%t = scf.for %i = %z to %n step %block iter_args(%acc = %zero) -> (tensor<64xf32>) : i32 {
  %v = tt.load %from, %mask : tensor<64x!tt.ptr<f32>>
  %w = arith.addf %acc, %v : tensor<64xf32>
  scf.yield %w : tensor<64xf32>
}
tt.store %to, %t, %mask : tensor<64x!tt.ptr<f32>>
"""


def proved(findings: object) -> bool:
    return all(isinstance(f.verdict, Proved) for f in findings)  # type: ignore[attr-defined]


def test_lanes_that_are_stored_are_defined(settings: Make, copy_text: str) -> None:
    assert proved(definedness(settings(copy_text)))
    bad = copy_text.replace("tt.store %to, %value, %mask", "tt.store %to, %value")
    assert not proved(definedness(settings(bad)))


def test_a_sum_of_masked_lanes_needs_a_default(
    settings: Make, ttir: Callable[..., str], block: str
) -> None:
    assert not proved(definedness(settings(ttir(block + SUM))))
    assert proved(definedness(settings(ttir(block + DEFAULT))))


def test_a_loop_passes_poison_on_lane_by_lane(
    settings: Make, ttir: Callable[..., str], block: str
) -> None:
    assert proved(definedness(settings(ttir(block + LOOP))))
    bad = LOOP.replace("tt.store %to, %t, %mask", "tt.store %to, %t")
    assert not proved(definedness(settings(ttir(block + bad))))


def test_promises_are_asked(settings: Make, ttir: Callable[..., str]) -> None:
    body = "%z = arith.constant 5 : i32\n%c = arith.cmpi sgt, %n, %z : i32\nllvm.intr.assume %c : i1"
    (finding,) = promises(settings(ttir(body)))
    assert isinstance(finding.verdict, Unknown)
    assert proved(promises(settings(ttir(body), assume=("n > 6",))))
