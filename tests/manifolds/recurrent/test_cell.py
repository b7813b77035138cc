import pytest
import torch

from manifolds.charts import SO, U
from manifolds.errors import MapError, PrecisionError, ShapeError
from manifolds.rebase import trivialization_parameters
from manifolds.recurrent import ExpRNNCell, modrelu


def test_a_step_is_the_formula() -> None:
    cell = ExpRNNCell(3, 5)
    x, h = torch.randn(4, 3), torch.randn(4, 5)
    expected = modrelu(x @ cell.kernel + h @ cell.recurrent, cell.bias)
    torch.testing.assert_close(cell(x, h), expected)
    torch.testing.assert_close(cell(x), cell(x, torch.zeros(4, 5)))
    assert cell(x[0], h[0]).shape == (5,)


def test_integers_choose_rows() -> None:
    cell = ExpRNNCell(4, 6)
    x = torch.tensor([0, 3, 1])
    one_hot = torch.nn.functional.one_hot(x, 4).float()
    torch.testing.assert_close(cell(x), cell(one_hot))


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_complex_cells_are_unitary(dtype: torch.dtype) -> None:
    cell = ExpRNNCell(3, 5, dtype=dtype)
    assert U().in_manifold(cell.recurrent)
    assert cell(torch.randn(2, 3)).dtype == dtype
    assert not cell.bias.is_complex()


def test_start() -> None:
    cell = ExpRNNCell(200, 190)
    assert abs(float(cell.kernel.detach().var()) * 100 - 1) < 0.1
    assert cell.bias.abs().max() <= 0.01
    assert SO().in_manifold(cell.recurrent)
    (free,) = trivialization_parameters(cell, "recurrent")
    assert int(free.count_nonzero()) == 95


def test_the_number_of_parameters_is_the_papers() -> None:
    """n (n - 1) / 2 + n d_in + n + n d_out + d_out, 16.4 K for MNIST at n = 170."""
    cell = ExpRNNCell(1, 170)
    free = 170 * 169 // 2
    plain = sum(p.numel() for p in (cell.kernel, cell.bias))
    assert free + plain + 170 * 10 + 10 == 16415


def test_mistakes_are_named() -> None:
    with pytest.raises(ShapeError, match="hidden_size=0"):
        ExpRNNCell(1, 0)
    with pytest.raises(PrecisionError, match="bfloat16"):
        ExpRNNCell(1, 2, dtype=torch.bfloat16)
    with pytest.raises(MapError, match="henaff"):
        ExpRNNCell(1, 2, init="xavier")
    cell = ExpRNNCell(3, 4)
    with pytest.raises(ShapeError, match=r"x\.shape=\(2, 2\)"):
        cell(torch.zeros(2, 2))
    with pytest.raises(ShapeError, match=r"h\.shape=\(2, 3\)"):
        cell(torch.zeros(2, 3), torch.zeros(2, 3))
    assert repr(cell).startswith("ParametrizedExpRNNCell(\n  3, 4")


def test_complex_inputs_of_a_real_cell_are_refused() -> None:
    with pytest.raises(PrecisionError, match=r"x\.dtype=torch\.complex64"):
        ExpRNNCell(3, 4)(torch.ones(2, 3, dtype=torch.complex64))
