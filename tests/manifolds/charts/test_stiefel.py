import pytest
import torch

from manifolds.charts import Grassmannian, Stiefel
from manifolds.charts.stiefel import (
    cayley_step,
    check_frames,
    geodesic,
    qr_step,
    upright,
)
from manifolds.errors import MapError, ShapeError

DTYPES = [torch.float64, torch.complex128]
SHAPES = [(1, 1), (5, 1), (5, 2), (3, 2), (4, 4)]


def frame_and_tangent(
    shape: tuple[int, int], dtype: torch.dtype, scale: float = 1.0
) -> tuple[torch.Tensor, torch.Tensor]:
    u = Stiefel().sample(shape, dtype=dtype)
    return u, Stiefel().tangent(u, torch.randn(*shape, dtype=dtype) * scale)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("scale", [0.0, 1e-8, 1.0, 5.0])
def test_geodesic_is_the_exponential_of_the_whole_block(
    shape: tuple[int, int], dtype: torch.dtype, scale: float
) -> None:
    """With U_perp written out: Q exp([[A, -C^H], [C, 0]]) I_nk."""
    u, d = frame_and_tangent(shape, dtype, scale)
    n, k = shape
    full, _ = torch.linalg.qr(torch.cat([u, torch.randn(n, n, dtype=dtype)], 1))
    perp = full[:, k:]
    a, c = u.mH @ d, perp.mH @ d
    zero = torch.zeros(n - k, n - k, dtype=dtype)
    block = torch.cat([torch.cat([a, -c.mH], 1), torch.cat([c, zero], 1)])
    q = torch.cat([u, perp], 1)
    expected = q @ torch.matrix_exp(block)[:, :k]
    torch.testing.assert_close(geodesic(u, d), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(5, 2), (6, 3)])
def test_geodesic_is_edelmans_thin_form(
    shape: tuple[int, int], dtype: torch.dtype
) -> None:
    u, d = frame_and_tangent(shape, dtype)
    k = shape[1]
    a = u.mH @ d
    q, r = torch.linalg.qr(d - u @ a)
    zero = torch.zeros(k, k, dtype=dtype)
    block = torch.cat([torch.cat([a, -r.mH], 1), torch.cat([r, zero], 1)])
    expected = torch.cat([u, q], 1) @ torch.matrix_exp(block)[:, :k]
    torch.testing.assert_close(geodesic(u, d), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
def test_grassmann_geodesic_by_singular_values(dtype: torch.dtype) -> None:
    u = Grassmannian().sample((5, 2), dtype=dtype)
    free = torch.randn(5, 2, dtype=dtype)
    d = Grassmannian().tangent(u, free)
    w, s, vh = torch.linalg.svd(d, full_matrices=False)
    expected = (u @ vh.mH * s.cos() + w * s.sin()) @ vh
    found = Grassmannian().move(u, free)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_cayley_step_is_the_transform_of_the_big_matrix(
    shape: tuple[int, int], dtype: torch.dtype
) -> None:
    u, d = frame_and_tangent(shape, dtype)
    k = d - u @ (u.mH @ d)
    omega = d @ u.mH - u @ k.mH
    torch.testing.assert_close(omega.mH, -omega)
    eye = torch.eye(shape[0], dtype=dtype)
    expected = torch.linalg.solve(eye - omega / 2, (eye + omega / 2) @ u)
    torch.testing.assert_close(cayley_step(u, d), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("step", [geodesic, cayley_step])
def test_maps_agree_with_the_geodesic_to_second_order(step: object) -> None:
    assert callable(step)
    u, d = frame_and_tangent((5, 2), torch.float64, 1e-4)
    torch.testing.assert_close(step(u, d), geodesic(u, d), rtol=0, atol=1e-10)


def test_qr_step_at_zero_is_the_frame() -> None:
    u, _ = frame_and_tangent((5, 2), torch.float64)
    torch.testing.assert_close(qr_step(u, torch.zeros_like(u)), u)


def test_a_wide_matrix_is_the_adjoint_of_a_tall_one() -> None:
    u = Stiefel().sample((5, 2), dtype=torch.complex128)
    free = torch.randn(5, 2, dtype=torch.complex128)
    tall = Stiefel().move(u, free)
    torch.testing.assert_close(Stiefel().move(u.mH, free.mH), tall.mH)
    assert upright(lambda x, y: x, u.mH, free.mH).shape == (2, 5)


def test_thirty_thousand_rows() -> None:
    """No matrix of n x n is ever made: that one would take 7 GB."""
    u = Stiefel().sample((30_000, 5), dtype=torch.float32)
    moved = Stiefel().move(u, torch.randn(30_000, 5) * 0.01)
    assert Stiefel().in_manifold(moved, 1e-4)


def test_a_subspace_does_not_turn_within_itself() -> None:
    u = Grassmannian().sample((4, 2), dtype=torch.float64)
    inside = u @ torch.randn(2, 2, dtype=torch.float64)
    torch.testing.assert_close(Grassmannian().move(u, inside), u)


def test_parameters_are_checked() -> None:
    with pytest.raises(MapError, match="exp, cayley, qr"):
        Stiefel("log")
    with pytest.raises(MapError, match="exp, qr"):
        Grassmannian("cayley")
    with pytest.raises(ShapeError, match=r"shape=\(3, 0\)"):
        check_frames(Stiefel(), (3, 0), torch.float32)
