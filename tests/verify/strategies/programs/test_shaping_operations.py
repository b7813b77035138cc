"""Joins run on tensors that fit."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from verify.strategies.programs.scope import Scope
from verify.strategies.programs.shaping_operations import JOINS, SHAPING


@pytest.mark.parametrize("name", sorted(JOINS))
@settings(max_examples=5, deadline=None)
@given(data=st.data())
def test_each_join_runs(name: str, data: st.DataObject) -> None:
    values = {"x": torch.ones(4, 4), "y": torch.ones(1, 4, 4, 4)}
    text = Scope(values).fill(data.draw, JOINS[name])
    assert text is not None
    room = {"torch": torch, "F": torch.nn.functional, **values}
    assert isinstance(eval(text, room), torch.Tensor)


def test_joins_and_products_are_told_apart() -> None:
    assert not JOINS.keys() & SHAPING.keys()
    assert "matmul" in SHAPING and "pad" in JOINS
