from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from manifolds import constrain, orthogonal, rebase_after_steps
from manifolds.charts import GLPlus, O, Sphere, Stiefel, skew
from manifolds.errors import PolicyError
from manifolds.rebase import (
    move_state,
    originals,
    trivialization_parameters,
    trivializations,
)

DOUBLE = torch.float64
Loss = Callable[[Tensor], Tensor]


def loss_of(target: Tensor) -> Loss:
    return lambda weight: (weight - target).abs().square().sum() / 2


def train(
    layer: Any, loss: Loss, optimizer: torch.optim.Optimizer, steps: int
) -> list[Tensor]:
    weights = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss(layer.weight).backward()
        optimizer.step()
        weights.append(layer.weight.detach().clone())
    return weights


@pytest.mark.parametrize("det", [1, -1])
@pytest.mark.parametrize("n", [1, 2, 7])
def test_dtriv_1_with_sgd_is_riemannian_gradient_descent(n: int, det: int) -> None:
    """B <- B exp(-eta (B^T G - G^T B))."""
    eta = 0.05
    layer = orthogonal(
        nn.Linear(n, n, bias=False).double(), every=1, det=det, project_every=None
    )
    loss = loss_of(torch.randn(n, n, dtype=DOUBLE))
    point = layer.weight.detach().clone()
    optimizer = torch.optim.SGD(layer.parameters(), lr=eta)
    rebase_after_steps(optimizer, layer)
    for weight in train(layer, loss, optimizer, 20):
        leaf = point.requires_grad_()
        (g,) = torch.autograd.grad(loss(leaf), leaf)
        b = point.detach()
        step = -eta * (b.T @ g - g.T @ b)
        # for one matrix of norm 0.04 torch's float64 result is off by 8e-11
        point = b @ torch.matrix_exp(step.expand(2, n, n))[0]
        torch.testing.assert_close(weight, point, rtol=0, atol=1e-12)


@pytest.mark.parametrize("map", ["exp", "cayley"])
def test_dtriv_1_on_stiefel_is_projected_gradient_descent(map: str) -> None:
    eta = 0.05
    layer = orthogonal(
        nn.Linear(3, 6, bias=False).double(), "weight", map, 1, project_every=None
    )
    loss = loss_of(torch.randn(6, 3, dtype=DOUBLE))
    point = layer.weight.detach().clone()
    optimizer = torch.optim.SGD(layer.parameters(), lr=eta)
    rebase_after_steps(optimizer, layer)
    chart = Stiefel(map)
    for weight in train(layer, loss, optimizer, 20):
        leaf = point.requires_grad_()
        (g,) = torch.autograd.grad(loss(leaf), leaf)
        point = chart.move(point.detach(), -eta * g)
        torch.testing.assert_close(weight, point, rtol=0, atol=1e-12)


def test_dtriv_1_on_the_sphere_is_the_power_method_of_gradients() -> None:
    eta = 0.1
    layer: Any = nn.Module()
    layer.weight = nn.Parameter(torch.randn(5, dtype=DOUBLE))
    constrain(layer, "weight", Sphere(), every=1, project_every=None)
    loss = loss_of(torch.randn(5, dtype=DOUBLE))
    x = layer.weight.detach().clone()
    optimizer = torch.optim.SGD(layer.parameters(), lr=eta)
    rebase_after_steps(optimizer, layer)
    for weight in train(layer, loss, optimizer, 20):
        leaf = x.requires_grad_()
        (g,) = torch.autograd.grad(loss(leaf), leaf)
        x = x.detach()
        v = -eta * (g - (g @ x) * x)
        x = v.norm().cos() * x + v.norm().sin() * v / v.norm()
        torch.testing.assert_close(weight, x, rtol=0, atol=1e-12)


