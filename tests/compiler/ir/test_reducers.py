import math

import pytest
import torch

from compiler.ir.node import REDUCERS
from compiler.ir.reducers import reduce, scan, scatter


@pytest.mark.parametrize("reducer", [r for r in REDUCERS if not r.startswith("arg")])
def test_nothing_reduces_to_the_neutral_element(reducer: str) -> None:
    logical = reducer in ("any", "all")
    dtype = (
        torch.bool if logical else torch.int64 if reducer == "xor" else torch.float32
    )
    results = reduce(reducer, torch.zeros(2, 0, dtype=dtype))
    assert len(results) == REDUCERS[reducer][1]
    neutral = {
        "product": 1,
        "maximum": -math.inf,
        "minimum": math.inf,
        "all": True,
        "online_softmax": -math.inf,
    }.get(reducer, 0)
    assert results[0].tolist() == [neutral, neutral]


def test_arg_reductions_take_the_first_and_nan_wins() -> None:
    x = torch.tensor([[1.0, 3, 3, 0], [1, math.nan, 9, math.nan]])
    assert reduce("argmax", x)[0].tolist() == [1, 1]
    assert reduce("argmin", x)[0].tolist() == [3, 1]


def test_welford() -> None:
    x = torch.randn(5, 9) + 1000
    mean, squares, count = reduce("welford", x)
    torch.testing.assert_close(mean, x.mean(-1))
    torch.testing.assert_close(squares / count, x.double().var(-1, False).float())


def test_xor_and_scans() -> None:
    x = torch.tensor([[5, 3, 5]])
    assert reduce("xor", x)[0].tolist() == [3]
    assert scan("argmax", x, 1)[1].tolist() == [[0, 0, 2]]
    assert scan("product", x, 1)[0].tolist() == [[5, 15, 75]]
    assert scan("minimum", x, 1)[0].tolist() == [[5, 3, 3]]


def test_scatter_modes() -> None:
    places = torch.tensor([0, 0, 2])
    for mode, wanted in (
        ("set", [4, 1, 5]),
        ("add", [8, 1, 6]),
        ("multiply", [12, 1, 5]),
        ("maximum", [4, 1, 5]),
        ("minimum", [1, 1, 1]),
    ):
        target = torch.ones(3, dtype=torch.int64)
        scatter(target, places, torch.tensor([3, 4, 5]), mode)
        assert target.tolist() == wanted
    truth = torch.tensor([False, False, True])
    scatter(truth, places, torch.tensor([False, True, False]), "add")
    assert truth.tolist() == [True, False, True]
