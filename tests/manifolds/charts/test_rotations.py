import pytest
import torch

from manifolds.charts import SO, SU, O, U
from manifolds.charts.rotations import MAPS, apply_map, check_complex
from manifolds.errors import MapError, PrecisionError, RankError
from manifolds.expm import expm

DOUBLE = torch.float64


@pytest.mark.parametrize("det", [1, -1])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_determinant_is_as_chosen(n: int, det: int) -> None:
    manifold = O(det=det)
    for weight in (
        manifold.sample((50, n, n), dtype=DOUBLE),
        manifold.project(torch.randn(50, n, n, dtype=DOUBLE)),
    ):
        assert manifold.in_manifold(weight)
        assert not O(det=-det).in_manifold(weight)
        torch.testing.assert_close(
            torch.linalg.det(weight), torch.full((50,), float(det), dtype=DOUBLE)
        )


def test_without_a_choice_the_sign_is_kept() -> None:
    x = torch.randn(50, 3, 3, dtype=DOUBLE)
    signs = torch.linalg.det(O().project(x)).sign()
    assert torch.equal(signs, torch.linalg.det(x).sign())


def test_moving_keeps_the_determinant() -> None:
    base = O(det=-1).sample((4, 4), dtype=DOUBLE)
    moved = O(det=-1).move(base, torch.randn(4, 4, dtype=DOUBLE) * 3)
    torch.testing.assert_close(torch.linalg.det(moved), torch.tensor(-1.0).double())


def test_haar_on_so3() -> None:
    """E[tr Q] = 0 and E[(tr Q)^2] = 1."""
    q = SO().sample((6000, 3, 3), dtype=DOUBLE)
    trace = q.diagonal(dim1=-2, dim2=-1).sum(-1)
    assert abs(trace.mean()) < 0.05
    assert abs(trace.square().mean() - 1) < 0.06


def test_special_unitary_has_determinant_one() -> None:
    for weight in (
        SU().sample((20, 3, 3), dtype=torch.complex128),
        SU().project(torch.randn(20, 3, 3, dtype=torch.complex128)),
    ):
        assert SU().in_manifold(weight)
    base = SU().sample((3, 3), dtype=torch.complex128)
    moved = SU().move(base, torch.randn(3, 3, dtype=torch.complex128))
    assert SU().in_manifold(moved, 1e-12)
    assert not SU().in_manifold(1j * moved)


def test_default_dtype_of_complex_groups() -> None:
    assert U().sample((2, 2)).dtype == torch.complex64
    assert SU().sample((2, 2)).dtype == torch.complex64


def test_a_function_is_a_map() -> None:
    base = SO().sample((3, 3), dtype=DOUBLE)
    free = torch.randn(3, 3, dtype=DOUBLE)
    own = SO(lambda a: expm(a / 2) @ expm(a / 2))
    torch.testing.assert_close(own.move(base, free), SO().move(base, free))
    assert torch.equal(apply_map("exp", free), MAPS["exp"](free))


def test_parameters_are_checked() -> None:
    with pytest.raises(MapError, match="exp, cayley"):
        SO("qr")
    with pytest.raises(RankError, match="det=2"):
        O(det=2)
    with pytest.raises(PrecisionError, match="use SO or O"):
        check_complex(U(), torch.float32)
    with pytest.raises(PrecisionError, match="complex"):
        SO().check((2, 2), torch.complex64)
