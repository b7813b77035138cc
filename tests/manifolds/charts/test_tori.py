import math

import pytest
import torch

from manifolds.charts import skew
from manifolds.charts.tori import haar, phased_qr, torus
from manifolds.errors import MapError


@pytest.mark.parametrize("n", [1, 2, 5, 190])
def test_henaff_turns_planes_by_uniform_angles(n: int) -> None:
    a = skew(torus("henaff", (n, n), dtype=torch.float64))
    angles = a.diagonal(1)[::2]
    assert a.count_nonzero() == 2 * (n // 2)
    assert (angles.abs() <= math.pi).all()
    rotation = torch.matrix_exp(a)
    for i in range(0, n - 1, 2):
        torch.testing.assert_close(rotation[i, i], angles[i // 2].cos())
        torch.testing.assert_close(rotation[i, i + 1], angles[i // 2].sin())


def test_henaff_angles_are_uniform() -> None:
    angles = torus("henaff", (2000, 2, 2), dtype=torch.float64)[:, 0, 1]
    assert abs(angles.mean()) < 0.2
    assert abs(angles.var() - math.pi**2 / 3) < 0.2


def test_cayley_angles() -> None:
    """Under the older map (I + A)^-1 (I - A) they are rotations by t in [0, pi/2]."""
    a = skew(torus("cayley", (500, 2, 2), dtype=torch.float64))
    assert (a[:, 0, 1] <= 0).all()
    eye = torch.eye(2, dtype=torch.float64)
    rotation = torch.linalg.solve(eye + a, eye - a)
    t = torch.atan2(rotation[:, 0, 1], rotation[:, 0, 0])
    assert ((t >= 0) & (t <= math.pi / 2)).all()
    assert abs(t.mean() - math.pi / 4) < 0.1
    torch.testing.assert_close((-a[:, 0, 1]), torch.tan(t / 2))


def test_no_other_torus() -> None:
    with pytest.raises(MapError, match="henaff, cayley"):
        torus("clifford", (2, 2))


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
def test_haar_moments(shape: tuple[int, int], dtype: torch.dtype) -> None:
    """Each entry has mean 0 and mean square 1/n; the trace of O(n) has variance 1."""
    q = haar((4000, *shape), dtype=dtype)
    assert q.mean(0).abs().max() < 0.05
    squares = q.abs().square().mean(0)
    torch.testing.assert_close(
        squares, torch.full_like(squares, 1 / max(shape)), rtol=0, atol=0.03
    )
    if shape == (3, 3):
        trace = q.diagonal(dim1=-2, dim2=-1).sum(-1)
        assert abs(trace.abs().square().mean() - 1) < 0.1


def test_haar_is_invariant_under_a_rotation() -> None:
    """The third moment of an entry's turn, which a QR without phases fails."""
    q = haar((4000, 2, 2), dtype=torch.float64)
    angle = torch.atan2(q[:, 1, 0], q[:, 0, 0])
    counts = torch.histc(angle, 8, -math.pi, math.pi)
    assert ((counts - 500).abs() < 100).all()
    assert 0.45 < (torch.linalg.det(q) > 0).double().mean() < 0.55


def test_generators_repeat() -> None:
    def draw() -> torch.Tensor:
        generator = torch.Generator().manual_seed(3)
        return haar((3, 3), generator=generator)

    assert torch.equal(draw(), draw())


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_phased_qr_has_a_positive_diagonal(dtype: torch.dtype) -> None:
    x = torch.randn(5, 4, 2, dtype=dtype)
    r = phased_qr(x).mH @ x
    diagonal = r.diagonal(dim1=-2, dim2=-1)
    assert (diagonal.real > 0).all()
    if dtype.is_complex:
        assert diagonal.imag.abs().max() < 1e-12
