"""Reductions, orders and scans run on rows that go around a loop more than once."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from verify.strategies.programs.reduction_operations import (
    ORDERS,
    REDUCTIONS,
    REPEATED,
    SCANS,
)
from verify.strategies.programs.scope import Scope

TABLE = {**REDUCTIONS, **ORDERS, **REPEATED, **SCANS}


@pytest.mark.parametrize("name", sorted(TABLE))
@settings(max_examples=5, deadline=None)
@given(data=st.data())
def test_each_runs_on_some_tensor(name: str, data: st.DataObject) -> None:
    values = {"x": torch.ones(3, 20), "y": torch.ones(1, 4, 8, 5), "z": torch.ones(20)}
    text = Scope(values).fill(data.draw, TABLE[name])
    assert text is not None
    room = {"torch": torch, "F": torch.nn.functional, **values}
    assert isinstance(eval(text, room), torch.Tensor)


def test_sums_of_what_is_repeated_count_it_each_time() -> None:
    text = REPEATED["sum_broadcast"].format(n="x", k=3)
    x = torch.arange(5.0)
    assert eval(text, {"torch": torch, "x": x}) == 3 * x.sum()
