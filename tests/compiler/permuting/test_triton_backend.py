"""The Triton kernel in the interpreter; on a GPU where there is one."""

import pytest
import torch

from compiler import permute
from compiler.permutations import bit_reversal, from_columns
from compiler.permuting import triton_backend
from compiler.permuting.index_map import IndexMap
from compiler.permuting.triton_backend import run_triton

CYCLE = IndexMap((2, 4, 8, 16, 1), offset=5)


@pytest.mark.parametrize(
    "dtype", [torch.int8, torch.float16, torch.float32, torch.int64, torch.complex128]
)
def test_interpreted(dtype: torch.dtype) -> None:
    source = torch.arange(96).to(dtype)
    target = torch.full_like(source, 77)
    run_triton(source, target, CYCLE, interpret=True)
    places = torch.tensor([CYCLE(i) for i in range(32)])
    assert torch.equal(target.view(3, 32)[:, places], source.view(3, 32))


def test_more_programs_than_a_grid_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches are cut into several launches."""
    monkeypatch.setattr(triton_backend, "_MAX_GRID", 3)
    source = torch.arange(7 * 32)
    target = torch.zeros_like(source)
    run_triton(source, target, CYCLE, interpret=True)
    places = torch.tensor([CYCLE(i) for i in range(32)])
    assert torch.equal(target.view(7, 32)[:, places], source.view(7, 32))


def test_int64_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    """What maps of more than 31 bits use, on a map that fits this machine."""
    monkeypatch.setitem(triton_backend._INTEGERS, 32, torch.int64)
    triton_backend._device_table.cache_clear()
    source = torch.arange(1 << 14, dtype=torch.int16)
    target = torch.zeros_like(source)
    map = IndexMap(tuple(1 << i for i in reversed(range(14))))
    run_triton(source, target, map, interpret=True)
    triton_backend._device_table.cache_clear()
    assert torch.equal(target, permute(source, bit_reversal(14)))


@pytest.mark.gpu
@pytest.mark.parametrize("bits", [1, 5, 12, 20])
def test_on_a_gpu(bits: int) -> None:
    layout = from_columns([1 << (i + 1) % bits for i in range(bits)])
    tensor = torch.arange(3 << bits)
    result = permute(tensor.cuda(), layout).cpu()
    assert torch.equal(result, permute(tensor, layout, backend="torch"))
