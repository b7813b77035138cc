from collections.abc import Callable
from typing import Any

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)


@given(data=st.data())
@settings(max_examples=5)
def test_softmax_forward_and_backward(
    agree: Callable[..., Any],
    tensors_of: Callable[..., st.SearchStrategy[torch.Tensor]],
    data: st.DataObject,
) -> None:
    x = data.draw(tensors_of(dtypes=FLOATS))
    dim = data.draw(st.integers(-max(x.dim(), 1), max(x.dim() - 1, 0)))
    aten = torch.ops.aten

    def run(x: Any) -> tuple[Any, ...]:
        y, z = x.softmax(dim), x.log_softmax(dim)
        return (
            y,
            z,
            aten._softmax_backward_data(z.cos(), y, dim, x.dtype),
            aten._log_softmax_backward_data(y.cos(), z, dim, x.dtype),
        )

    agree(run, x, ulps=16)


def test_rows_without_a_finite_element(agree: Callable[..., Any]) -> None:
    low = float("-inf")
    x = torch.tensor([[low, low], [low, 0.0], [float("inf"), 1], [float("nan"), 1]])
    agree(lambda x: (x.softmax(1), x.log_softmax(1)), x)


def test_cross_entropy(agree: Callable[..., Any]) -> None:
    loss = torch.nn.functional.cross_entropy
    x, t = torch.randn(5, 7), torch.tensor([0, 6, -100, 2, 3])
    agree(lambda x, t: loss(x, t), x, t, ulps=8)
    agree(lambda x, t: loss(x, t, label_smoothing=0.1, reduction="sum"), x, t, ulps=8)
