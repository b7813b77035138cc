"""What is said to hold for every draw does."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from verify.strategies.programs.random_operations import RANDOM, SUPPORT
from verify.strategies.programs.scope import Scope


def _value(text: str, x: torch.Tensor, seed: int) -> torch.Tensor:
    torch.manual_seed(seed)
    room = {"torch": torch, "F": torch.nn.functional, "x": x}
    value = eval(text, room)
    assert isinstance(value, torch.Tensor)
    return value


@pytest.mark.parametrize("name", sorted(SUPPORT))
@settings(max_examples=10)
@given(data=st.data())
def test_support_has_one_value(name: str, data: st.DataObject) -> None:
    x = torch.tensor([1.0, -2.0, 0.5])
    text = Scope({"x": x}).fill(data.draw, SUPPORT[name])
    assert text is not None
    first = _value(text, x, 0)
    for seed in range(1, 6):
        assert torch.equal(first, _value(text, x, seed)), text


@given(data=st.data())
def test_a_random_expression_follows_the_seed(data: st.DataObject) -> None:
    x = torch.arange(64.0)
    text = Scope({"x": x}).fill(data.draw, RANDOM["rand_like"])
    assert text is not None
    assert torch.equal(_value(text, x, 3), _value(text, x, 3))
    assert not torch.equal(_value(text, x, 3), _value(text, x, 4))
