import pytest
import torch
from hypothesis import find, given
from torch import Tensor

from manifolds.strategies import MANIFOLDS, Case, cases, scales
from manifolds.trivialization import Trivialization

DOUBLE = torch.float64


@given(cases(), scales())
def test_what_is_drawn_is_valid(case: Case, scale: float) -> None:
    case.manifold.check(case.shape, case.dtype)
    assert case.weight().shape == case.shape
    for point, free in zip(case.points(), case.coordinates(scale), strict=True):
        assert point.shape == free.shape
        assert point.dtype == free.dtype


def test_cases_repeat() -> None:
    case = Case("SO exp", *MANIFOLDS["SO exp"][:2], torch.float64, 4)
    assert torch.equal(case.weight(), case.weight())
    assert not torch.equal(case.coordinates(1.0, 1)[0], case.coordinates(1.0, 2)[0])


def test_each_manifold_can_be_drawn() -> None:
    assert find(cases(), lambda case: True).name == next(iter(MANIFOLDS))
    assert find(cases(), lambda case: case.name == "product").name == "product"


REAL = [name for name, (_, _, dtypes) in MANIFOLDS.items() if DOUBLE in dtypes]
"""The fusing compiler leaves complex graphs to PyTorch's operators."""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")
@pytest.mark.parametrize("name", REAL)
def test_every_parametrization_compiles_to_the_same(name: str) -> None:
    """Weight and gradient of a batch, by the fusing compiler, against eager mode."""
    manifold, shape, _ = MANIFOLDS[name]
    case = Case(name, manifold, (2, *shape), DOUBLE, 1)
    trivialization = Trivialization(manifold, case.weight())
    free = [y.requires_grad_() for y in case.coordinates(0.3)]

    def f(*free: Tensor) -> Tensor:
        weight: Tensor = trivialization(*free)
        return weight.sin().cumsum(-1)

    expected = f(*free)
    gradient = torch.randn_like(expected)
    wanted = torch.autograd.grad(expected, free, gradient)
    value = torch.compile(f, backend="tilewright")(*free)
    found = torch.autograd.grad(value, free, gradient)
    for one, other in zip((value, *found), (expected, *wanted), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-10)
    torch._dynamo.reset()
