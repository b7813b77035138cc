"""The C++ kernels: blocks, widths, alignment, many threads."""

import pytest
import torch

from compiler.permuting.cpp_backend import load_kernels, run_cpp
from compiler.permuting.index_map import IndexMap
from compiler.permuting.torch_backend import run_torch


def rotated(bits: int, by: int, fixed: int = 0) -> IndexMap:
    moving = bits - fixed
    return IndexMap(
        (
            *(1 << i for i in range(fixed)),
            *(1 << (fixed + (i + by) % moving) for i in range(moving)),
        )
    )


def test_the_library_is_loaded_once() -> None:
    assert load_kernels() is load_kernels()


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("fixed", range(8))
def test_agrees_with_torch(fixed: int, threads: int) -> None:
    """Fixed low bits widen the element to 16 bytes, then to blocks."""
    map = rotated(17, 5, fixed)
    source = torch.randint(-100, 100, (3 << 17,), dtype=torch.int8)
    one, other = torch.zeros_like(source), torch.zeros_like(source)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        run_cpp(source, one, map)
    finally:
        torch.set_num_threads(before)
    run_torch(source, other, map)
    assert torch.equal(one, other)


@pytest.mark.parametrize("fixed", [0, 3, 7, 10])
def test_an_offset_agrees_with_torch(fixed: int) -> None:
    map = IndexMap(rotated(15, 4, fixed).columns, offset=0x5B5B >> fixed << fixed)
    source = torch.randint(-100, 100, (3 << 15,), dtype=torch.int8)
    one, other = torch.zeros_like(source), torch.zeros_like(source)
    run_cpp(source, one, map)
    run_torch(source, other, map)
    assert torch.equal(one, other)


@pytest.mark.parametrize("offset", [1, 2, 4, 8])
def test_elements_widen_only_as_far_as_both_addresses_allow(offset: int) -> None:
    map = rotated(10, 3, 5)
    base = torch.arange(1100, dtype=torch.int16)
    source = base.view(torch.int8)[offset : offset + 1024]
    aligned, shifted = torch.zeros(1024, dtype=torch.int8), torch.zeros(1200)
    target = shifted.view(torch.int8)[offset : offset + 1024]
    run_cpp(source.clone(), aligned, map)
    run_cpp(source, target, map)
    assert torch.equal(aligned, target)


def test_a_copy_of_everything() -> None:
    identity = IndexMap(tuple(1 << i for i in range(20)))
    source = torch.randn(1 << 20)
    target = torch.zeros_like(source)
    run_cpp(source, target, identity)
    assert torch.equal(source, target)
