"""Each module fits the tensor that it was drawn for."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from verify.strategies.programs.module_operations import MODULE_HOLES
from verify.strategies.programs.prelude import prelude
from verify.strategies.programs.program import IMPORTS

SHAPES = {"conv": (2, 3, 4, 4), "batchnorm": (2, 3, 4, 4), "groupnorm": (2, 4, 3, 3)}


@pytest.mark.parametrize("kind", sorted(MODULE_HOLES))
@given(data=st.data())
def test_a_module_takes_its_tensor(kind: str, data: st.DataObject) -> None:
    shape = SHAPES.get(kind, (2, 3, 4) if kind == "conv1d" else (2, 3))
    x = torch.ones(shape, dtype=torch.int64 if kind == "embedding" else torch.float64)
    text = MODULE_HOLES[kind](data.draw, x)
    room: dict[str, object] = {"x": x}
    exec(IMPORTS + prelude(text) + f"y = ({text})(x)", room)
    assert isinstance(room["y"], torch.Tensor)
