import pytest
import torch

from compiler.mixed.formats import FORMATS
from verify.mixed import random_weight


@pytest.mark.parametrize("format", FORMATS)
def test_products_stay_in_range(format: str) -> None:
    group = FORMATS[format].block or 64
    weight = random_weight(format, 32, 256, group, zeros=format == "int4")
    values = weight.dequantise()
    assert values.isfinite().all() and values.std() > 0.01
    assert (torch.randn(4, 256) @ values.T).abs().max() < 60000


def test_seeds_differ() -> None:
    one, two = (random_weight("int4", 16, 64, 64, seed=s).weight for s in (0, 1))
    assert not torch.equal(one, two)
