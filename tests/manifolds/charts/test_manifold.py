"""The laws of every chart of every manifold, on cases drawn by our own strategies."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from manifolds.charts import SO, Sphere
from manifolds.charts.manifold import check_dtype, check_map, check_square, worst
from manifolds.errors import MapError, NotOnManifoldError, PrecisionError, ShapeError
from manifolds.strategies import MANIFOLDS, Case, cases, scales

EVERY = [
    pytest.param(Case(name, manifold, shape, dtype, 3), id=f"{name} {dtype}")
    for name, (manifold, shape, dtypes) in MANIFOLDS.items()
    for dtype in dtypes
]


def size(*tensors: Tensor) -> float:
    return max([1.0, *(float(t.abs().max()) for t in tensors if t.numel())])


@settings(max_examples=100)
@given(cases())
def test_samples_are_in_the_manifold_and_come_back(case: Case) -> None:
    weight = case.weight()
    assert weight.shape == case.shape
    assert weight.dtype == case.dtype
    assert case.manifold.in_manifold(weight, 1e-11)
    joined = case.manifold.join(case.points())
    torch.testing.assert_close(joined, weight, rtol=0, atol=1e-11 * size(weight))
    projected = case.manifold.project(weight)
    torch.testing.assert_close(projected, weight, rtol=0, atol=1e-11 * size(weight))


@settings(max_examples=100)
@given(cases())
def test_zero_is_the_base(case: Case) -> None:
    parts = zip(case.manifold.charts, case.points(), case.coordinates(0.0), strict=True)
    for chart, base, zero in parts:
        moved = chart.move(base, zero)
        torch.testing.assert_close(moved, base, rtol=0, atol=1e-13 * size(base))


@settings(max_examples=150)
@given(cases(), scales())
def test_every_coordinate_leads_to_the_manifold(case: Case, scale: float) -> None:
    parts = zip(
        case.manifold.charts, case.points(), case.coordinates(scale), strict=True
    )
    moved = [chart.move(base, free) for chart, base, free in parts]
    assert case.manifold.in_manifold(case.manifold.join(moved), 1e-9)
    for chart, point in zip(case.manifold.charts, moved, strict=True):
        assert chart.in_manifold(point, 1e-9)


@settings(max_examples=100)
@given(cases())
def test_tangent_is_the_derivative_at_zero(case: Case) -> None:
    h = 1e-5
    parts = zip(case.manifold.charts, case.points(), case.coordinates(1.0), strict=True)
    for chart, base, free in parts:
        slope = (chart.move(base, h * free) - chart.move(base, -h * free)) / (2 * h)
        tangent = chart.tangent(base, free)
        near = {"rtol": 0, "atol": 1e-8 * size(tangent)}
        torch.testing.assert_close(slope, tangent, **near)  # type: ignore[arg-type]


@settings(max_examples=60)
@given(cases())
def test_transport_lands_in_the_tangent_space(case: Case) -> None:
    """What is transported is not changed by being read as coordinates."""
    parts = zip(case.manifold.charts, case.points(), case.coordinates(1.0), strict=True)
    for chart, base, free in parts:
        there = chart.transport(base, free)
        torch.testing.assert_close(
            chart.tangent(base, there), chart.tangent(base, free), rtol=0, atol=1e-12
        )
        twice = chart.transport(base, there)
        torch.testing.assert_close(twice, there, rtol=0, atol=1e-12)


def check_gradients(case: Case, scale: float, check: Callable[..., bool]) -> None:
    parts = zip(
        case.manifold.charts, case.points(), case.coordinates(scale), strict=True
    )
    for chart, base, free in parts:

        def move(y: Tensor, chart=chart, base=base) -> Tensor:  # type: ignore[no-untyped-def]
            point: Tensor = chart.move(base, y)
            return point

        assert check(move, free.requires_grad_())


@pytest.mark.parametrize("scale", [0.0, 1.0])
@pytest.mark.parametrize("case", EVERY)
def test_gradients_of_both_orders(case: Case, scale: float) -> None:
    def both(f: Callable[[Tensor], Tensor], y: Tensor) -> bool:
        first = torch.autograd.gradcheck(f, y, fast_mode=True)
        return first and torch.autograd.gradgradcheck(f, y, fast_mode=True)

    check_gradients(case, scale, both)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.0, 1.0])
@pytest.mark.parametrize("case", EVERY)
def test_whole_jacobians_of_both_orders(case: Case, scale: float) -> None:
    batched = Case(case.name, case.manifold, (2, *case.shape), case.dtype, 7)
    check_gradients(batched, scale, torch.autograd.gradcheck)
    check_gradients(case, scale, torch.autograd.gradgradcheck)


@pytest.mark.parametrize("case", EVERY)
def test_join_is_differentiable(case: Case) -> None:
    points = tuple(point.requires_grad_() for point in case.points())
    assert torch.autograd.gradcheck(
        lambda *parts: case.manifold.join(parts), points, fast_mode=True
    )


@pytest.mark.parametrize("case", EVERY)
def test_batches_are_their_elements(case: Case) -> None:
    batched = Case(case.name, case.manifold, (2, *case.shape), case.dtype, 5)
    parts = zip(
        case.manifold.charts, batched.points(), batched.coordinates(1.0), strict=True
    )
    for chart, base, free in parts:
        moved = chart.move(base, free)
        for i in range(2):
            alone = chart.move(base[i], free[i])
            torch.testing.assert_close(moved[i], alone, rtol=0, atol=1e-11)


@pytest.mark.parametrize("case", EVERY)
def test_empty_batches_are_served(case: Case) -> None:
    empty = Case(case.name, case.manifold, (0, *case.shape), case.dtype, 5)
    parts = zip(
        case.manifold.charts, empty.points(), empty.coordinates(1.0), strict=True
    )
    moved = [chart.move(base, free) for chart, base, free in parts]
    assert case.manifold.join(moved).shape == empty.shape
    assert case.manifold.in_manifold(empty.weight())


@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
@pytest.mark.parametrize("case", EVERY)
def test_what_is_not_finite_is_not_in_the_manifold(case: Case, bad: float) -> None:
    weight = case.weight()
    weight[(0,) * weight.dim()] = bad
    if case.name.startswith("positive") and bad == torch.inf:
        pytest.skip("infinity is positive")
    assert not case.manifold.in_manifold(weight, 1e9)
    with pytest.raises(NotOnManifoldError) as caught:
        case.manifold.split_checked(weight, 0.1)
    assert caught.value.facts["tolerance"] == 0.1


@pytest.mark.parametrize("case", EVERY)
def test_shapes_and_dtypes_are_checked(case: Case) -> None:
    check = case.manifold.check
    check(case.shape, case.dtype)
    with pytest.raises(PrecisionError, match="bfloat16"):
        check(case.shape, torch.bfloat16)
    if len(case.shape) > 1:
        with pytest.raises(ShapeError):
            check(case.shape[-1:], case.dtype)


@settings(max_examples=30)
@given(st.lists(st.floats(0, 1e6), max_size=3))
def test_worst_is_the_largest(defects: list[float]) -> None:
    values = torch.tensor(defects, dtype=torch.float64)
    assert float(worst(values)) == max(defects, default=0.0)
    if defects:
        assert worst(torch.cat([values, values.new_tensor([torch.nan])])) > 1e300


def test_split_checked_names_the_way_out() -> None:
    with pytest.raises(NotOnManifoldError, match=r"manifold\.project"):
        SO().split_checked(2 * torch.eye(2), 0.1)
    with pytest.raises(ShapeError, match=r"shape=\(2, 3\)"):
        SO().split_checked(torch.zeros(2, 3), 0.1)


def test_checks() -> None:
    with pytest.raises(MapError, match="exp, project") as caught:
        check_map(Sphere(), "log", ("exp", "project"))
    assert caught.value.facts["known"] == ("exp", "project")
    check_map(Sphere(), torch.exp, ())
    with pytest.raises(PrecisionError, match="int64"):
        check_dtype(Sphere(), torch.int64)
    with pytest.raises(PrecisionError, match="complex64"):
        check_dtype(Sphere(), torch.complex64, complex=False)
    with pytest.raises(ShapeError, match="n >= 1"):
        check_square(SO(), (3, 0, 0))
