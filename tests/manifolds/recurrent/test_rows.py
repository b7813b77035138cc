import pytest
import torch

from manifolds.errors import ShapeError
from manifolds.recurrent.rows import FEW, choose_rows


@pytest.mark.parametrize("rows", [1, 10, FEW, FEW + 1])
@pytest.mark.parametrize("shape", [(), (3,), (2, 5)])
def test_it_is_an_embedding(rows: int, shape: tuple[int, ...]) -> None:
    matrix = torch.randn(rows, 3, requires_grad=True)
    index = torch.randint(rows, shape)
    found = choose_rows(matrix, index)
    expected = torch.nn.functional.embedding(index, matrix)
    assert torch.equal(found, expected)
    g = torch.randn_like(expected)
    (one,), (other,) = (torch.autograd.grad(y, matrix, g) for y in (found, expected))
    torch.testing.assert_close(one, other)


def test_a_broken_row_stays_alone() -> None:
    matrix = torch.ones(3, 2)
    matrix[1] = torch.nan
    chosen = choose_rows(matrix, torch.tensor([0, 1, 2]))
    assert chosen.isnan().any(1).tolist() == [False, True, False]


def test_gradgradcheck() -> None:
    matrix = torch.randn(3, 2, dtype=torch.float64, requires_grad=True)
    index = torch.tensor([0, 2, 2])
    assert torch.autograd.gradgradcheck(lambda m: choose_rows(m, index) ** 2, [matrix])


def test_complex_rows() -> None:
    matrix = torch.randn(3, 2, dtype=torch.complex128, requires_grad=True)
    index = torch.tensor([1, 1])
    assert torch.autograd.gradcheck(lambda m: choose_rows(m, index), [matrix])


def test_a_compiler_sees_one_graph() -> None:
    matrix = torch.randn(3, 2, requires_grad=True)
    index = torch.tensor([0, 2, 2])
    compiled = torch.compile(choose_rows, backend="aot_eager", fullgraph=True)
    (found,) = torch.autograd.grad(compiled(matrix, index).sum(), matrix)
    assert found.tolist() == [[1, 1], [0, 0], [2, 2]]
    torch._dynamo.reset()


def test_integers_of_any_width_choose_and_others_are_refused() -> None:
    matrix = torch.randn(2, 3)
    for dtype in (torch.bool, torch.uint8, torch.int16, torch.int32):
        index = torch.tensor([1, 0]).to(dtype)
        assert torch.equal(choose_rows(matrix, index), matrix[[1, 0]])
    for rows in (2, FEW + 1):
        for wrong in (-1, rows):
            with pytest.raises(ShapeError, match=f"0 to {rows - 1} .*{wrong}"):
                choose_rows(torch.randn(rows, 3), torch.tensor([0, wrong]))
