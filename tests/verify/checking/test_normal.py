from typing import Any

import pytest
import torch
import triton
import triton.language as tl

from algebra.verdict import Proved, Refuted, Verdict
from verify import Buffer, Scalar, check
from verify.checking.check import text_of
from verify.checking.mutation import mutations
from verify.checking.normal import Normal, product_of
from verify.checking.reals import number, operation
from verify.symbolic.terms import VALUE, choose, opaque, truth_symbol

ARGS: dict[str, Buffer | Scalar] = {
    "x": Buffer("fp32", ("M", "N")),
    "y": Buffer("fp32", "M", writes=True),
    "M": Scalar("i32", 1),
    "N": Scalar("i32", 1),
}
WIDE = {**ARGS, "y": Buffer("fp32", ("M", "N"), writes=True)}
ASSUME = ("M*N < 2**31", "N < 2**30")


def verdict(
    kernel: Any, args: Any, constants: dict[str, Any], function: Any, grid: Any = "M"
) -> Verdict:
    report = check(kernel, args, constants, grid, ASSUME, function)
    return report["reference"]


@triton.jit  # type: ignore[untyped-decorator]
def row_sum(x, y, N, B: tl.constexpr, OTHER: tl.constexpr, SKIP: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    start = x + tl.program_id(0).to(tl.int64) * N
    total = tl.zeros([B], tl.float32)
    for k in range(SKIP, N, B):
        c = k + tl.arange(0, B)
        total += tl.load(start + c, mask=c < N, other=OTHER)
    tl.store(y + tl.program_id(0), tl.sum(total, 0))


@triton.jit  # type: ignore[untyped-decorator]
def row_max(x, y, N, B: tl.constexpr, LOW: tl.constexpr, MASKED: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    start = x + tl.program_id(0).to(tl.int64) * N
    top = tl.full([B], LOW, tl.float32)
    for k in range(0, tl.cdiv(N, B)):
        c = k * B + tl.arange(0, B)
        v = tl.load(start + c, mask=c < N, other=9.0)
        top = tl.where(c < N, tl.maximum(top, v), top) if MASKED else (
            tl.maximum(top, v)
        )  # fmt: skip
    tl.store(y + tl.program_id(0), tl.max(top, 0))


@triton.jit  # type: ignore[untyped-decorator]
def online_softmax(x, y, N, B: tl.constexpr, RESCALE: tl.constexpr, TWO: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    start = x + tl.program_id(0).to(tl.int64) * N
    m, d = float("-inf"), 0.0
    for k in range(0, N, B):
        c = k + tl.arange(0, B)
        v = tl.load(start + c, mask=c < N, other=float("-inf"))
        new = tl.maximum(m, tl.max(v, 0))
        scale = tl.exp(m - new)
        if TWO:
            scale = tl.exp2((m - new) * 1.4426950408889634)
        d = (d * scale if RESCALE else d) + tl.sum(tl.exp(v - new), 0)
        m = new
    for k in range(0, N, B):
        c = k + tl.arange(0, B)
        v = tl.load(start + c, mask=c < N, other=0.0)
        out = y + tl.program_id(0).to(tl.int64) * N + c
        tl.store(out, tl.exp(v - m) / d, mask=c < N)


@triton.jit  # type: ignore[untyped-decorator]
def layer_norm(x, w, y, N, eps, B: tl.constexpr, GUARD: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    c = tl.arange(0, B)
    o = tl.program_id(0).to(tl.int64) * N + c
    v = tl.load(x + o, mask=c < N, other=0.0).to(tl.float32)
    mean = tl.sum(v, 0) / N
    away = tl.where(c < N, v - mean, 0.0) if GUARD else v - mean
    scale = tl.rsqrt(tl.sum(away * away, 0) / N + eps)
    tl.store(y + o, (v - mean) * scale * tl.load(w + c, mask=c < N), mask=c < N)


@triton.jit  # type: ignore[untyped-decorator]
def matmul(a, b, c, N, K, B: tl.constexpr, OTHER: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    j = tl.program_id(1) * B + tl.arange(0, B).to(tl.int64)
    row = tl.program_id(0).to(tl.int64)
    total = tl.zeros([B], tl.float32)
    for k in range(0, K):
        v = tl.load(b + k * N.to(tl.int64) + j, mask=j < N, other=OTHER)
        total += tl.load(a + row * K + k) * v
    tl.store(c + row * N + j, total, mask=j < N)


@pytest.mark.parametrize(
    ("other", "skip", "wanted"),
    [(0.0, 0, Proved), (1.0, 0, Refuted), (0.0, 1, Refuted)],
)
def test_a_sum_over_blocks_is_the_sum_over_the_row(
    other: float, skip: int, wanted: type
) -> None:
    constants = {"B": 16, "OTHER": other, "SKIP": skip}
    found = verdict(row_sum, ARGS, constants, lambda x: x.sum(1))
    assert isinstance(found, wanted), found


@pytest.mark.parametrize(
    ("low", "masked", "wanted"),
    [
        (float("-inf"), True, Proved),
        (0.0, True, Refuted),
        (float("-inf"), False, Refuted),
    ],
)
def test_a_maximum_over_blocks_is_the_maximum_of_the_row(
    low: float, masked: bool, wanted: type
) -> None:
    constants = {"B": 16, "LOW": low, "MASKED": masked}
    found = verdict(row_max, ARGS, constants, lambda x: x.amax(1))
    assert isinstance(found, wanted), found


@pytest.mark.parametrize(
    ("rescale", "two", "wanted"),
    [(True, False, Proved), (True, True, Proved), (False, False, Refuted)],
)
def test_an_online_softmax_is_a_softmax(rescale: bool, two: bool, wanted: type) -> None:
    constants = {"B": 16, "RESCALE": rescale, "TWO": two}
    found = verdict(online_softmax, WIDE, constants, lambda x: torch.softmax(x, 1))
    assert isinstance(found, wanted), found


@pytest.mark.parametrize(("guard", "wanted"), [(True, Proved), (False, Refuted)])
def test_a_layer_norm_in_bfloat16(guard: bool, wanted: type) -> None:
    args = {
        "x": Buffer("bf16", ("M", "N")),
        "w": Buffer("fp32", "N"),
        "y": Buffer("bf16", ("M", "N"), writes=True),
        "M": Scalar("i32", 1),
        "N": Scalar("i32", 1, 64),
        "eps": Scalar("fp32"),
    }

    def reference(x: torch.Tensor, w: torch.Tensor, eps: Any) -> torch.Tensor:
        spread, mean = torch.var_mean(x, 1, correction=0, keepdim=True)
        return (x - mean) * torch.rsqrt(spread + eps) * w

    found = verdict(layer_norm, args, {"B": 64, "GUARD": guard}, reference)
    assert isinstance(found, wanted), found


@pytest.mark.parametrize("square", [True, False])
def test_a_matrix_product(square: bool) -> None:
    args = {
        "a": Buffer("fp32", ("M", "K")),
        "b": Buffer("fp32", ("K", "N")),
        "c": Buffer("fp32", ("M", "N"), writes=True),
        **{name: Scalar("i32", 1, 2**20) for name in "MNK"},
    }
    found = verdict(
        matmul, args, {"B": 16, "OTHER": 0.0},
        lambda a, b: a @ b if square else a @ b + 1, ("M", "cdiv(N, 16)"),
    )  # fmt: skip
    assert isinstance(found, Proved if square else Refuted), found


def test_a_value_without_a_law_stays_as_it_is() -> None:
    term = opaque(VALUE, "loop", (0, 0, number(0), number(0)))
    assert Normal({}).of(term) is term


def test_products_of_masked_values_are_masked() -> None:
    test, x = truth_symbol("t"), opaque(VALUE, "argument", ("x", "f32"))
    masked = choose(test, x, number(0))
    found = product_of(masked, x)
    assert found is choose(test, operation("mulf", x, x), number(0))


SUBJECTS: dict[str, tuple[Any, Any, dict[str, Any], Any]] = {
    "row_sum": (
        row_sum, ARGS, {"B": 16, "OTHER": 0.0, "SKIP": 0}, lambda x: x.sum(1)
    ),
    "online_softmax": (
        online_softmax, WIDE, {"B": 16, "RESCALE": True, "TWO": False},
        lambda x: torch.softmax(x, 1),
    ),
}  # fmt: skip
EQUIVALENT: dict[str, list[str]] = {
    "row_sum": [],
    "online_softmax": ["neutral element changed"],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SUBJECTS))
def test_no_mutant_equals_the_reference(name: str) -> None:
    kernel, args, constants, function = SUBJECTS[name]
    refuted, proved, others = 0, [], []
    for mutant in mutations(text_of(kernel, args, constants)):
        report = check(
            mutant.text, args, {}, "M", ASSUME, function, preconditions=False
        )
        if isinstance(report.verdict, Proved):
            proved.append(mutant)
        elif any(isinstance(v, Refuted) for v in report.verdicts.values()):
            refuted += 1
        else:
            others.append(mutant)
    # the default of what is not stored; and minus infinity scales by zero what is
    # there at first
    assert [m.kind for m in proved] == EQUIVALENT[name], proved
    assert {m.kind for m in others} <= {"neutral element changed"}, others
    assert refuted >= 10
