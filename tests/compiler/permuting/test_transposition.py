"""Transposes of any extents against torch."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.errors import BackendError, NotATensorError
from compiler.permutations import transpose
from compiler.permuting.execute import Backend
from compiler.permuting.index_map import IndexMap
from compiler.permuting.transposition import rotation, transpose_matrices

PATHS: tuple[Backend, ...] = ("cpp", "interpreter", "torch")
DTYPES = (torch.int8, torch.bfloat16, torch.float32, torch.int64, torch.complex128)


@given(
    st.tuples(st.integers(0, 3), st.integers(0, 40), st.integers(0, 70)),
    st.sampled_from(DTYPES),
    st.sampled_from(PATHS),
)
@settings(max_examples=120)
def test_the_law(
    shape: tuple[int, int, int], dtype: torch.dtype, backend: Backend
) -> None:
    size = shape[0] * shape[1] * shape[2]
    x = torch.arange(size).to(dtype).view(shape)
    result = transpose_matrices(x, backend=backend)
    assert result.is_contiguous()
    assert torch.equal(result, x.transpose(1, 2))


@pytest.mark.parametrize("backend", PATHS)
@pytest.mark.parametrize(
    "shape", [(2, 3, 5000), (2, 5000, 3), (1, 130, 1), (1, 67, 129)]
)
def test_several_tiles(shape: tuple[int, int, int], backend: Backend) -> None:
    x = torch.randn(shape)
    assert torch.equal(transpose_matrices(x, backend=backend), x.transpose(1, 2))


@pytest.mark.parametrize("rows", [1, 2, 8, 64])
@pytest.mark.parametrize("columns", [1, 4, 32])
def test_powers_of_two_turn_the_index(rows: int, columns: int) -> None:
    assert rotation(rows, columns) == IndexMap.from_layout(transpose(rows, columns))


def test_strided_input_is_read_as_it_is_seen() -> None:
    x = torch.randn(4, 10, 6)[::2, 1:8, ::2]
    assert torch.equal(transpose_matrices(x), x.transpose(1, 2))


@pytest.mark.parametrize("shape", [(1, 3, 5), (2, 4, 2)])
def test_derivatives(shape: tuple[int, int, int]) -> None:
    x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda y: transpose_matrices(y) ** 2, (x,))
    assert torch.autograd.gradgradcheck(lambda y: transpose_matrices(y) ** 2, (x,))


def test_errors() -> None:
    with pytest.raises(NotATensorError):
        transpose_matrices([[[1]]])  # type: ignore[arg-type]
    with pytest.raises(BackendError):
        transpose_matrices(torch.zeros(1, 3, 3), backend="triton")


@pytest.mark.gpu
@pytest.mark.parametrize("shape", [(2, 3, 5000), (1, 67, 129)])
def test_on_a_gpu(shape: tuple[int, int, int]) -> None:
    x = torch.randn(shape)
    assert torch.equal(transpose_matrices(x.cuda()).cpu(), x.transpose(1, 2))
