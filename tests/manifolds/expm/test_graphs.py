from collections.abc import Callable

import pytest
import torch

from manifolds.expm import expm, frechet
from manifolds.expm.graphs import MOST, exp_unread, read_plan, serves, square
from manifolds.expm.scheme import SCHEMES, reach

DOUBLE = torch.float64


@pytest.mark.parametrize("dtype", [torch.float32, DOUBLE, torch.complex128])
@pytest.mark.parametrize("order", [0, 1, 2])
def test_without_reading_the_norm(dtype: torch.dtype, order: int) -> None:
    """A batch of norms from zero to what needs all squarings but one."""
    matrix = torch.randn(5, 6, 6, dtype=dtype) / 6
    matrix = matrix - matrix.mH
    matrix *= torch.tensor([0, 1e-3, 1, 30, 120])[:, None, None]
    directions = list(torch.randn(order, 5, 6, 6, dtype=dtype))
    jet = [matrix]
    for direction in directions:
        zeros = [torch.zeros_like(matrix) for _ in range(len(jet) - 1)]
        jet += [direction, *zeros]
    found = exp_unread(jet)
    expected = frechet(matrix, *directions)
    errors = (found - expected).norm(dim=(1, 2)) / expected.norm(dim=(1, 2))
    assert errors.max() < (2e-5 if dtype == torch.float32 else 1e-13)


def test_too_many_squarings_give_nan_and_not_a_wrong_number() -> None:
    limit = reach(SCHEMES[-1].degree, 1, 2.0**-24) * 2**MOST
    matrix = torch.tensor([[[limit * 0.99]], [[limit * 1.01]], [[torch.nan]]]) * 1j
    found = exp_unread([matrix.to(torch.complex64)])
    assert found.isnan().flatten().tolist() == [False, True, True]


def test_square() -> None:
    a, b = torch.randn(2, 1, 3, 3, dtype=DOUBLE)
    value, slope = square([a, b])
    torch.testing.assert_close(value, a @ a)
    torch.testing.assert_close(slope, a @ b + b @ a)


def test_a_plan_is_read_from_the_norm() -> None:
    assert read_plan(torch.eye(3) * 3).halvings == (1,)
    assert read_plan(torch.eye(3)[None] * 0.1).scheme.degree == 8
    assert read_plan(torch.full((2, 2), torch.nan)).broken == (0,)
    assert not serves(torch.eye(3))


@pytest.mark.gpu
@pytest.mark.parametrize("shape", [(100, 100), (1, 190, 190)])
def test_replayed_graphs_keep_nothing(
    shape: tuple[int, ...], rounding: Callable[[torch.Tensor], float]
) -> None:
    """Two exponentials at once, gradients in either order, and a broken matrix."""
    ones = [torch.randn(shape, device="cuda") / 20 for _ in range(2)]
    ones = [(x - x.mT).requires_grad_() for x in ones]
    values = [expm(x) for x in ones]
    for x, value in zip(ones, values, strict=True):
        g = torch.randn_like(x)
        (found,) = torch.autograd.grad(value, x, g)
        exact = x.detach().double()
        allowed = rounding(exact)
        error = (value.detach() - expm(exact)).norm() / value.detach().norm()
        assert float(error) < allowed
        wanted = frechet(exact.mT, g.double())
        assert float((found - wanted).norm() / wanted.norm()) < allowed
    assert expm(torch.full(shape, torch.inf, device="cuda")).isnan().all()


@pytest.mark.gpu
@pytest.mark.parametrize("n", [3, 32, 100])
def test_recorded_by_somebody_else(n: int) -> None:
    matrix = torch.zeros(n, n, device="cuda", requires_grad=True)
    gradient = torch.randn(n, n, device="cuda")
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        torch.autograd.grad(expm(matrix), matrix, gradient)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        value = expm(matrix)
        (slope,) = torch.autograd.grad(value, matrix, gradient)
    for scale in (0.1, 5.0, 0.5):
        with torch.no_grad():
            matrix.copy_(torch.randn(n, n) / n**0.5 * scale)
        graph.replay()
        exact = matrix.detach().double()
        for one, other in (
            (value.detach(), expm(exact)),
            (slope.detach(), frechet(exact.mT, gradient.double())),
        ):
            assert float((one - other).norm() / other.norm()) < 1e-5
