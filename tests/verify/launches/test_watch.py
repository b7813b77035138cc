import io

import torch
import triton
import triton.language as tl

from algebra.verdict import Proved, Refuted, Unknown
from verify import watch


@triton.jit  # type: ignore[untyped-decorator]
def good(x, y, n, B: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    o = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + o, tl.load(x + o, mask=o < n), mask=o < n)


@triton.jit  # type: ignore[untyped-decorator]
def bad(x, y, n, B: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    o = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + o, tl.load(x + o))


def launched(kernel: object, size: int) -> None:
    x = torch.empty(size)
    kernel[(triton.cdiv(size, 64),)](x, torch.empty(size), size, B=64)  # type: ignore[index]


def test_what_is_launched_at_two_sizes_is_checked_for_all() -> None:
    out = io.StringIO()
    with watch(launch=False, file=out) as seen:
        for size in (100, 1000):
            launched(good, size)
            launched(bad, size)
    assert [r.kernel for r in seen.reports] == ["good", "bad"]
    assert isinstance(seen.reports[0].verdict, Proved), seen.reports[0]
    assert (
        isinstance(seen.reports[1].verdict, Refuted)
        and seen.refuted == seen.reports[1:]
    )
    assert "right where n % 64 == 0" in out.getvalue()


def test_one_size_proves_nothing_but_can_refute() -> None:
    with watch(launch=False, file=io.StringIO()) as seen:
        launched(good, 100)
        launched(bad, 100)
    first, second = (r.verdict for r in seen.reports)
    assert first == Unknown("launched at one size only")
    assert isinstance(second, Refuted)
