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
