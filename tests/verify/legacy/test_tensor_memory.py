from collections.abc import Callable

import pytest

from algebra.encodings import ScaleSmemForTmemCopy, TensorMemory, TensorMemoryScales
from verify.legacy.tensor_memory import tensor_memory, tensor_memory_scales


@pytest.mark.parametrize("block_m", [64, 128])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("shape", [[128, 32], [256, 64], [128, 8]])
def test_every_position(
    simulate: Callable[..., int], block_m: int, stride: int, shape: list[int]
) -> None:
    encoding = TensorMemory(block_m=block_m, block_n=16, col_stride=stride)
    assert simulate(encoding, shape) > 0


def test_half_a_memory(simulate: Callable[..., int]) -> None:
    encoding = TensorMemory(block_m=64, block_n=16)
    assert simulate(encoding, [64, 64]) == 128 * 32
    assert simulate(encoding, [64, 16]) == 128 * 16


def test_a_pair_shares_a_block() -> None:
    model = tensor_memory([64, 32], 64, 32, pair=True)
    assert model.position(0, 64, 0) == [0, 16]
    narrow = tensor_memory([64, 1], 64, 1, 2, pair=True)
    assert narrow.registers == 1


@pytest.mark.parametrize("order", ["mn_then_k", "k_then_mn"])
@pytest.mark.parametrize("shape", [[128, 4], [256, 16], [64, 8], [32, 2]])
def test_every_scale(
    simulate: Callable[..., int], order: str, shape: list[int]
) -> None:
    assert simulate(TensorMemoryScales(block_rep_order=order), shape) > 0


def test_scales_are_seen_by_each_warp() -> None:
    model = tensor_memory_scales([128, 4], True)
    assert {tuple(model.position(5, 32 * warp + 7, 0)) for warp in range(4)} == {
        (39, 1)
    }


def test_the_copy_from_shared_memory(simulate: Callable[..., int]) -> None:
    assert simulate(ScaleSmemForTmemCopy(), [256, 16]) == 4096
