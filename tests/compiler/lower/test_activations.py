from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional

FUNCTIONS: tuple[Callable[[Any], Any], ...] = (
    functional.gelu,
    lambda x: functional.gelu(x, approximate="tanh"),
    functional.silu,
    functional.leaky_relu,
    functional.elu,
    functional.selu,
    functional.celu,
    functional.hardtanh,
    functional.relu6,
    functional.hardsigmoid,
    functional.hardswish,
    functional.softplus,
    functional.mish,
    functional.logsigmoid,
    functional.tanhshrink,
    functional.softsign,
    lambda x: functional.threshold(x, 0.5, 2),
    lambda x: functional.glu(x, -1),
)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_activations(
    agree: Callable[..., Any],
    values_of: Callable[..., torch.Tensor],
    dtype: torch.dtype,
) -> None:
    x = values_of((7, 8), dtype, 2)
    agree(lambda x: tuple(f(x) for f in FUNCTIONS), x, ulps=8)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_derivatives(agree: Callable[..., Any], dtype: torch.dtype) -> None:
    aten = torch.ops.aten
    x, g = torch.randn(2, 40).to(dtype)
    calls: tuple[Callable[[Any, Any], Any], ...] = (
        lambda g, x: aten.gelu_backward(g, x),
        lambda g, x: aten.gelu_backward(g, x, approximate="tanh"),
        lambda g, x: aten.silu_backward(g, x),
        lambda g, x: aten.threshold_backward(g, x, 0),
        lambda g, x: aten.tanh_backward(g, x.tanh()),
        lambda g, x: aten.sigmoid_backward(g, x.sigmoid()),
        lambda g, x: aten.hardtanh_backward(g, x, -1, 1),
        lambda g, x: aten.hardswish_backward(g, x),
        lambda g, x: aten.leaky_relu_backward(g, x, 0.1, False),
        lambda g, x: aten.elu_backward(g, 1, 1, 1, False, x),
        lambda g, x: aten.softplus_backward(g, x, 1, 20),
    )
    agree(lambda g, x: tuple(f(g, x) for f in calls), g, x, ulps=16)


@pytest.mark.parametrize("shapes", [((3, 5), (5,)), ((3, 5), (1, 5)), ((5,), (3, 5))])
def test_derivatives_broadcast(
    agree: Callable[..., Any], shapes: tuple[tuple[int, ...], tuple[int, ...]]
) -> None:
    aten = torch.ops.aten
    g, x = map(torch.randn, shapes)
    calls: tuple[Callable[[Any, Any], Any], ...] = (
        lambda g, x: aten.silu_backward(g, x),
        lambda g, x: aten.threshold_backward(g, x, 0),
        lambda g, x: aten.tanh_backward(g, x),
        lambda g, x: aten.sigmoid_backward(g, x),
    )
    agree(lambda g, x: tuple(f(g, x) for f in calls), g, x, ulps=16)


@pytest.mark.filterwarnings("error")
def test_a_jacobian_is_compiled() -> None:
    def jacobian(x: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = torch.func.jacrev(lambda y: y.tanh() * y.sum())(x)
        return found

    torch.compiler.reset()
    x = torch.randn(6, requires_grad=True)
    found = torch.compile(jacobian, backend="tilewright")(x)
    torch.testing.assert_close(found, jacobian(x))


@pytest.mark.filterwarnings("error")
def test_a_slope_made_of_sizes_is_compiled() -> None:
    def leak(x: torch.Tensor) -> torch.Tensor:
        return functional.leaky_relu(x, x.shape[0] / 10)

    torch.compiler.reset()
    compiled = torch.compile(leak, backend="tilewright", dynamic=True)
    for size in (4, 7):
        x = torch.randn(size, 3)
        torch.testing.assert_close(compiled(x), leak(x), rtol=1e-6, atol=0)
