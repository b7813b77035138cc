import pytest
import torch

from manifolds.charts import PSD, AlmostOrthogonal, LowRank
from manifolds.charts.factored import WAVES, check_rank
from manifolds.errors import MapError, RankError

DOUBLE = torch.float64


@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (3, 3)])
def test_projection_is_the_truncation(shape: tuple[int, int]) -> None:
    x = torch.randn(*shape, dtype=DOUBLE)
    left, values, right = torch.linalg.svd(x, full_matrices=False)
    expected = left[:, :2] * values[:2] @ right[:2]
    for manifold in (LowRank(2), LowRank(2, exact=True)):
        assert not manifold.in_manifold(x)
        torch.testing.assert_close(manifold.project(x), expected)


def test_exact_rank_is_exact() -> None:
    one = torch.ones(3, 3)
    assert LowRank(2).in_manifold(one)
    assert LowRank(3).in_manifold(torch.zeros(3, 3))
    assert not LowRank(2, exact=True).in_manifold(torch.zeros(3, 3), 1e9)
    assert torch.linalg.matrix_rank(LowRank(2).sample((5, 4), dtype=DOUBLE)) == 2


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_psd_has_that_many_positive_eigenvalues(rank: int) -> None:
    x = PSD(rank).project(torch.randn(3, 3, dtype=DOUBLE) + 4 * torch.eye(3))
    values = torch.linalg.eigvalsh(x)
    assert (values[-rank:] > 1e-6).all()
    assert values[:-rank].abs().max() < 1e-12 if rank < 3 else True
    assert not PSD(rank).in_manifold(-torch.eye(3), 1e9)


@pytest.mark.parametrize("wave", list(WAVES))
def test_waves_are_inverted(wave: str) -> None:
    y = torch.linspace(-0.99, 0.99, 21, dtype=DOUBLE)
    torch.testing.assert_close(WAVES[wave].forward(WAVES[wave].inverse(y)), y)


@pytest.mark.parametrize("wave", list(WAVES))
def test_singular_values_stay_in_their_interval(wave: str) -> None:
    manifold = AlmostOrthogonal(0.2, wave)
    x = manifold.project(5 * torch.randn(4, 3, dtype=DOUBLE))
    values = torch.linalg.svdvals(x)
    assert ((values >= 0.8 - 1e-12) & (values <= 1.2 + 1e-12)).all()
    assert not manifold.in_manifold(2 * torch.eye(3))


def test_parameters_are_checked() -> None:
    with pytest.raises(RankError, match="at most 3"):
        LowRank(4).check((3, 5), torch.float32)
    with pytest.raises(RankError, match="rank=0"):
        PSD(0)
    with pytest.raises(MapError):
        LowRank(1, map="log")
    with pytest.raises(RankError, match="radius=2"):
        AlmostOrthogonal(2)
    with pytest.raises(MapError, match="sin, tanh, sigmoid"):
        AlmostOrthogonal(0.5, "cos")
    check_rank(3, 3)
