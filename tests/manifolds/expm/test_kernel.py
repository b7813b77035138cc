"""The Triton kernels in Triton's interpreter, against float64."""

import pytest
import torch
from torch import Tensor

from manifolds.expm import expm, frechet
from manifolds.expm.launch import launch


def worst(found: Tensor, exact: Tensor) -> float:
    errors = (found.double() - exact).norm(dim=(-2, -1)) / exact.norm(dim=(-2, -1))
    return float(errors.max())


@pytest.mark.parametrize("n", [2, 3, 4, 5, 16, 20, 33])
def test_values_and_derivatives(n: int) -> None:
    """Norms from 0.01 to far above what one polynomial reaches."""
    count = 7 if n <= 4 else 2
    matrix = torch.randn(count, n, n) / n
    matrix *= torch.logspace(-2, 1, count)[:, None, None]
    direction = torch.randn_like(matrix)
    exact = matrix.double()
    assert worst(launch(matrix, interpret=True), expm(exact)) < 2e-6
    found = launch(matrix, direction, interpret=True)
    assert worst(found, frechet(exact, direction.double())) < 4e-6


@pytest.mark.parametrize("n", [3, 6])
def test_a_transposed_matrix_is_read_in_place(n: int) -> None:
    matrix, direction = torch.randn(2, 3, n, n)
    exact = frechet(matrix.double().mT, direction.double())
    assert worst(launch(matrix.mT, direction, interpret=True), exact) < 2e-6
    value = launch(matrix.mT, interpret=True)
    assert torch.equal(value, launch(matrix.mT.contiguous(), interpret=True))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numpy's of inf * 0
@pytest.mark.parametrize("n", [2, 3, 4, 7])
@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf, 2e38])
def test_a_matrix_that_is_not_finite_is_all_nan_and_alone(n: int, bad: float) -> None:
    matrix = torch.randn(3, n, n)
    matrix[1, 0, :] = bad
    matrix[1, 1, :] = bad
    found = launch(matrix, interpret=True)
    assert found[1].isnan().all()
    assert not found[[0, 2]].isnan().any()


def test_zero_gives_the_identity_and_the_direction_exactly() -> None:
    for n in (2, 3, 5):
        zero, direction = torch.zeros(1, n, n), torch.randn(1, n, n)
        assert torch.equal(launch(zero, interpret=True)[0], torch.eye(n))
        assert torch.equal(launch(zero, direction, interpret=True), direction)
