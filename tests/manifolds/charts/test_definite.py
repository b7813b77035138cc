import pytest
import torch

from manifolds.charts import SPD, Euclidean, Positive
from manifolds.charts.definite import logarithm
from manifolds.errors import MapError

DTYPES = [torch.float64, torch.complex128]


@pytest.mark.parametrize("dtype", DTYPES)
def test_exp_is_the_affine_invariant_geodesic(dtype: torch.dtype) -> None:
    """B exp(B^-1 A) for the tangent vector A."""
    b = SPD().sample((3, 3), dtype=dtype)
    free = torch.randn(3, 3, dtype=dtype)
    a = SPD().tangent(b, free)
    expected = b @ torch.matrix_exp(torch.linalg.solve(b, a))
    torch.testing.assert_close(SPD().move(b, free), expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_log_adds_logarithms(dtype: torch.dtype) -> None:
    b, c = SPD().sample((2, 3, 3), dtype=dtype)
    torch.testing.assert_close(torch.matrix_exp(logarithm(b)), b)
    moved = SPD("log").move(b, logarithm(c))
    torch.testing.assert_close(logarithm(moved), logarithm(b) + logarithm(c))


@pytest.mark.parametrize("dtype", DTYPES)
def test_cholesky_multiplies_factors(dtype: torch.dtype) -> None:
    b = SPD().sample((3, 3), dtype=dtype)
    zero_diagonal = torch.randn(3, 3, dtype=dtype).tril(-1)
    moved = SPD("cholesky").move(b, 2 * zero_diagonal)
    old, new = torch.linalg.cholesky(b), torch.linalg.cholesky(moved)
    eye = torch.eye(3, dtype=dtype)
    torch.testing.assert_close(new, old @ (eye + zero_diagonal))


def test_indefinite_matrices_are_raised() -> None:
    x = torch.diag(torch.tensor([-1.0, 2.0]))
    assert not SPD().in_manifold(x, 1e9)
    assert SPD().in_manifold(SPD().project(x))
    assert SPD().in_manifold(SPD().project(torch.zeros(2, 2)))
    assert not SPD().in_manifold(torch.tensor([[1.0, 0.5], [0.0, 1.0]]))


@pytest.mark.parametrize("map", ["exp", "softplus"])
def test_positive_numbers_stay_positive(map: str) -> None:
    p = torch.tensor([1e-6, 1.0, 50.0], dtype=torch.float64)
    for step in (-5.0, 5.0):
        assert (Positive(map).move(p, torch.full_like(p, step)) > 0).all()
    assert Positive().nearest(torch.tensor([-1.0])) > 0
    assert not Positive().in_manifold(torch.zeros(1), 1e9)


def test_euclidean_is_a_copy() -> None:
    x = torch.randn(3)
    assert Euclidean().nearest(x) is not x
    assert torch.equal(Euclidean().move(x, x), 2 * x)


def test_parameters_are_checked() -> None:
    with pytest.raises(MapError, match="exp, log, cholesky"):
        SPD("sqrt")
    with pytest.raises(MapError, match="exp, softplus"):
        Positive("relu")
