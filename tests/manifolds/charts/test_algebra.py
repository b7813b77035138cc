import torch
from hypothesis import given
from hypothesis import strategies as st

from manifolds.charts.algebra import cayley, hermitian, skew, traceless

MATRICES = st.builds(
    lambda n, dtype, seed: torch.randn(
        2, n, n, dtype=dtype, generator=torch.Generator().manual_seed(seed)
    ),
    st.integers(1, 5),
    st.sampled_from((torch.float64, torch.complex128)),
    st.integers(0, 999),
)


@given(MATRICES)
def test_skew_and_hermitian_are_what_they_say(x: torch.Tensor) -> None:
    assert torch.equal(skew(x).mH, -skew(x))
    assert torch.equal(hermitian(x).mH, hermitian(x))
    assert torch.equal(skew(skew(x)), skew(x))
    assert torch.equal(hermitian(hermitian(x)), hermitian(x))


@given(MATRICES)
def test_trace_is_taken_away(x: torch.Tensor) -> None:
    trace = traceless(x).diagonal(dim1=-2, dim2=-1).sum(-1)
    torch.testing.assert_close(trace, torch.zeros_like(trace), rtol=0, atol=1e-13)
    torch.testing.assert_close(traceless(traceless(x)), traceless(x))


@given(MATRICES)
def test_cayley_of_skew_is_unitary(x: torch.Tensor) -> None:
    q = cayley(skew(x))
    eye = torch.eye(x.shape[-1], dtype=x.dtype).expand_as(x)
    torch.testing.assert_close(q.mH @ q, eye, rtol=0, atol=1e-12)


@given(MATRICES)
def test_cayley_is_exp_to_second_order(x: torch.Tensor) -> None:
    a = skew(x) * 1e-4
    torch.testing.assert_close(cayley(a), torch.matrix_exp(a), rtol=0, atol=1e-10)


@given(MATRICES)
def test_adjoint_of_cayley_is_the_formula(x: torch.Tensor) -> None:
    """grad = 1/2 M^H G (I + Q)^H with M = (I - A/2)^-1."""
    g = torch.randn_like(x)
    a = skew(x).requires_grad_()
    (found,) = torch.autograd.grad(cayley(a), a, g)
    eye = torch.eye(x.shape[-1], dtype=x.dtype)
    m = torch.linalg.inv(eye - a.detach() / 2)
    expected = m.mH @ g @ (eye + cayley(a.detach())).mH / 2
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)


def test_gradient_of_what_is_not_read_is_zero() -> None:
    real = torch.randn(4, 4, requires_grad=True)
    (gradient,) = torch.autograd.grad(skew(real), real, torch.randn(4, 4))
    assert torch.equal(gradient.tril(), torch.zeros(4, 4))
    free = torch.randn(4, 4, dtype=torch.complex64, requires_grad=True)
    g = torch.randn(4, 4, dtype=torch.complex64)
    (gradient,) = torch.autograd.grad(skew(free), free, g)
    assert gradient.diagonal().real.abs().max() == 0
    assert gradient.diagonal().imag.abs().min() > 0
    assert gradient.tril(-1).abs().max() == 0


def test_nan_gives_nan() -> None:
    assert cayley(torch.full((2, 2), torch.nan)).isnan().all()
