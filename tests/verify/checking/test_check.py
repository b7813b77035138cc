from pathlib import Path

import pytest
import triton
import triton.language as tl

from algebra.errors import ArgumentError, ParseError
from algebra.verdict import Proved, Refuted, Unknown
from verify import Buffer, Scalar, check
from verify.checking.arguments import Argument
from verify.checking.check import divisibility, signature_of
from verify.mlir import read_module

GRID = ("cdiv(n, B)",)
ARGS: dict[str, Argument] = {
    "x": Buffer("fp32", "n"),
    "y": Buffer("fp32", "n", writes=True),
    "n": Scalar("i32"),
}


@triton.jit  # type: ignore[untyped-decorator]
def scale(x, y, n, B: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    o = tl.program_id(0) * B + tl.arange(0, B)
    m = o < n
    tl.store(y + o, tl.load(x + o, mask=m) * 2, mask=m)


@triton.jit  # type: ignore[untyped-decorator]
def unmasked(x, y, n, B: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    o = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + o, tl.load(x + o) * 2)


@triton.jit  # type: ignore[untyped-decorator]
def transpose(x, y, M, N, B: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    m = tl.program_id(0) * B + tl.arange(0, B)
    n = tl.program_id(1) * B + tl.arange(0, B)
    mask = (m[:, None] < M) & (n[None, :] < N)
    v = tl.load(x + m[:, None] * N + n[None, :], mask=mask)
    tl.store(y + n[None, :] * M + m[:, None], v, mask=mask)


def test_a_good_kernel_is_proved() -> None:
    report = check(scale, ARGS, {"B": 64}, GRID)
    assert isinstance(report.verdict, Proved) and report.precondition is None
    assert report.seconds > 0 and report.questions > 0


def test_a_missing_mask_is_refuted_with_a_launch_and_a_condition() -> None:
    report = check(unmasked, ARGS, {"B": 64}, GRID)
    assert isinstance(report["in_bounds"], Refuted)
    assert report.precondition == "n % 64 == 0"
    good = check(unmasked, ARGS, {"B": 64}, GRID, assume="n % 64 == 0")
    assert isinstance(good.verdict, Proved)


def test_a_bounded_product_is_found() -> None:
    args: dict[str, Argument] = {
        "x": Buffer("fp32", ("M", "N")),
        "y": Buffer("fp32", ("N", "M"), writes=True),
        "M": Scalar("i32", 1, 2**31 - 65),
        "N": Scalar("i32", 1, 2**31 - 65),
    }
    grid = ("cdiv(M, B)", "cdiv(N, B)")
    report = check(transpose, args, {"B": 64}, grid)
    assert isinstance(report["no_wrap"], Refuted)
    assert isinstance(report["in_bounds"], Proved)
    assert report.precondition == "M*N < 2**31"
    assert isinstance(
        check(transpose, args, {"B": 64}, grid, "M*N < 2**31").verdict, Proved
    )


def test_files_and_texts(tmp_path: Path, copy_text: str) -> None:
    path = tmp_path / "k.ttir"
    path.write_text(copy_text)
    for kernel in (path, str(path), copy_text):
        report = check(kernel, ARGS, grid=("cdiv(n, 64)",))
        assert isinstance(report.verdict, Proved), report


def test_nothing_is_proved_where_nothing_is_stored(copy_text: str) -> None:
    empty = check(copy_text, ARGS, grid=("cdiv(n, 64)",), assume="n == 0")
    assert isinstance(empty.verdict, Unknown)
    contradiction = check(copy_text, ARGS, grid=("cdiv(n, 64)",), assume="n < n")
    assert isinstance(contradiction.verdict, Unknown)


def test_an_unsupported_construct_is_no_pass(copy_text: str) -> None:
    text = copy_text.replace("tt.return", "%z = tt.nonsense %n : i32\n  tt.return")
    report = check(text, ARGS, grid=("cdiv(n, 64)",))
    assert (
        isinstance(report.verdict, Unknown) and "tt.nonsense" in report.verdict.reason
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"args": {"x": ARGS["x"]}}, "'y'"),
        ({"args": {**ARGS, "n": Buffer("fp32", 1)}}, "cannot be compiled"),
        ({"grid": ("K",)}, "'K' is not known"),
        ({"grid": (1, 1, 1, 1)}, "at most 3"),
        ({"assume": "n + 1"}, "write a comparison"),
        ({"kernel": "/nowhere.ttir"}, "No such file"),
        ({"kernel": 3}, "@triton.jit function"),
    ],
)
def test_bad_input_is_an_error(change: dict[str, object], said: str) -> None:
    given = {"kernel": scale, "args": ARGS, "constexprs": {"B": 64}, "grid": GRID}
    with pytest.raises(ArgumentError) as caught:
        check(**{**given, **change})
    assert said in str(caught.value)


def test_a_malformed_text_is_an_error_that_names_the_line() -> None:
    with pytest.raises(ParseError, match="line 2"):
        check("module {\n  oops\n}", {})


def test_launchers_promises_are_assumptions(copy_text: str) -> None:
    text = copy_text.replace("%n: i32", "%n: i32 {tt.divisibility = 16 : i32}")
    function = read_module(text).functions["k"]
    assert divisibility(function, ARGS) == ["n % 16 == 0"]
    assert "n % 16 == 0" in check(text, ARGS, grid=("cdiv(n, 64)",)).assumptions
    assert signature_of(ARGS["x"]) == "*fp32" and signature_of(ARGS["n"]) == "i32"
