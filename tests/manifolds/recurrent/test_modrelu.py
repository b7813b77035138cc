import cmath

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from manifolds.recurrent.modrelu import modrelu, modrelu_adjoint

DTYPES = [torch.float64, torch.complex128]


@given(
    st.complex_numbers(max_magnitude=1e3),
    st.floats(-2, 2),
    st.floats(-4, 4),
)
def test_turning_commutes(z: complex, b: float, angle: float) -> None:
    turn = cmath.exp(1j * angle)
    bias = torch.tensor([b], dtype=torch.float64)
    one = modrelu(torch.tensor([z * turn], dtype=torch.complex128), bias)
    other = turn * modrelu(torch.tensor([z], dtype=torch.complex128), bias)
    if z and abs(z) > 1e-300:
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


@given(st.floats(-1e3, 1e3), st.floats(-2, 2))
def test_real_values(z: float, b: float) -> None:
    sign = (z > 0) - (z < 0)
    value = modrelu(
        torch.tensor([z], dtype=torch.float64), torch.tensor([b], dtype=torch.float64)
    )
    assert float(value) == sign * max(abs(z) + b, 0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_adjoint_needs_the_value_only(dtype: torch.dtype) -> None:
    z = torch.randn(200, 5, dtype=dtype).requires_grad_()
    bias = torch.randn(5, dtype=torch.float64).requires_grad_()
    g = torch.randn(200, 5, dtype=dtype)
    h = modrelu(z, bias)
    to_z, to_bias = torch.autograd.grad(h, (z, bias), g)
    found = modrelu_adjoint(h.detach(), bias.detach(), g)
    torch.testing.assert_close(found, to_z, rtol=1e-9, atol=1e-9)
    total = (h.detach().sgn().conj() * found).real.sum(0)
    torch.testing.assert_close(total, to_bias)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("b", [-1.0, 0.0, 1.0])
def test_zero_stays_zero_with_gradient_zero(b: float, dtype: torch.dtype) -> None:
    z = torch.zeros(3, dtype=dtype, requires_grad=True)
    bias = torch.full((3,), b, dtype=torch.float64)
    h = modrelu(z, bias)
    assert not h.any()
    assert not modrelu_adjoint(h.detach(), bias, torch.ones(3, dtype=dtype)).any()
    if not dtype.is_complex:
        (gradient,) = torch.autograd.grad(h.sum(), z)
        assert not gradient.any()


@pytest.mark.parametrize("dtype", DTYPES)
def test_gradients_of_both_orders(dtype: torch.dtype) -> None:
    z = torch.tensor([1.5, -2.0, 0.2, 3.0], dtype=dtype).requires_grad_()
    bias = torch.tensor([-0.5, 0.5, -0.5, 0.0], dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(modrelu, (z, bias))
    assert torch.autograd.gradgradcheck(modrelu, (z, bias))
