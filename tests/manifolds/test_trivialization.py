import copy
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
)
from torch import nn

from manifolds import constrain, orthogonal, rebase_after_steps
from manifolds.charts import SO, LowRank, O, Sphere, skew
from manifolds.errors import NotOnManifoldError, PolicyError, PrecisionError, ShapeError
from manifolds.expm import expm
from manifolds.rebase import trivialization_parameters, trivializations
from manifolds.strategies import Case, cases
from manifolds.trivialization import Trivialization, check_period, working_dtype

DOUBLE = torch.float64


def tuple_of(
    zeros: torch.Tensor | tuple[torch.Tensor, ...],
) -> tuple[torch.Tensor, ...]:
    return zeros if isinstance(zeros, tuple) else (zeros,)


@settings(max_examples=60)
@given(cases())
def test_assigned_weights_come_back(case: Case) -> None:
    trivialization = Trivialization(case.manifold, case.weight())
    other = Case(case.name, case.manifold, case.shape, case.dtype, case.seed + 1)
    zeros = tuple_of(trivialization.right_inverse(other.weight()))
    assert all(not zero.any() for zero in zeros)
    found = trivialization(*zeros)
    torch.testing.assert_close(found, other.weight(), rtol=1e-10, atol=1e-10)


@settings(max_examples=60)
@given(cases())
def test_rebase_changes_no_weight_and_gives_the_gradient_of_the_new_chart(
    case: Case,
) -> None:
    """The gradient after it is the adjoint of the tangent map at the new base."""
    trivialization = Trivialization(case.manifold, case.weight())
    free = [y.requires_grad_() for y in case.coordinates(0.5)]
    before = trivialization(*free).detach()
    trivialization.rebase(free)
    assert all(not y.any() for y in free)
    after = trivialization(*free)
    torch.testing.assert_close(after.detach(), before, rtol=1e-9, atol=1e-9)

    target = torch.randn_like(before)
    gradients = torch.autograd.grad((after - target).abs().square().sum(), free)
    points = [base.clone().requires_grad_() for base in trivialization.base]
    weight = case.manifold.join(points)
    to_points = torch.autograd.grad((weight - target).abs().square().sum(), points)
    parts = zip(
        case.manifold.charts,
        trivialization.base,
        case.coordinates(1.0, stream=2),
        gradients,
        to_points,
        strict=True,
    )
    for chart, base, direction, found, gradient in parts:
        tangent = chart.tangent(base, direction)
        expected = (gradient.conj() * tangent).real.sum()
        slope = (found.conj() * direction).real.sum()
        torch.testing.assert_close(slope, expected, rtol=1e-9, atol=1e-9)


def test_the_first_gradient_at_henaffs_angles_is_right() -> None:
    """Pulled back at the old coordinates, it would be off by as much as itself."""
    layer = nn.Linear(12, 12, bias=False).double()
    orthogonal(layer, init="henaff", every=1)
    (free,) = trivialization_parameters(layer, "weight")
    ((trivialization, _),) = trivializations(layer)
    target = torch.randn(12, 12, dtype=DOUBLE)

    def gradient() -> torch.Tensor:
        loss = (layer.weight * target).sum()
        (found,) = torch.autograd.grad(loss, free)
        return found

    stale = gradient()
    trivialization.rebase([free])
    weight = layer.weight.detach()
    skewed = weight.T @ target - target.T @ weight
    torch.testing.assert_close(gradient(), skewed.triu(1))
    assert (stale - gradient()).norm() > 0.3 * gradient().norm()


def test_a_graph_from_before_cannot_be_used_after() -> None:
    layer = orthogonal(nn.Linear(4, 4, bias=False), every=1)
    (free,) = trivialization_parameters(layer, "weight")
    loss = layer(torch.ones(1, 4)).sum()
    ((trivialization, _),) = trivializations(layer)
    trivialization.rebase([free])
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


@settings(max_examples=20)
@given(st.integers(0, 9), st.integers(1, 4), st.integers(1, 3))
def test_state_round_trips_at_any_step(stop: int, every: int, repair: int) -> None:
    """Ten steps, or some, saved and loaded into a new module, and the others."""

    def make() -> tuple[Any, torch.optim.Optimizer]:
        torch.manual_seed(1)
        layer = nn.Linear(4, 4, bias=False).double()
        orthogonal(layer, every=every, project_every=repair)
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.1, momentum=0.9)
        rebase_after_steps(optimizer, layer)
        return layer, optimizer

    def run(layer: Any, optimizer: torch.optim.Optimizer, steps: int) -> None:
        target = torch.arange(16, dtype=DOUBLE).view(4, 4) / 16
        for _ in range(steps):
            optimizer.zero_grad()
            (layer.weight * target).sum().backward()
            optimizer.step()

    whole, optimizer = make()
    run(whole, optimizer, 10)
    first, optimizer = make()
    run(first, optimizer, stop)
    saved = copy.deepcopy((first.state_dict(), optimizer.state_dict()))
    second, optimizer = make()
    with torch.no_grad():
        second.weight = second.weight.flip(0)
    second.load_state_dict(saved[0])
    optimizer.load_state_dict(saved[1])
    run(second, optimizer, 10 - stop)
    for name, value in whole.state_dict().items():
        assert torch.equal(value, second.state_dict()[name]), name


