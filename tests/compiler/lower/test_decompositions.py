from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from compiler.lower import decompositions
from compiler.lower.registry import LOWERINGS

aten = torch.ops.aten

WHOLE = (
    aten.native_layer_norm.default,
    aten.native_group_norm.default,
    aten._native_batch_norm_legit_functional.default,
    aten.gelu.default,
    aten.silu.default,
    aten.native_dropout.default,
    aten.max_pool2d_with_indices.default,
    aten.embedding_dense_backward.default,
    aten.var_mean.correction,
    aten.cumsum.default,
)


@pytest.mark.parametrize("target", WHOLE)
def test_what_stays_whole_has_a_lowering(target: torch._ops.OpOverload) -> None:
    assert target not in decompositions()
    assert target in LOWERINGS


def test_what_is_kept_has_lowerings() -> None:
    from compiler.lower.decompositions import _KEPT

    bare = [
        packet
        for packet in _KEPT
        if not any(getattr(packet, name) in LOWERINGS for name in packet.overloads())
    ]
    assert not bare


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.nn.functional.smooth_l1_loss(x, x + 1),
        lambda x: torch.nn.functional.huber_loss(x, x + 1),
        lambda x: torch.nn.functional.binary_cross_entropy_with_logits(x, x),
        lambda x: torch.nn.functional.interpolate(x[None, None], scale_factor=2),
        lambda x: torch.nn.functional.pixel_shuffle(x.reshape(1, 4, 2, 2), 2),
        lambda x: torch.nn.functional.pad(x[None], (1, 1), "reflect"),
        lambda x: x.logsumexp(1) + x.norm(),
    ],
)
def test_what_is_taken_apart_is_lowered_in_all_its_parts(function: object) -> None:
    gm = make_fx(
        function,  # type: ignore[arg-type]
        decomposition_table=decompositions(),
        tracing_mode="fake",
    )(torch.randn(4, 4))
    targets = {node.target for node in gm.graph.nodes if node.op == "call_function"}
    assert targets <= set(LOWERINGS)


def test_results_have_eager_modes_strides(agree: Callable[..., Any]) -> None:
    for dtype in (torch.float32, torch.bfloat16):
        x = torch.randn(4, 5).to(dtype).t()
        agree(lambda x: aten.log_sigmoid_forward(x), x, ulps=4)
    apart = torch.as_strided(torch.randn(400), (33, 2), (3, 198))
    at = torch.tensor([1, -1])
    agree(lambda x, at: torch.index_fill(x, 1, at, 7), apart, at)
    agree(lambda x, at: torch.index_fill(x, -2, at, 7), apart.t().int(), at)


def test_a_shuffle_of_channels_has_memory_of_its_own() -> None:
    def shuffle(x: torch.Tensor) -> list[torch.Tensor]:
        return [torch.nn.functional.channel_shuffle(x, n) for n in (1, 2, 4)]

    torch.compiler.reset()
    compiled = torch.compile(shuffle, backend="tilewright")
    for form in (torch.contiguous_format, torch.channels_last):
        x = torch.randn(2, 4, 3, 3).to(memory_format=form)
        for ours, theirs in zip(compiled(x), shuffle(x), strict=True):
            assert torch.equal(ours, theirs)
            assert ours.stride() == theirs.stride()
            assert ours.data_ptr() != x.data_ptr()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("reduction", [0, 1])
def test_slopes_of_smooth_l1_loss_keep_nan(dtype: torch.dtype, reduction: int) -> None:
    inf, nan = float("inf"), float("nan")
    x = torch.tensor([nan, inf, inf, -inf, 0, 0.2, -0.2, 0.5, -2], dtype=dtype)
    target = torch.tensor([0, inf, 1, 1, 0, 0, 0, 0, 0], dtype=dtype)
    grad = torch.ones((9,) if reduction == 0 else (), dtype=dtype)
    operator = aten.smooth_l1_loss_backward.default
    args = (grad, x, target, reduction, 0.5)
    wanted = operator(*args)
    assert wanted.isnan().tolist() == [True, True] + [False] * 7
    found = decompositions()[operator](*args)
    torch.testing.assert_close(found, wanted, equal_nan=True)
