import math

import mpmath  # type: ignore[import-untyped]
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from manifolds.charts.stumpff import evaluate, stumpff

REALS = st.floats(-60, 60)


def exact(order: int, x: float) -> float:
    with mpmath.workdps(60):
        terms = (
            (-mpmath.mpf(x)) ** i / mpmath.factorial(order + 2 * i) for i in range(120)
        )
        return float(mpmath.fsum(terms))


@given(st.integers(0, 6), REALS)
def test_values_are_those_of_the_series(order: int, x: float) -> None:
    found = float(evaluate(order, torch.tensor(x, dtype=torch.float64)))
    size = max(abs(exact(order, x)), 1 / math.factorial(order))
    assert abs(found - exact(order, x)) < 1e-14 * size * 10


@given(st.integers(0, 4), REALS)
def test_recurrence(order: int, x: float) -> None:
    y = torch.tensor(x, dtype=torch.float64)
    total = stumpff(order, y) + y * stumpff(order + 2, y)
    size = max(1.0, abs(float(stumpff(order, y))))
    assert abs(float(total) - 1 / math.factorial(order)) < 1e-12 * size


@pytest.mark.parametrize("order", [0, 1, 2])
def test_derivatives_of_two_orders(order: int) -> None:
    x = torch.tensor([0.0, 1e-9, -1e-9, 0.5, 3.9, 4.1, -4.1, 30.0, -30.0])
    x = x.double().requires_grad_()
    assert torch.autograd.gradcheck(lambda t: stumpff(order, t), x)
    assert torch.autograd.gradgradcheck(lambda t: stumpff(order, t), x)


def test_names() -> None:
    x = torch.linspace(-3, 3, 13, dtype=torch.float64)
    torch.testing.assert_close(stumpff(0, x**2), x.cos())
    torch.testing.assert_close(stumpff(0, -(x**2)), x.cosh())
    torch.testing.assert_close(stumpff(1, x**2), torch.sinc(x / math.pi))
