from collections.abc import Callable

import pytest
import torch
import triton
import triton.language as tl

from algebra.verdict import Proved, Refuted, Unknown
from verify import Buffer, Scalar, check
from verify.checking.equality import coordinates_of
from verify.checking.races import places
from verify.checking.setting import Setting

ARGS: dict[str, Buffer | Scalar] = {
    "x": Buffer("fp32", ("M", "N")),
    "y": Buffer("fp32", ("M", "N"), writes=True),
    "M": Scalar("i32", 1),
    "N": Scalar("i32", 1),
}


@triton.jit  # type: ignore[untyped-decorator]
def softmax(x, y, N, B: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    o = tl.program_id(0).to(tl.int64) * N + tl.arange(0, B)
    m = tl.arange(0, B) < N
    v = tl.load(x + o, mask=m, other=float("-inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(y + o, e / tl.sum(e, 0), mask=m)


@triton.jit  # type: ignore[untyped-decorator]
def total(x, y, N, B: tl.constexpr, OTHER: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    o = tl.program_id(0).to(tl.int64) * N + tl.arange(0, B)
    v = tl.load(x + o, mask=tl.arange(0, B) < N, other=OTHER)
    tl.store(y + tl.program_id(0), tl.sum(v, 0))


def test_a_softmax_is_a_softmax() -> None:
    report = check(
        softmax, ARGS, {"B": 256}, ("M",), "N <= 256", lambda x: torch.softmax(x, -1)
    )
    assert isinstance(report.verdict, Proved), report


@pytest.mark.parametrize(("other", "verdict"), [(0.0, Proved), (1.0, Refuted)])
def test_a_default_has_to_be_neutral(other: float, verdict: type) -> None:
    args = {**ARGS, "y": Buffer("fp32", "M", writes=True)}
    constants = {"B": 256, "OTHER": other}
    report = check(total, args, constants, ("M",), "N <= 256", lambda x: x.sum(1))
    assert isinstance(report["reference"], verdict), report


def test_without_the_bound_lanes_are_missing() -> None:
    args = {**ARGS, "y": Buffer("fp32", "M", writes=True)}
    constants = {"B": 256, "OTHER": 0.0}
    report = check(total, args, constants, ("M",), (), lambda x: x.sum(1))
    assert not isinstance(report["reference"], Proved)


def test_what_is_not_traced_stays_open() -> None:
    report = check(
        softmax, ARGS, {"B": 256}, ("M",), "N <= 256",
        lambda x: torch.nn.functional.softmax(x.cumsum(1) - x.cumsum(1) + x, -1),
    )  # fmt: skip
    assert isinstance(report["reference"], Unknown)


def test_coordinates(settings: Callable[..., Setting], copy_text: str) -> None:
    setting = settings(copy_text)
    place = places(setting)[1]
    assert coordinates_of(setting, place, setting.memories["y"]) == (place.offset,)
