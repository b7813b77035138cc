import pytest
import torch

from manifolds.expm.jet import (
    add_product,
    derivative_from_tape,
    exp_of_jet,
    make_plan,
    one_norms,
    parts,
)
from manifolds.expm.scheme import squarings


def matrices(batch: int, n: int, scale: float, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(batch, n, n, generator=generator, dtype=torch.float64) * scale


@pytest.mark.parametrize("mask", range(16))
def test_parts_are_all_subsets(mask: int) -> None:
    found = list(parts(mask))
    assert sorted(found) == [part for part in range(16) if part & mask == part]


@pytest.mark.parametrize("scale", [0.0, 1e-9, 1e-5, 1e-2, 0.05, 0.3, 2.0, 9.0])
@pytest.mark.parametrize("batch", [1, 3])
def test_first_component_is_the_exponential(batch: int, scale: float) -> None:
    matrix = matrices(batch, 4, scale)
    (value,), _ = exp_of_jet([matrix], make_plan(matrix))
    expected = torch.matrix_exp(matrix)
    size = float(expected.abs().max())
    torch.testing.assert_close(value, expected, rtol=0, atol=1e-12 * size)


def test_directions_are_nilpotent() -> None:
    """The components of all subsets, against derivatives along a polynomial."""
    matrix, first, second = matrices(3, 3, 0.7).split(1)
    zero = torch.zeros_like(matrix)
    jet, _ = exp_of_jet([matrix, first, second, zero], make_plan(matrix, 2))
    n = 3
    block = torch.zeros(4 * n, 4 * n, dtype=matrix.dtype)
    places = {(i, i): matrix for i in range(4)}
    places |= {(0, 1): first, (2, 3): first, (0, 2): second, (1, 3): second}
    for (i, j), value in places.items():
        block[i * n : (i + 1) * n, j * n : (j + 1) * n] = value[0]
    exponential = torch.matrix_exp(block)
    for mask in range(4):
        expected = exponential[:n, mask * n : (mask + 1) * n]
        torch.testing.assert_close(jet[mask][0], expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("scale", [1e-9, 1e-2, 0.05, 0.3, 2.0, 9.0])
def test_tape_gives_the_derivative(scale: float) -> None:
    matrix, direction = matrices(2, 5, scale).split(1)
    plan = make_plan(matrix)
    (_, expected), tape = exp_of_jet([matrix, direction], plan)
    assert torch.equal(derivative_from_tape(tape, direction), expected)
    adjoint_matrix = matrix.mH.contiguous()
    (_, adjoint), _ = exp_of_jet([adjoint_matrix, direction], make_plan(adjoint_matrix))
    found = derivative_from_tape(tape.adjoint(), direction)
    size = float(adjoint.abs().max())
    torch.testing.assert_close(found, adjoint, rtol=0, atol=1e-12 * size)


def test_each_matrix_of_a_batch_is_scaled_on_its_own() -> None:
    matrix = matrices(1, 3, 1.0) * torch.tensor([1e-9, 1.0, 60.0]).view(-1, 1, 1)
    plan = make_plan(matrix)
    assert plan.halvings[0] == 0 < plan.halvings[1] < plan.halvings[2]
    (batched,), tape = exp_of_jet([matrix], plan)
    direction = matrices(3, 3, 1.0, seed=1)
    derivative = derivative_from_tape(tape, direction)
    for i in range(3):
        alone = matrix[i : i + 1]
        (one, other), _ = exp_of_jet([alone, direction[i : i + 1]], make_plan(alone))
        torch.testing.assert_close(batched[i], one[0], rtol=1e-11, atol=1e-12)
        torch.testing.assert_close(derivative[i], other[0], rtol=1e-10, atol=1e-11)


def test_powers_ask_for_fewer_halvings_than_the_norm() -> None:
    x = matrices(2, 150, 1.0)
    skew = x - x.mT
    nilpotent = torch.zeros(1, 150, 150, dtype=torch.float64)
    nilpotent[0, 0, 1] = nilpotent[0, 2, 3] = 30
    for matrix in (skew, nilpotent):
        plan = make_plan(matrix)
        norms = one_norms(matrix).tolist()
        plain = [squarings(norm, 1, 2.0**-53) for norm in norms]
        assert all(few < many for few, many in zip(plan.halvings, plain, strict=True))
        torch.testing.assert_close(plan.powers[1], matrix @ matrix @ matrix)
        (value, derivative), tape = exp_of_jet([matrix, x[: len(matrix)]], plan)
        expected = torch.matrix_exp(matrix)
        size = float(expected.abs().max())
        torch.testing.assert_close(value, expected, rtol=0, atol=1e-11 * size)
        replayed = derivative_from_tape(tape, x[: len(matrix)])
        torch.testing.assert_close(replayed, derivative)


def test_cubes_that_might_overflow_are_not_made() -> None:
    assert make_plan(matrices(1, 3, 1e9)).powers == ()
    assert make_plan(matrices(1, 3, 1e-3)).powers == ()


def test_plan_names_what_is_broken() -> None:
    matrix = matrices(4, 2, 1.0)
    matrix[1, 0, 0] = torch.nan
    matrix[3, 1, 0] = torch.inf
    plan = make_plan(matrix)
    assert plan.broken == (1, 3)
    assert plan.halvings[1] == plan.halvings[3] == 0


@pytest.mark.parametrize("batch", [1, 2])
def test_add_product_ignores_the_target_at_beta_0(batch: int) -> None:
    left, right = matrices(batch, 3, 1.0), matrices(batch, 3, 1.0, seed=2)
    target = torch.full_like(left, torch.nan)
    add_product(target, left, right, beta=0)
    torch.testing.assert_close(target, left @ right)
    add_product(target, left, right, beta=1)
    torch.testing.assert_close(target, 2 * left @ right)
