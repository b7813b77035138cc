from collections.abc import Callable
from typing import Any

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

Tensors = Callable[..., st.SearchStrategy[torch.Tensor]]


@given(data=st.data())
@settings(max_examples=4)
def test_concatenation(
    agree: Callable[..., Any], tensors_of: Tensors, data: st.DataObject
) -> None:
    x = data.draw(tensors_of(shape=(2, 3)))
    y = data.draw(tensors_of(shape=(2, data.draw(st.sampled_from((0, 1, 4))))))
    z = torch.zeros(0)
    agree(lambda x, y, z: torch.cat([x, y, x, z], 1), x, y, z, ulps=0)
    agree(lambda x: (torch.cat([x]), torch.stack([x, x + x], -1)), x, ulps=0)


@given(data=st.data())
@settings(max_examples=4)
def test_padding_and_writes_into_parts(
    agree: Callable[..., Any], tensors_of: Tensors, data: st.DataObject
) -> None:
    x = data.draw(tensors_of(dtypes=(torch.float32, torch.int8), shape=(4, 5)))
    pads = data.draw(st.lists(st.integers(-1, 3), min_size=4, max_size=4))
    pad = torch.nn.functional.pad

    def run(x: Any) -> tuple[Any, ...]:
        return (
            pad(x, pads, value=3),
            x.slice_scatter(x[:, :2], 1, 1, 5, 2),
            x.slice_scatter(x[:2], 0, -2),
            x.slice_scatter(x[:0], 0, 4),
        )

    agree(run, x, ulps=0)
    if x.dtype == torch.float32:
        agree(lambda x: (pad(x[None], (1, 2), "reflect"),), x, ulps=0)
