import math

import pytest
import torch

from manifolds.charts import Hyperboloid, Sphere
from manifolds.charts.sphere import check_vectors, dot, lorentz
from manifolds.errors import MapError, ShapeError

DOUBLE = torch.float64


def test_great_circles_close() -> None:
    x = Sphere().sample((10, 4), dtype=DOUBLE)
    v = Sphere().tangent(x, torch.randn(10, 4, dtype=DOUBLE))
    v = v / dot(v, v).sqrt()
    torch.testing.assert_close(Sphere().move(x, math.pi * v), -x)
    torch.testing.assert_close(Sphere().move(x, 2 * math.pi * v), x)
    torch.testing.assert_close(Sphere().move(x, math.pi / 2 * v), v)


def test_the_sphere_of_one_dimension_is_two_points() -> None:
    x = torch.tensor([[1.0], [-1.0]])
    assert torch.equal(Sphere().move(x, torch.randn(2, 1)), x)


def test_project_is_the_direction_of_the_sum() -> None:
    x = Sphere().sample((3,), dtype=DOUBLE)
    v = Sphere().tangent(x, torch.randn(3, dtype=DOUBLE))
    total = x + v
    expected = total / total.norm()
    torch.testing.assert_close(Sphere("project").move(x, v), expected)


def test_nearest_of_zero_is_a_unit_vector() -> None:
    assert Sphere().nearest(torch.zeros(3)).tolist() == [1.0, 0.0, 0.0]


def test_uniform_on_the_sphere() -> None:
    """Archimedes: each coordinate of S^2 is uniform in [-1, 1]."""
    z = Sphere().sample((5000, 3))[:, 2]
    counts = torch.histc(z, 10, -1, 1)
    assert ((counts - 500).abs() < 110).all()


def test_hyperbolic_distance_is_the_length() -> None:
    x = Hyperboloid().sample((10, 3), dtype=DOUBLE)
    v = Hyperboloid().tangent(x, torch.randn(10, 3, dtype=DOUBLE))
    length = lorentz(v, v).sqrt()
    distance = torch.acosh(-lorentz(x, Hyperboloid().move(x, v)))
    torch.testing.assert_close(distance, length, rtol=1e-6, atol=1e-6)


def test_the_other_sheet_is_not_the_hyperboloid() -> None:
    assert not Hyperboloid().in_manifold(torch.tensor([-1.0, 0.0]), 1e9)
    assert Hyperboloid().nearest(torch.tensor([-1.0, 0.75])).tolist() == [1.25, 0.75]


def test_parameters_are_checked() -> None:
    with pytest.raises(MapError, match="exp, project"):
        Sphere("qr")
    with pytest.raises(ShapeError, match=r"shape=\(2, 0\)"):
        check_vectors(Sphere(), (2, 0))
    with pytest.raises(ShapeError):
        check_vectors(Sphere(), ())
