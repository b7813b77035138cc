import pytest
import torch

from manifolds.charts.polar import (
    gram_defect,
    nonsingular,
    orthonormal,
    orthonormal_of_sign,
    svd,
    unimodular,
)
from manifolds.charts.tori import haar

DTYPES = [torch.float64, torch.complex128]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (4, 2), (2, 4), (3, 3)])
def test_orthonormal_is_the_polar_factor(
    shape: tuple[int, int], dtype: torch.dtype
) -> None:
    q = haar(shape, dtype=dtype)
    x = torch.randn(min(shape), min(shape), dtype=dtype)
    positive = x @ x.mH + torch.eye(min(shape), dtype=dtype)
    product = q @ positive if shape[0] >= shape[1] else positive @ q
    torch.testing.assert_close(orthonormal(product), q)
    assert gram_defect(q) < 1e-13


@pytest.mark.parametrize("det", [1, -1])
def test_no_orthogonal_matrix_of_that_sign_is_nearer(det: int) -> None:
    x = torch.randn(200, 3, 3, dtype=torch.float64)
    found = orthonormal_of_sign(x, det)
    torch.testing.assert_close(
        torch.linalg.det(found), torch.full((200,), float(det), dtype=torch.float64)
    )
    others = haar((200, 3, 3), dtype=torch.float64)
    others[..., 0] *= torch.linalg.det(others).sign()[..., None] * det
    near = torch.linalg.matrix_norm(x - found)
    assert (near <= torch.linalg.matrix_norm(x - others) + 1e-12).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 5])
def test_unimodular_has_determinant_one(n: int, dtype: torch.dtype) -> None:
    det = torch.linalg.det(unimodular(torch.randn(20, n, n, dtype=dtype)))
    torch.testing.assert_close(det, torch.ones_like(det))


def test_singular_matrices_are_raised() -> None:
    x = torch.diag(torch.tensor([1.0, 0.0], dtype=torch.float64))
    assert torch.linalg.det(nonsingular(x)) > 0
    assert (nonsingular(x) - x).abs().max() < 1e-7
    y = torch.diag(torch.tensor([2.0, 3.0]))
    assert torch.equal(nonsingular(y), y)


def test_svd_of_nan_is_nan_for_that_matrix_only() -> None:
    x = torch.randn(2, 3, 2)
    x[0, 0, 0] = torch.nan
    left, values, right = svd(x)
    assert all(part[0].isnan().all() for part in (left, values, right))
    torch.testing.assert_close((left * values[..., None, :])[1] @ right[1], x[1])
