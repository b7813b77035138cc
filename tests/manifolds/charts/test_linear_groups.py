import pytest
import torch

from manifolds.charts import SL, GLPlus
from manifolds.charts.linear_groups import geodesic
from manifolds.errors import MapError

DOUBLE = torch.float64


def test_geodesic_equation_of_the_left_invariant_metric() -> None:
    """w = g^-1 g' satisfies w' = w^T w - w w^T."""
    x = torch.randn(3, 3, dtype=DOUBLE) / 2

    def w(t: float) -> torch.Tensor:
        h = 1e-3
        points = [(t + k * h, c) for k, c in ((-2, 1), (-1, -8), (1, 8), (2, -1))]
        slope = sum(c * geodesic(s * x) for s, c in points) / (12 * h)
        solution: torch.Tensor = torch.linalg.solve(geodesic(t * x), slope)
        return solution

    h = 1e-2
    slope = (w(0.5 - 2 * h) - 8 * w(0.5 - h) + 8 * w(0.5 + h) - w(0.5 + 2 * h)) / (
        12 * h
    )
    middle = w(0.5)
    expected = middle.T @ middle - middle @ middle.T
    torch.testing.assert_close(slope, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("map", ["exp", "lie"])
def test_maps_agree_on_normal_matrices(map: str) -> None:
    a = torch.randn(3, 3, dtype=DOUBLE)
    normal = a - a.T
    g = GLPlus().sample((3, 3), dtype=DOUBLE)
    expected = g @ torch.matrix_exp(normal)
    torch.testing.assert_close(GLPlus(map).move(g, normal), expected)


def test_the_geodesic_reaches_what_has_no_logarithm() -> None:
    """diag(-1, -2) is in GL+(2): by a rotation of pi and a stretch."""
    target = torch.diag(torch.tensor([-1.0, -2.0], dtype=DOUBLE))
    x = torch.randn(60, 2, 2, dtype=DOUBLE, requires_grad=True)
    optimizer = torch.optim.Adam([x], lr=0.1)
    for _ in range(120):
        optimizer.zero_grad()
        losses = (geodesic(x) - target).square().sum((1, 2))
        losses.sum().backward()
        optimizer.step()
    assert losses.detach().min() < 1e-4


def test_determinants() -> None:
    assert not GLPlus().in_manifold(torch.diag(torch.tensor([1.0, -1.0])), 1e9)
    assert not GLPlus().in_manifold(torch.zeros(2, 2), 1e9)
    assert GLPlus().in_manifold(GLPlus().project(torch.randn(30, 3, 3)))
    assert SL().in_manifold(SL().project(torch.randn(30, 3, 3)))
    assert not SL().in_manifold(2 * torch.eye(2))
    assert not SL().in_manifold(torch.zeros(2, 2), 1e9)


def test_parameters_are_checked() -> None:
    for manifold in (GLPlus, SL):
        with pytest.raises(MapError, match="exp, lie"):
            manifold("qr")
