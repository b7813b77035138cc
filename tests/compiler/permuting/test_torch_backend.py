"""The path without kernels."""

import random
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
import torch

from compiler.permuting.index_map import IndexMap
from compiler.permuting.torch_backend import gather_index, run_torch


def test_gather_index_lists_the_map(
    random_map: Callable[[random.Random, int], IndexMap],
    images: Callable[[IndexMap], npt.NDArray[np.int64]],
) -> None:
    rng = random.Random(0)
    for bits in range(10):
        map = random_map(rng, bits)
        index = gather_index(map, torch.device("cpu"))
        assert (index.numpy() == images(map)).all()


@pytest.mark.parametrize(
    "dtype", [torch.int8, torch.bfloat16, torch.float32, torch.complex128]
)
def test_moves_elements_of_any_width(dtype: torch.dtype) -> None:
    source = torch.arange(16).to(dtype)
    target = torch.zeros_like(source)
    run_torch(source, target, IndexMap((4, 2, 1), offset=7))
    order = [7, 3, 5, 1, 6, 2, 4, 0]
    assert torch.equal(target.view(2, 8)[:, order], source.view(2, 8))


@pytest.mark.parametrize("start", range(1, 9))
def test_groups_may_begin_anywhere_in_their_storage(start: int) -> None:
    source = torch.arange(16 + start, dtype=torch.int8)[start:]
    target = torch.zeros_like(source)
    run_torch(source, target, IndexMap((1, 2, 4), offset=0))
    assert torch.equal(target, source)
