import torch
from hypothesis import find, given

from manifolds.strategies import MANIFOLDS, Case, cases, scales


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
