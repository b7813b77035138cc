import pytest
import torch
import triton
import triton.language as tl

from algebra.verdict import Proved
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
