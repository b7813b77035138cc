import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from compiler.errors import BuildError
from manifolds.expm import native
from manifolds.expm.jet import exp_of_jet, make_plan
from manifolds.expm.native import exponentiate, library, serves

BOUNDS = {torch.float32: 2e-6, torch.float64: 4e-15}


def reference(matrix: Tensor, direction: Tensor) -> list[Tensor]:
    """By the general scheme, which no compiled code shares, in float64."""
    jet = [matrix.double().contiguous(), direction.double()]
    return exp_of_jet(jet, make_plan(jet[0]))[0]


@settings(max_examples=40)
@given(
    st.sampled_from(list(BOUNDS)),
    st.integers(2, 16),
    st.integers(1, 40),
    st.integers(0, 99),
    st.integers(1, 2),
)
def test_values_and_derivatives(
    dtype: torch.dtype, n: int, count: int, seed: int, threads: int
) -> None:
    """Norms from 0.001 to ten; the error grows with the norm."""
    torch.set_num_threads(threads)
    generator = torch.Generator().manual_seed(seed)
    matrix = torch.randn(count, n, n, dtype=dtype, generator=generator) / n
    matrix *= torch.logspace(-3, 1, count, dtype=dtype)[:, None, None]
    direction = torch.randn(count, n, n, dtype=dtype, generator=generator)
    value, slope = reference(matrix, direction)
    norms = 1 + matrix.abs().sum(-2).amax(-1)
    for found, exact in (
        (exponentiate(matrix), value),
        (exponentiate(matrix, direction), slope),
    ):
        errors = (found - exact).norm(dim=(1, 2)) / exact.norm(dim=(1, 2))
        assert float((errors / norms).max()) < BOUNDS[dtype]


def test_a_transposed_matrix_is_read_in_place() -> None:
    matrix, direction = torch.randn(2, 20, 4, 4)
    copied = exponentiate(matrix.mT.contiguous(), direction)
    assert torch.equal(exponentiate(matrix.mT, direction), copied)
    strided = torch.randn(4, 4, 3).permute(2, 0, 1)
    assert torch.equal(exponentiate(strided), exponentiate(strided.contiguous()))


@pytest.mark.parametrize("n", [2, 3, 4, 6])
@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf])
def test_a_matrix_that_is_not_finite_is_all_nan_and_alone(n: int, bad: float) -> None:
    matrix = torch.randn(20, n, n)
    matrix[7, 0, 1] = bad
    for found in (exponentiate(matrix), exponentiate(matrix, torch.ones_like(matrix))):
        assert found[7].isnan().all()
        assert not found[[i for i in range(20) if i != 7]].isnan().any()


@pytest.mark.parametrize("n", [2, 3, 4, 5, 16])
def test_zero_gives_the_identity_and_the_direction_exactly(n: int) -> None:
    zero, direction = torch.zeros(n, n), torch.randn(n, n)
    assert torch.equal(exponentiate(zero), torch.eye(n))
    assert torch.equal(exponentiate(zero, direction), direction)


def test_what_is_served() -> None:
    assert serves(torch.zeros(4, 4)) and not serves(torch.zeros(17, 17))
    assert not serves(torch.zeros(4, 4, dtype=torch.complex64))
    assert not serves(torch.zeros(1, 1))


def test_without_a_compiler_the_general_scheme_remains(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:
        raise BuildError("no compiler", command="", output="")

    library.cache_clear()
    monkeypatch.setattr(native, "load_library", refuse)
    assert not serves(torch.zeros(4, 4))
    library.cache_clear()
