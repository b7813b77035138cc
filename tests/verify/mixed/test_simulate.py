import torch

from compiler.mixed.tiling import Tiling
from verify.mixed import random_weight, simulate


def test_every_element_is_written() -> None:
    weight = random_weight("int8", 20, 64, 64)
    x = torch.zeros(5, 64, dtype=torch.bfloat16)
    done = simulate(weight, x, Tiling(rows=8, warps_k=1, depth=64))
    assert torch.equal(done.out, torch.zeros_like(done.out))
    assert done.ptx.count(".visible .entry") == 1
