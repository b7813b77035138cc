"""The one door to what Triton keeps to itself."""

import pytest
import torch
import triton
import triton.language as tl

from compiler.triton_api import compile_kernel, interpreted, reinterpret


@triton.jit  # type: ignore[misc,untyped-decorator,unused-ignore]  # triton has no types
def double(x, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    places = x + tl.arange(0, BLOCK)
    tl.store(places, tl.load(places) * 2)


def test_interpreted_runs_on_the_cpu() -> None:
    x = torch.arange(8)
    interpreted(double)[(1,)](x, BLOCK=8)
    assert x.tolist() == [0, 2, 4, 6, 8, 10, 12, 14]


@pytest.mark.parametrize("element_bytes", [1, 2, 4, 8])
def test_reinterpret_changes_the_element(element_bytes: int) -> None:
    x = torch.arange(16, dtype=torch.uint8)
    view = reinterpret(x, element_bytes)
    assert view.dtype.primitive_bitwidth == 8 * element_bytes
    assert view.data_ptr() == x.data_ptr()


def test_compile_needs_no_gpu() -> None:
    kernel = compile_kernel(double, {"x": "*fp32"}, {"BLOCK": 64}, aligned=("x",))
    assert ".target sm_90" in kernel.asm["ptx"]