def test_buffers_hold_base_and_counters() -> None:
    layer = orthogonal(nn.Linear(3, 3), every=2)
    assert set(layer.state_dict()) == {
        "bias",
        "parametrizations.weight.original",
        "parametrizations.weight.0.base_0",
        "parametrizations.weight.0.steps",
        "parametrizations.weight.0.rebases",
    }


def test_ticks_are_counted() -> None:
    trivialization = Trivialization(SO(), torch.eye(2), every=3)
    assert [trivialization.tick() for _ in range(6)] == [False, False, True] * 2
    assert int(trivialization.steps) == 6
    static = Trivialization(SO(), torch.eye(2))
    assert not any(static.tick() for _ in range(6))
    assert "every=3" in repr(trivialization)


class Lives(RuleBasedStateMachine):
    """A dynamic trivialization beside Riemannian gradient descent written out.

    Momentum lives in the Lie algebra; between changes of the base it is that of the
    chart, so the mirror holds base, coordinates and momentum itself.
    """

    eta = 0.05

    @initialize(every=st.sampled_from((1, 2, 3, None)), seed=st.integers(0, 99))
    def start(self, every: int | None, seed: int) -> None:
        torch.manual_seed(seed)
        self.every = every
        self.steps = 0
        self.target = torch.randn(4, 4, dtype=DOUBLE)
        self.make()
        self.base = self.layer.weight.detach().clone()
        self.free = torch.zeros(4, 4, dtype=DOUBLE)
        self.momentum = torch.zeros(4, 4, dtype=DOUBLE)

    def make(self) -> None:
        self.layer: Any = nn.Linear(4, 4, bias=False).double()
        orthogonal(self.layer, every=self.every, project_every=None)
        self.optimizer = torch.optim.SGD(
            self.layer.parameters(), lr=self.eta, momentum=0.5
        )
        rebase_after_steps(self.optimizer, self.layer)

    def point(self, free: torch.Tensor) -> torch.Tensor:
        point: torch.Tensor = self.base @ expm(skew(free))
        return point

    @rule()
    def step(self) -> None:
        self.optimizer.zero_grad()
        (self.layer.weight * self.target).sum().backward()
        self.optimizer.step()
        leaf = self.free.clone().requires_grad_()
        (g,) = torch.autograd.grad((self.point(leaf) * self.target).sum(), leaf)
        self.momentum = 0.5 * self.momentum + g
        self.free = self.free - self.eta * self.momentum
        self.steps += 1
        if self.every is not None and self.steps % self.every == 0:
            self.base, self.free = self.point(self.free), torch.zeros_like(self.free)

    @rule()
    def look(self) -> None:
        before = copy.deepcopy(self.layer.state_dict())
        self.layer.eval()
        with torch.no_grad():
            self.layer(torch.ones(1, 4, dtype=DOUBLE))
        self.layer.train()
        for name, value in self.layer.state_dict().items():
            assert torch.equal(value, before[name])

    @rule()
    def save_and_load(self) -> None:
        saved = copy.deepcopy((self.layer.state_dict(), self.optimizer.state_dict()))
        self.make()
        self.layer.load_state_dict(saved[0])
        self.optimizer.load_state_dict(saved[1])

    @rule(seed=st.integers(0, 99))
    def assign(self, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        sample = O().sample((4, 4), dtype=DOUBLE, generator=generator)
        self.layer.weight = sample
        self.base, self.free = sample, torch.zeros_like(sample)

    @rule()
    def rebase_by_hand(self) -> None:
        ((trivialization, parameters),) = trivializations(self.layer)
        trivialization.rebase(parameters)
        self.base, self.free = self.point(self.free), torch.zeros_like(self.free)

    @invariant()
    def agree(self) -> None:
        if hasattr(self, "layer"):
            weight = self.layer.weight.detach()
            torch.testing.assert_close(
                weight, self.point(self.free), rtol=0, atol=1e-11
            )
            assert O().defect(weight) < 1e-12


Lives.TestCase.settings = settings(max_examples=15, stateful_step_count=12)
TestLives = Lives.TestCase


@pytest.mark.parametrize("project_every", [1, None])
def test_repair(project_every: int | None) -> None:
    trivialization = Trivialization(SO(), torch.eye(3), project_every=project_every)
    trivialization.base[0].add_(torch.randn(3, 3) * 1e-4)
    trivialization.rebase([torch.zeros(3, 3)])
    defect = float(SO().defect(trivialization.base[0]))
    assert defect < 1e-6 if project_every else defect > 1e-5


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_keeps_the_parameter_in_float32(dtype: torch.dtype) -> None:
    layer = nn.Linear(4, 4).to(dtype)
    orthogonal(layer, every=1)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    rebase_after_steps(optimizer, layer)
    for _ in range(3):
        optimizer.zero_grad()
        layer(torch.ones(2, 4, dtype=dtype)).sum().backward()
        optimizer.step()
    assert layer.weight.dtype == dtype
    assert trivialization_parameters(layer, "weight")[0].dtype == torch.float32
    assert O_defect(layer.weight) < 4 * 4 * torch.finfo(dtype).eps
    layer.weight = layer.weight.detach().clone()
    layer.to(dtype)
    with pytest.raises(PrecisionError, match="before it is parametrized"):
        _ = layer.weight


def O_defect(weight: torch.Tensor) -> float:  # noqa: N802
    return float(O().defect(weight.detach().double()))


def test_conversion_to_double_and_back() -> None:
    layer = orthogonal(nn.Linear(4, 4)).double()
    assert layer.weight.dtype == DOUBLE
    assert layer.float().weight.dtype == torch.float32
    assert working_dtype(torch.complex64) == torch.complex64


def test_assignment_of_what_is_not_orthogonal() -> None:
    layer = orthogonal(nn.Linear(3, 3))
    kept = layer.weight.detach().clone()
    with pytest.raises(NotOnManifoldError, match=r"manifold\.project") as caught:
        layer.weight = torch.ones(3, 3)
    assert caught.value.facts["defect"] > 1
    with pytest.raises(NotOnManifoldError):
        layer.weight = torch.full((3, 3), torch.nan)
    with pytest.raises(ShapeError, match=r"shape=\(3, 2\)"):
        layer.weight = torch.zeros(3, 2)
    assert torch.equal(layer.weight, kept)
    layer.weight = kept * (1 + 1e-5)
    assert SO().in_manifold(layer.weight) == (torch.linalg.det(kept) > 0)


def test_autocast_does_not_lower_the_precision() -> None:
    layer = orthogonal(nn.Linear(8, 8), init="henaff")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = layer.weight
        assert layer(torch.ones(1, 8)).dtype == torch.bfloat16
    assert torch.equal(inside, layer.weight)
    assert O().in_manifold(inside)


def test_nan_in_the_parameter_gives_nan() -> None:
    layer = orthogonal(nn.Linear(3, 3))
    (free,) = trivialization_parameters(layer, "weight")
    with torch.no_grad():
        free[0, 1] = torch.nan
    assert layer.weight.isnan().all()


def test_several_parts() -> None:
    module = nn.Module()
    module.matrix = nn.Parameter(torch.randn(4, 3, dtype=DOUBLE))
    constrain(module, "matrix", LowRank(2), every=1)
    optimizer = torch.optim.Adam(module.parameters(), lr=0.01)
    rebase_after_steps(optimizer, module)
    for _ in range(3):
        optimizer.zero_grad()
        module.matrix.square().sum().backward()
        optimizer.step()
    assert LowRank(2).in_manifold(module.matrix)
    assert len(trivialization_parameters(module, "matrix")) == 3


@pytest.mark.parametrize("period", [0, -1])
def test_periods_are_positive(period: int) -> None:
    with pytest.raises(PolicyError, match=f"every={period}"):
        Trivialization(Sphere(), torch.tensor([1.0]), every=period)
    with pytest.raises(PolicyError, match="never"):
        check_period("project_every", period)
    check_period("every", None)


@pytest.mark.parametrize("every", [0, -1, 1.5, "3", True])
def test_a_period_is_a_positive_integer(every: Any) -> None:
    with pytest.raises(PolicyError, match="every="):
        Trivialization(Sphere(), torch.tensor([1.0, 0.0]), every=every)


def test_an_assigned_weight_of_another_kind_is_refused_and_changes_nothing() -> None:
    trivialization = Trivialization(Sphere(), torch.tensor([1.0, 0.0]))
    with pytest.raises(ShapeError, match=r"shape=\(3,\)"):
        trivialization.right_inverse(torch.tensor([0.0, 0.0, 1.0]))
    with pytest.raises(PrecisionError, match=r"dtype=torch\.int64"):
        trivialization.right_inverse(torch.tensor([0, 1]))
    assert trivialization(torch.zeros(2)).tolist() == [1.0, 0.0]
