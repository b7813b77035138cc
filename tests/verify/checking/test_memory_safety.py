from collections.abc import Callable

import pytest

from algebra.verdict import Proved, Refuted, Unknown
from verify import Buffer, Scalar, check
from verify.checking.memory_safety import CANDIDATE, bounds, verdict_of, wraps
from verify.checking.setting import Setting

Make = Callable[..., Setting]


def test_answers_become_verdicts() -> None:
    assert isinstance(verdict_of(False, 1), Proved)
    assert verdict_of(None, 1) == Unknown("time-out after 1 s")
    assert verdict_of({}, 1) == Unknown(CANDIDATE)


def test_a_masked_copy_is_in_bounds_and_wraps_nowhere(
    settings: Make, copy_text: str
) -> None:
    one = settings(copy_text)
    assert all(isinstance(f.verdict, Proved) for f in (*bounds(one), *wraps(one)))
    assert len(list(bounds(one))) == 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("load %from, %mask", "load %from"),
        ("cmpi slt", "cmpi sle"),
        ("tt.addptr %xs, %index", "tt.addptr %xs, %ns"),
    ],
)
def test_a_fault_leaves_a_candidate(
    settings: Make, copy_text: str, old: str, new: str
) -> None:
    one = settings(copy_text.replace(old, new))
    assert any(f.verdict == Unknown(CANDIDATE) for f in bounds(one))


def test_a_wrap_in_a_mask_is_found(settings: Make, copy_text: str) -> None:
    wide = copy_text.replace("constant 64", "constant 100")
    one = settings(wide, grid=("cdiv(n, 100)",))
    assert any(f.verdict == Unknown(CANDIDATE) for f in wraps(one))


def test_a_pointer_from_nowhere_is_unknown(
    settings: Make, ttir: Callable[..., str]
) -> None:
    body = (
        "%p = tt.nonsense %n : i32 -> !tt.ptr<f32>\n%f = arith.constant 0.0 : f32\n"
        "tt.store %p, %f : !tt.ptr<f32>"
    )
    (finding,) = bounds(settings(ttir(body)))
    assert (
        isinstance(finding.verdict, Unknown) and "tt.nonsense" in finding.verdict.reason
    )


GATHER = """
tt.func public @pick(%i: !tt.ptr<i64>, %x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i32) {
  %c = arith.constant 64 : i32
  %p = tt.get_program_id x : i32
  %s = arith.muli %p, %c : i32
  %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
  %b = tt.splat %s : i32 -> tensor<64xi32>
  %o = arith.addi %b, %r : tensor<64xi32>
  %ns = tt.splat %n : i32 -> tensor<64xi32>
  %m = arith.cmpi slt, %o, %ns : tensor<64xi32>
  %is = tt.splat %i : !tt.ptr<i64> -> tensor<64x!tt.ptr<i64>>
  %ip = tt.addptr %is, %o : tensor<64x!tt.ptr<i64>>, tensor<64xi32>
  %j = tt.load %ip, %m : tensor<64x!tt.ptr<i64>>
  %zero = arith.constant dense<0> : tensor<64xi64>
  %top = arith.constant dense<100> : tensor<64xi64>
  %low = arith.cmpi sge, %j, %zero : tensor<64xi64>
  %high = arith.cmpi slt, %j, %top : tensor<64xi64>
  %in = arith.andi %low, %high : tensor<64xi1>
  %true = arith.constant dense<true> : tensor<64xi1>
  %off = arith.xori %m, %true : tensor<64xi1>
  %ok = arith.ori %in, %off : tensor<64xi1>
  tt.assert %ok, "index" : tensor<64xi1>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
  %xp = tt.addptr %xs, %j : tensor<64x!tt.ptr<f32>>, tensor<64xi64>
  %v = tt.load %xp, %m : tensor<64x!tt.ptr<f32>>
  %ys = tt.splat %y : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
  %yp = tt.addptr %ys, %o : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
  tt.store %yp, %v, %m : tensor<64x!tt.ptr<f32>>
  tt.return
}
"""
PICKED: dict[str, Buffer | Scalar] = {
    "i": Buffer("i64", "n"),
    "x": Buffer("fp32", 100),
    "y": Buffer("fp32", "n", writes=True),
    "n": Scalar("i32", 0, 2**30),
}


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("", "", Proved),
        ("dense<100>", "dense<101>", Refuted),
        ("sge, %j", "sge, %top", Refuted),
        ("%in, %off", "%in, %true", Refuted),
        ('  tt.assert %ok, "index" : tensor<64xi1>\n', "", Refuted),
    ],
)
def test_an_assertion_holds_for_what_comes_after_it(
    old: str, new: str, wanted: type
) -> None:
    text = GATHER.replace(old, new) if old else GATHER
    report = check(text, PICKED, grid=("cdiv(n, 64)",), preconditions=False)
    assert isinstance(report["in_bounds"], wanted), report
    if wanted is Proved:
        assert isinstance(report.verdict, Proved), report


def test_an_assertion_says_nothing_of_what_comes_before_it() -> None:
    claim = '  tt.assert %ok, "index" : tensor<64xi1>\n'
    text = GATHER.replace(claim, "").replace("  tt.return", claim + "  tt.return")
    report = check(text, PICKED, grid=("cdiv(n, 64)",), preconditions=False)
    assert isinstance(report["in_bounds"], Refuted), report
