from dataclasses import replace
from typing import Any

import pytest
import torch
import triton
import triton.language as tl

from algebra.verdict import Proved, Refuted, Unknown
from verify.checking.arguments import Buffer, Scalar
from verify.checking.check import check
from verify.launches import check_recorded, recorded


@triton.jit  # type: ignore[untyped-decorator]
def rows(x, y, stride, n, B: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    o = tl.arange(0, B)
    row = tl.program_id(0).to(tl.int64)
    v = tl.load(x + row * stride + o, mask=o < n, other=0.0)
    tl.store(y + row, tl.sum(v, 0))


def test_a_wrappers_kernel_is_proved_for_all_sizes() -> None:
    with recorded() as found:
        for r, c in ((6, 50), (10, 61)):
            x = torch.empty(r, c)
            rows[(r,)](x, torch.empty(r), x.stride(0), c, B=triton.next_power_of_2(c))
    report = check_recorded(*found)
    assert isinstance(report.verdict, Proved), report
    assert {"stride == n", "n <= 64"} <= set(report.assumptions)


@triton.jit
def unmasked(x, y):  # type: ignore[no-untyped-def]
    row = tl.program_id(0)
    tl.store(y + row, tl.load(x + row))


@triton.jit  # type: ignore[untyped-decorator]
def sums(x, y, n, B: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    o = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + tl.program_id(0), tl.sum(tl.load(x + o, mask=o < n, other=0.0)))


def test_a_grid_without_a_form_refutes_nothing() -> None:
    with recorded() as found:
        for size, programs in ((6, 5), (10, 3), (11, 7)):
            unmasked[(programs,)](torch.empty(size), torch.empty(size))
    verdict = check_recorded(*found)["in_bounds"]
    assert isinstance(verdict, Unknown) and "no form in the sizes" in verdict.reason
    with recorded() as found:
        for size in (100, 110):
            sums[(2,)](torch.empty(size), torch.empty(2), size, B=64)
    verdict = check_recorded(*found)["in_bounds"]
    assert isinstance(verdict, Unknown) and "one number in all" in verdict.reason
    with recorded() as found:
        for size in (6, 10, 11):
            unmasked[(size + 1,)](torch.empty(size), torch.empty(size))
    assert isinstance(check_recorded(*found)["in_bounds"], Refuted)


@pytest.mark.slow
def test_tritons_interpreter_breaks_what_is_refuted_and_nothing_else() -> None:
    interpreted = pytest.importorskip("benchmarks.ttir_interpreted")
    args: dict[str, Any] = {"x": Buffer("fp32", "n"), "y": Buffer("fp32", "n")}
    args["n"] = Scalar("i32", 1)
    verdict = check(unmasked, args, grid=("n + 1",))["in_bounds"]
    assert isinstance(verdict, Refuted)
    example = verdict.counterexample
    what: Any = (unmasked, args, {}, example, "in_bounds")
    found = interpreted.interpreted(*what)
    assert found.startswith("load of x[") and "outside of every buffer" in found
    harmless = replace(example, programs=[{"x": 0}])
    with pytest.raises(interpreted.NotRunError, match="did not break it"):
        interpreted.interpreted(unmasked, args, {}, harmless, "in_bounds")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["softmax_single", "swiglu", "layer_norm", "rope", "tvd_none", "jsd"]
)
def test_kernels_of_a_library_are_proved(name: str) -> None:
    pytest.importorskip("liger_kernel")
    from benchmarks.liger_launches import SIZES, cases, launches

    first, second = (launches(cases()[name], *size)[0] for size in SIZES)
    assert first and len(first) == len(second)
    for one, other in zip(first, second, strict=True):
        report = check_recorded(one, other)
        assert isinstance(report.verdict, Proved), report