@pytest.mark.parametrize("optimizer_class", [torch.optim.SGD, torch.optim.RMSprop])
def test_static_is_exprnn(optimizer_class: Any) -> None:
    """The weight exp(A) of a plain parameter, trained by the same optimizer."""
    layer = orthogonal(nn.Linear(5, 5, bias=False).double(), init="henaff")
    (free,) = trivialization_parameters(layer, "weight")
    plain = free.detach().clone().requires_grad_()
    loss = loss_of(torch.randn(5, 5, dtype=DOUBLE))
    optimizer = optimizer_class(layer.parameters(), lr=0.01)
    rebase_after_steps(optimizer, layer)
    other = optimizer_class([plain], lr=0.01)
    for weight in train(layer, loss, optimizer, 30):
        other.zero_grad()
        loss(torch.matrix_exp(skew(plain))).backward()
        other.step()
        expected = torch.matrix_exp(skew(plain)).detach()
        torch.testing.assert_close(weight, expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("every", [1, 2, 5, None])
def test_every_period_descends(every: int | None) -> None:
    layer = orthogonal(nn.Linear(6, 6, bias=False).double(), every=every, det=1)
    target = O(det=1).sample((6, 6), dtype=DOUBLE)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.05)
    rebase_after_steps(optimizer, layer)
    weights = train(layer, loss_of(target), optimizer, 120)
    assert (weights[-1] - target).norm() < 0.05 * (weights[0] - target).norm()
    trivialization = layer.parametrizations.weight[0]
    assert int(trivialization.rebases) == (120 // every if every else 0)


@pytest.mark.parametrize("every", [1, 20, None])
def test_drift_in_float32_stays_small(every: int | None) -> None:
    layer = orthogonal(nn.Linear(24, 24, bias=False), every=every, init="henaff")
    optimizer = torch.optim.RMSprop(layer.parameters(), lr=1e-3)
    rebase_after_steps(optimizer, layer)
    weight = train(layer, loss_of(torch.randn(24, 24)), optimizer, 150)[-1]
    assert O().defect(weight) < 2e-5


def test_state_policies() -> None:
    def make(policy: str) -> tuple[Any, torch.optim.Optimizer]:
        torch.manual_seed(2)
        layer = orthogonal(nn.Linear(2, 4, bias=False).double(), every=3)
        optimizer = torch.optim.Adam(layer.parameters(), lr=0.1)
        rebase_after_steps(optimizer, layer, state=policy)
        train(layer, loss_of(torch.ones(4, 2, dtype=DOUBLE)), optimizer, 3)
        return layer, optimizer

    states = {}
    for policy in ("keep", "reset", "transport"):
        layer, optimizer = make(policy)
        (free,) = trivialization_parameters(layer, "weight")
        states[policy] = optimizer.state[free]
    base = layer.parametrizations.weight[0].base_0
    kept, moved = states["keep"], states["transport"]
    assert states["reset"] == {}
    assert torch.equal(kept["exp_avg_sq"], moved["exp_avg_sq"])
    expected = Stiefel().tangent(base, kept["exp_avg"])
    torch.testing.assert_close(moved["exp_avg"], expected)
    assert not torch.equal(kept["exp_avg"], moved["exp_avg"])


@pytest.mark.parametrize("policy", ["keep", "reset", "transport"])
def test_training_goes_on_after_each_policy(policy: str) -> None:
    layer = orthogonal(nn.Linear(3, 5, bias=False), every=2)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.05)
    rebase_after_steps(optimizer, layer, state=policy)
    target = Stiefel().sample((5, 3))
    weights = train(layer, loss_of(target), optimizer, 60)
    assert (weights[-1] - target).norm() < (weights[0] - target).norm()


def test_groups_transport_by_keeping() -> None:
    layer: Any = nn.Module()
    layer.weight = nn.Parameter(torch.eye(3))
    constrain(layer, "weight", GLPlus(), every=1)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1, momentum=0.9)
    train(layer, loss_of(torch.ones(3, 3)), optimizer, 1)
    ((trivialization, parameters),) = trivializations(layer)
    before = optimizer.state[parameters[0]]["momentum_buffer"].clone()
    move_state(optimizer, trivialization, parameters, "transport")
    assert torch.equal(optimizer.state[parameters[0]]["momentum_buffer"], before)


def test_the_handle_ends_it() -> None:
    layer = orthogonal(nn.Linear(3, 3, bias=False), every=1)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    handle = rebase_after_steps(optimizer, layer)
    handle.remove()
    train(layer, loss_of(torch.ones(3, 3)), optimizer, 1)
    ((trivialization, parameters),) = trivializations(layer)
    assert int(trivialization.steps) == 0
    assert parameters[0].any()


def test_modules_are_searched() -> None:
    model = nn.Sequential(
        orthogonal(nn.Linear(2, 2)), nn.ReLU(), orthogonal(nn.Linear(2, 3))
    )
    nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))
    assert len(list(trivializations(model))) == 2
    lists: Any = model[0].parametrizations
    (parameter,) = trivialization_parameters(model[0], "weight")
    assert originals(lists["weight"])[0] is parameter


def test_policies_are_checked() -> None:
    layer = orthogonal(nn.Linear(2, 2))
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    with pytest.raises(PolicyError, match="keep, reset, transport"):
        rebase_after_steps(optimizer, layer, state="forget")
