"""Both sides of each theorem of ``expm.v``: exact on integers, then the exponential."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import manifolds

LAW = settings(max_examples=20)
Tensor = torch.Tensor
Pair = tuple[Tensor, Tensor]


def matrices(size: int = 3, low: int = -3, high: int = 3) -> st.SearchStrategy[Tensor]:
    entries = st.lists(st.integers(low, high), min_size=size**2, max_size=size**2)
    return entries.map(lambda values: torch.tensor(values).reshape(size, size))


POLYNOMIALS = st.lists(st.integers(-3, 3), max_size=5)


def block(pair: Pair) -> Tensor:
    top = torch.cat([pair[0], pair[1]], dim=1)
    return torch.cat([top, torch.cat([0 * pair[0], pair[0]], dim=1)])


def times(x: Pair, y: Pair) -> Pair:
    return x[0] @ y[0], x[0] @ y[1] + x[1] @ y[0]


def evaluate(coefficients: list[int], a: Tensor) -> Tensor:
    value = torch.zeros_like(a)
    for c in reversed(coefficients):
        value = c * torch.eye(len(a), dtype=a.dtype) + a @ value
    return value


def pair_evaluate(coefficients: list[int], x: Pair) -> Pair:
    value = torch.zeros_like(x[0]), torch.zeros_like(x[0])
    for c in reversed(coefficients):
        first, second = times(x, value)
        value = c * torch.eye(len(x[0]), dtype=first.dtype) + first, second
    return value


def derivative(coefficients: list[int], a: Tensor, e: Tensor) -> Tensor:
    return pair_evaluate(coefficients, (a, e))[1]


@pytest.fixture(scope="module")
def expm() -> Callable[[Tensor], Tensor]:
    """The exponential of this project, where it is there; else PyTorch's."""
    ours: object = getattr(manifolds, "expm", None)
    exponential = ours if callable(ours) else torch.linalg.matrix_exp

    def on(a: Tensor) -> Tensor:
        value = exponential(a)
        assert isinstance(value, Tensor)
        return value

    return on


@pytest.fixture(scope="module")
def frechet(expm: Callable[[Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    """L(A, E): by the adjoint, the gradient of <exp(X), E> at the transpose of A."""

    def at(a: Tensor, e: Tensor) -> Tensor:
        point = a.double().T.contiguous().requires_grad_()
        (expm(point) * e.double()).sum().backward()
        assert point.grad is not None
        return point.grad

    return at


@LAW
@given(*[matrices()] * 4)
def test_product_of_pairs_is_product_of_blocks(
    p: Tensor, dp: Tensor, r: Tensor, dr: Tensor
) -> None:
    assert torch.equal(block(times((p, dp), (r, dr))), block((p, dp)) @ block((r, dr)))


@LAW
@given(matrices(), matrices())
def test_inverse_of_pair_is_inverse_of_block(p: Tensor, dp: Tensor) -> None:
    p = p.tril(-1) + torch.eye(3, dtype=p.dtype)
    inverse = torch.linalg.inv(p.double()).round().long()
    pair = inverse, -(inverse @ dp @ inverse)
    assert torch.equal(block((p, dp)) @ block(pair), torch.eye(6, dtype=p.dtype))
    assert torch.equal(block(pair) @ block((p, dp)), torch.eye(6, dtype=p.dtype))


@LAW
@given(matrices(), matrices(), st.integers(0, 5))
def test_power_of_pair_is_sum_over_the_place_of_the_direction(
    a: Tensor, e: Tensor, k: int
) -> None:
    power = torch.linalg.matrix_power
    words = [power(a, i) @ e @ power(a, k - 1 - i) for i in range(k)]
    second = sum(words, torch.zeros_like(a))
    assert torch.equal(power(block((a, e)), k), block((power(a, k), second)))


@LAW
@given(POLYNOMIALS, matrices(), matrices())
def test_polynomial_of_block_is_block_of_structured_pair(
    coefficients: list[int], a: Tensor, e: Tensor
) -> None:
    pair = pair_evaluate(coefficients, (a, e))
    assert torch.equal(evaluate(coefficients, block((a, e))), block(pair))
    assert torch.equal(pair[0], evaluate(coefficients, a))


def test_exponential_of_block_holds_the_derivative(
    expm: Callable[[Tensor], Tensor], frechet: Callable[[Tensor, Tensor], Tensor]
) -> None:
    a, e = torch.randn(2, 3, 3, generator=seeded(), dtype=torch.float64)
    corner = expm(block((a, e)))[:3, 3:]
    torch.testing.assert_close(frechet(a, e), corner)


@LAW
@given(POLYNOMIALS, st.integers(-3, 3), *[matrices()] * 3)
def test_derivative_is_linear_in_the_direction(
    coefficients: list[int], factor: int, a: Tensor, e: Tensor, f: Tensor
) -> None:
    both = derivative(coefficients, a, factor * e + f)
    apart = factor * derivative(coefficients, a, e) + derivative(coefficients, a, f)
    assert torch.equal(both, apart)


@LAW
@given(POLYNOMIALS, matrices(), matrices())
def test_derivative_along_a_commutator_is_a_commutator(
    coefficients: list[int], a: Tensor, y: Tensor
) -> None:
    value = evaluate(coefficients, a)
    along = derivative(coefficients, a, a @ y - y @ a)
    assert torch.equal(along, value @ y - y @ value)


def test_exponential_along_a_commutator(
    expm: Callable[[Tensor], Tensor], frechet: Callable[[Tensor, Tensor], Tensor]
) -> None:
    a, y = torch.randn(2, 3, 3, generator=seeded(), dtype=torch.float64)
    value = expm(a)
    torch.testing.assert_close(frechet(a, a @ y - y @ a), value @ y - y @ value)


@LAW
@given(POLYNOMIALS, *[matrices()] * 3)
def test_adjoint_of_derivative_is_derivative_at_the_transpose(
    coefficients: list[int], a: Tensor, e: Tensor, g: Tensor
) -> None:
    left = (derivative(coefficients, a, e) * g).sum()
    right = (e * derivative(coefficients, a.T, g)).sum()
    assert left == right


def seeded() -> torch.Generator:
    return torch.Generator().manual_seed(5)
