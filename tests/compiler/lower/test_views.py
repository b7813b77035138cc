from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

FLOATS = (torch.float32, torch.bfloat16, torch.int64, torch.bool)

CASES: dict[str, Callable[[torch.Tensor], Any]] = {
    "permute": lambda x: x.permute(2, 0, 1),
    "transpose": lambda x: x.transpose(0, -1),
    "unsqueeze": lambda x: (x.unsqueeze(0), x.unsqueeze(-1)),
    "squeeze": lambda x: x[:1].squeeze(),
    "squeeze_dim": lambda x: x[:1].squeeze(0),
    "expand": lambda x: x[:, :1].expand(-1, 4, -1),
    "slice": lambda x: x[1:, -2:, ::2],
    "slice_past_the_end": lambda x: x[5:, :9],
    "select": lambda x: x[:, -1],
    "split": lambda x: x.split(2, 1),
    "split_with_sizes": lambda x: x.split([1, 2], 1),
    "chunk": lambda x: x.chunk(2, 2),
    "unbind": lambda x: x.unbind(1),
    "repeat": lambda x: x.repeat(2, 1, 1, 3),
    "flip": lambda x: x.flip(0, 2),
    "roll": lambda x: x.roll((1, -2), (0, 2)),
    "diagonal": lambda x: (x.diagonal(), x.diagonal(1, 1, 2), x.diagonal(-1, 0, 2)),
    "unfold": lambda x: x.unfold(2, 2, 1),
    "repeat_interleave": lambda x: x.repeat_interleave(3, 1),
    "flatten": lambda x: (x + x).flatten(),
    "reshape": lambda x: (x.reshape(-1, 2), x.reshape(3, 8)),
    "permuted_reshape": lambda x: x.permute(2, 0, 1).reshape(2, 2, 6),
    "clone": lambda x: x.clone(),
    "contiguous": lambda x: x.transpose(0, 1).contiguous(),
}


@pytest.mark.parametrize("name", CASES)
@given(data=st.data())
@settings(max_examples=2)
def test_views(
    agree: Callable[..., Any],
    tensors_of: Callable[..., st.SearchStrategy[torch.Tensor]],
    name: str,
    data: st.DataObject,
) -> None:
    agree(CASES[name], data.draw(tensors_of(shape=(2, 3, 4))), ulps=0)


@given(data=st.data())
@settings(max_examples=7)
def test_reshapes_to_any_factors(
    agree: Callable[..., Any],
    tensors_of: Callable[..., st.SearchStrategy[torch.Tensor]],
    data: st.DataObject,
) -> None:
    factors = [2, 2, 3, 1]
    shapes = [
        tuple(torch.tensor(part).prod().item() for part in parts)
        for parts in (
            [[2], [2, 3], [1]],
            [[2, 2], [3]],
            [[2, 2, 3, 1]],
            [[3, 2], [2], [1]],
            [[1], [3], [2, 2], [1]],
            [[3], [2], [1], [2]],
        )
    ]
    x = data.draw(tensors_of(shape=data.draw(st.sampled_from(shapes))))
    new = data.draw(st.sampled_from(shapes))
    assert x.numel() == torch.tensor(factors).prod()
    agree(lambda x: x.reshape(new), x, ulps=0)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (1, 0), (), (1,), (1, 1)])
def test_degenerate_shapes(agree: Callable[..., Any], shape: tuple[int, ...]) -> None:
    x = torch.randn(shape)
    agree(
        lambda x: (x.reshape(-1), x.flip(list(range(x.dim()))), x.unsqueeze(0), x + x),
        x,
    )
    if 0 in shape:
        agree(lambda x: (x.reshape(0, 7), x.reshape(7, 0, 2)), x)


def test_a_roll_has_eager_modes_strides(agree: Callable[..., Any]) -> None:
    x = torch.randn(1, 2, 3, 4)
    for y in (x, x.to(memory_format=torch.channels_last), x.permute(3, 2, 1, 0)):
        agree(lambda y: (y.roll(1, 2), y.roll((-5, 2), (0, 1)), y.roll(3)), y, ulps=0)
    agree(lambda x: x[:, :, :0].roll(1, 1), x)


def test_strides_over_storage(agree: Callable[..., Any]) -> None:
    x = torch.randn(4, 6)
    agree(lambda x: torch.as_strided(x + 1, (2, 3), (1, 6), 2), x, ulps=0)
    agree(lambda x: torch.as_strided(x, (3, 3), (2, 1), 1) * 2, x, ulps=0)
    last = torch.randn(1, 2, 3, 4).to(memory_format=torch.channels_last)
    agree(lambda x: torch.as_strided(x.roll(1, 2), (4, 3), (3, 1), 5), last, ulps=0)
    agree(lambda x: torch.as_strided((x * 2).t()[1:], (5,), (2,), 3), x, ulps=0)
    agree(lambda x: torch.as_strided_scatter(x, x[0, :2], (2,), (7,), 1), x, ulps=0)


def test_views_as_another_type(agree: Callable[..., Any]) -> None:
    x = torch.randn(3, 4)
    agree(lambda x: (x.view(torch.int32) + 1, x.half().view(torch.int16)), x)
    agree(lambda x: (x + 1).view(torch.int32).view(torch.float32) * 2, x)


def test_results_that_share_memory_have_eager_modes_strides(
    agree: Callable[..., Any],
) -> None:
    x = torch.randn(4)
    agree(lambda x: (x + 1).expand(3, 4), x)
    agree(lambda x: x.expand(3, 4), x)
    agree(lambda x: torch.mm((x + 1).expand(3, 4), x[:, None]), x, extern=True)


def test_flip_of_repeat_interleave(agree: Callable[..., Any]) -> None:
    agree(lambda x: x.flatten().repeat_interleave(3).flip(0), torch.randn(4, 3))


@pytest.mark.parametrize("shape", [(2, 3), (2, 0)])
def test_a_view_as_another_type_shares_the_caller_s_memory(
    shape: tuple[int, ...],
) -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x.sum(1)
        return y.view(torch.float64)[1:], y, y.view(torch.float64).add(1)

    x = torch.ones(shape, dtype=torch.int64)
    view, whole, other = torch.compile(function, backend="tilewright")(x)
    for value, wanted in zip((view, whole, other), function(x), strict=True):
        assert torch.equal(value, wanted)
    assert view.untyped_storage().data_ptr() == whole.untyped_storage().data_ptr()
