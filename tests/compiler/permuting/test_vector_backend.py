"""What the vector kernels take, and leave to others; on a GPU they run."""

import pytest
import torch

from compiler import permutations, permute
from compiler.permuting import vector_backend
from compiler.permuting.index_map import IndexMap
from compiler.permuting.pointwise import Pointwise
from compiler.permuting.vector_backend import run_fused, run_vectors

REVERSAL = permutations.bit_reversal(16)


def test_what_is_left_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    tensor, map = torch.zeros(1 << 16), IndexMap.from_layout(REVERSAL)
    assert not run_vectors(tensor, tensor, IndexMap(()), 4, 1 << 16)
    monkeypatch.setattr(vector_backend, "_has_asynchronous_copies", lambda _: False)
    assert not run_vectors(tensor, torch.zeros_like(tensor), map, 4, 1)
    work = Pointwise(torch.float16)
    half = torch.zeros(1 << 16, dtype=torch.float16)
    assert not run_fused(tensor, half, map, work)
    monkeypatch.setattr(vector_backend, "_has_asynchronous_copies", lambda _: True)
    assert not run_vectors(tensor[1:], tensor, map, 4, 1)
    assert not run_fused(tensor.double(), half, map, work)
    small = IndexMap((2, 1))
    assert not run_vectors(tensor, torch.zeros_like(tensor), small, 4, 1 << 14)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.int8, torch.float16, torch.float32])
def test_on_a_gpu(dtype: torch.dtype) -> None:
    tensor = torch.arange(3 << 16).to(dtype)
    result = permute(tensor.cuda(), REVERSAL).cpu()
    assert torch.equal(result, permute(tensor, REVERSAL, backend="torch"))


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.int8, torch.float16, torch.float8_e4m3fn])
def test_fused_on_a_gpu(dtype: torch.dtype) -> None:
    tensor, bias = torch.randn(1 << 20), torch.randn(64)
    work = Pointwise(dtype, scale=0.5, bias=bias, first_bit=10)
    layout = permutations.nchw_to_nhwc(64, 32, 32)
    result = permute(tensor.cuda(), layout, pointwise=work).cpu()
    expected = permute(tensor, layout, pointwise=work)
    assert torch.equal(result.view(torch.uint8), expected.view(torch.uint8))


@pytest.mark.gpu
def test_large_tensors_choose_an_order_by_measurement() -> None:
    tensor = torch.randint(0, 255, (1 << 28,), dtype=torch.uint8, device="cuda")
    layout = permutations.bit_reversal(28)
    back = permute(permute(tensor, layout), layout)
    assert torch.equal(back, tensor) and vector_backend._measured
