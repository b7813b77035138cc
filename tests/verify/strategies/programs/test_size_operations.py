"""Operations that read sizes are right at each size."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from verify.strategies.programs.scope import Scope
from verify.strategies.programs.size_operations import (
    BRANCHES,
    SIZE_STATEMENTS,
    SIZES_READ,
)


@pytest.mark.parametrize("name", sorted({**SIZES_READ, **BRANCHES, **SIZE_STATEMENTS}))
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_one_text_runs_at_two_sizes(name: str, data: st.DataObject) -> None:
    template = {**SIZES_READ, **BRANCHES, **SIZE_STATEMENTS}[name]
    text = Scope({"x": torch.ones(3, 3)}).fill(data.draw, template)
    assert text is not None
    for rows in (3, 4):
        room = {"torch": torch, "F": torch.nn.functional, "x": torch.ones(rows, rows)}
        exec(text, room)
