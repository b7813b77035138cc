import torch

from compiler.ir import index
from compiler.ir.points import Points, philox, size


def test_philox_gives_its_published_vector() -> None:
    # counter and key all zero: the first word that its authors publish
    assert int(philox(torch.tensor(0), torch.tensor(0))) % 2**32 == 0x6627E8D5


def test_philox_is_uniform_over_offsets() -> None:
    words = philox(torch.tensor(7), torch.arange(1 << 14)).long() & 0xFFFFFFFF
    assert words.unique().numel() == words.numel()
    assert abs(float(words.double().mean() / 2**32) - 0.5) < 0.02


def test_floor_semantics_of_indices() -> None:
    i = index.digit("i")
    points = Points([i], [4], {}, {})
    shifted = index.sub(i, 3)
    assert points.tensor(index.floordiv(shifted, 2)).tolist() == [-2, -1, -1, 0]
    assert points.tensor(index.mod(shifted, 2)).tolist() == [1, 0, 1, 0]
    assert points.tensor(index.minimum(i, 2)).tolist() == [0, 1, 2, 2]
    assert points.tensor(index.maximum(i, 2)).tolist() == [2, 2, 2, 3]
    assert size(index.floordiv(index.symbol("s"), 3), {"s": 7}) == 2
