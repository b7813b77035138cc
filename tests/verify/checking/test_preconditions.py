# ruff: noqa: E501 - operations stand on one line
from collections.abc import Callable

import triton
import triton.language as tl

from algebra.verdict import Refuted, Unknown
from verify.checking.arguments import Argument, Buffer, Scalar
from verify.checking.check import check
from verify.checking.memory_safety import bounds
from verify.checking.preconditions import (
    candidates,
    failing,
    is_possible,
    spelled,
    under,
    weakest,
)
from verify.checking.setting import Setting

Make = Callable[..., Setting]


def test_the_condition_that_a_missing_mask_needs(
    settings: Make, copy_text: str
) -> None:
    text = copy_text.replace("load %from, %mask", "load %from")
    one = settings(text)
    broken = failing(list(bounds(one)))
    found = weakest(one, broken)
    assert found is not None and spelled(found) == "n % 64 == 0"
    assert not failing(list(bounds(under(one, found))))
    assert is_possible(under(one, found))


def test_an_index_that_is_read_gets_a_range(
    settings: Make, ttir: Callable[..., str]
) -> None:
    text = ttir(
        "%pid = tt.get_program_id x : i32\n%q = tt.addptr %i, %pid : !tt.ptr<i32>, i32\n"
        "%k = tt.load %q : !tt.ptr<i32>\n%p = tt.addptr %x, %k : !tt.ptr<f32>, i32\n"
        "%v = tt.load %p : !tt.ptr<f32>\n%r = tt.addptr %y, %pid : !tt.ptr<f32>, i32\n"
        "tt.store %r, %v : !tt.ptr<f32>",
        "x: !tt.ptr<f32>, i: !tt.ptr<i32>, y: !tt.ptr<f32>, m: i32, n: i32",
    )
    args = {
        "x": Buffer("fp32", "m"),
        "i": Buffer("i32", "n"),
        "y": Buffer("fp32", "n"),
        "m": Scalar("i32", 1),
        "n": Scalar("i32", 1),
    }
    one = settings(text, args, grid=("n",))
    found = weakest(one, failing(list(bounds(one))))
    assert found is not None and spelled(found) == "0 <= i[:] < m"


def test_no_condition_is_made_up(settings: Make, copy_text: str) -> None:
    text = copy_text.replace("addptr %ys, %index", "addptr %ys, %far").replace(
        "%ys = ",
        "%b = arith.constant dense<1> : tensor<64xi32>\n"
        "%s = arith.addi %index, %ns : tensor<64xi32>\n"
        "%far = arith.addi %s, %b : tensor<64xi32>\n%ys = ",
    )
    one = settings(text)
    broken = failing(list(bounds(one)))
    assert broken and all(isinstance(f.verdict, Unknown) for f in broken)
    found = weakest(one, broken)
    assert found is None or not is_possible(under(one, found))
    assert list(candidates(one, broken))


@triton.jit  # type: ignore[untyped-decorator]
def split_sum(a, c, K, S, B: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    part = tl.program_id(0)
    total = tl.zeros((B,), tl.float32)
    for k in range(part * B, K, S * B):
        o = k + tl.arange(0, B)
        total += tl.load(a + o, mask=o < K, other=0.0)
    tl.store(c, tl.sum(total))


def test_a_condition_that_no_size_meets_is_none() -> None:
    args: dict[str, Argument] = {"a": Buffer("fp32", "K"), "c": Buffer("fp32", 1)}
    args |= {"K": Scalar("i32", 1, 2**20), "S": Scalar("i32", 1, 64)}
    report = check(split_sum, args, {"B": 128}, grid=("S",))
    assert isinstance(report["write_once"], Refuted)
    assert "% 128" not in (report.precondition or "")


@triton.jit  # type: ignore[untyped-decorator]
def rows(x, index, y, n, B: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    o = tl.arange(0, B)
    at = tl.load(index + tl.program_id(0)).to(tl.int64)
    row = tl.load(x + at * n + o, mask=o < n)
    tl.store(y + tl.program_id(0).to(tl.int64) * n + o, row, mask=o < n)


def test_an_index_is_within_the_extent_that_it_counts() -> None:
    args: dict[str, Argument] = {
        "x": Buffer("fp32", ("many", "n")),
        "index": Buffer("i32", "wanted"),
        "y": Buffer("fp32", ("wanted", "n")),
        "n": Scalar("i32", 1, 64),
        "many": Scalar("i32", 1),
        "wanted": Scalar("i32", 1),
    }
    report = check(rows, args, {"B": 64}, grid=("wanted",))
    assert isinstance(report["in_bounds"], Refuted)
    assert report.precondition == "0 <= index[:] < many"
