import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.func import functional_call, grad, hessian, jacrev, jvp, vmap

from manifolds import orthogonal
from manifolds.errors import PrecisionError, ShapeError
from manifolds.expm import expm, frechet
from manifolds.expm.function import DTYPES, check_matrix

DOUBLE = torch.float64


def henaff(n: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    angles = (torch.rand(n // 2, generator=generator, dtype=DOUBLE) * 2 - 1) * torch.pi
    even = torch.arange(0, n - 1, 2)
    matrix = torch.zeros(n, n, dtype=DOUBLE)
    matrix[even, even + 1] = angles
    return matrix - matrix.T


def inner(x: Tensor, y: Tensor) -> Tensor:
    return (x.conj() * y).real.sum()


@st.composite
def matrix_lists(draw: st.DrawFn, count: int) -> list[Tensor]:
    dtype = draw(st.sampled_from((torch.float64, torch.complex128)))
    batch = draw(st.sampled_from(((), (1,), (2, 3), (0,))))
    n = draw(st.integers(0, 5))
    scale = draw(st.sampled_from((0.0, 1e-12, 1e-6, 1e-3, 0.1, 1.0, 5.0)))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))
    return [
        torch.randn(*batch, n, n, dtype=dtype, generator=generator) * s
        for s in [scale, *[1.0] * (count - 1)]
    ]


@given(matrix_lists(1))
def test_inverse_is_the_exponential_of_the_negative(xs: list[Tensor]) -> None:
    (a,) = xs
    product = expm(a) @ expm(-a)
    size = (
        (torch.linalg.matrix_norm(expm(a)) * torch.linalg.matrix_norm(expm(-a))).max()
        if a.numel()
        else 1.0
    )
    eye = torch.eye(a.shape[-1], dtype=a.dtype).expand_as(a)
    torch.testing.assert_close(product, eye, rtol=0, atol=1e-13 * float(size) + 1e-13)


@given(matrix_lists(1))
def test_skew_gives_unitary(xs: list[Tensor]) -> None:
    a = xs[0] - xs[0].mH
    q = expm(a)
    eye = torch.eye(a.shape[-1], dtype=a.dtype).expand_as(a)
    torch.testing.assert_close(q.mH @ q, eye, rtol=0, atol=1e-12)
    if not a.is_complex() and a.numel():
        det = torch.linalg.det(q)
        torch.testing.assert_close(det, torch.ones_like(det), rtol=0, atol=1e-12)


@given(matrix_lists(2))
def test_conjugation_passes_through(xs: list[Tensor]) -> None:
    a, x = xs
    p = expm(x - x.mH)
    close(expm(p @ a @ p.mH), p @ expm(a) @ p.mH)


@given(matrix_lists(2))
def test_derivative_along_a_commutator(xs: list[Tensor]) -> None:
    a, y = xs
    e = expm(a)
    close(frechet(a, a @ y - y @ a), e @ y - y @ e, like=e)


@given(matrix_lists(1))
def test_derivative_along_the_matrix_itself(xs: list[Tensor]) -> None:
    (a,) = xs
    close(frechet(a, a), a @ expm(a))


@given(matrix_lists(3))
def test_adjoint_is_the_derivative_at_the_adjoint(xs: list[Tensor]) -> None:
    a, e, g = xs
    left, right = inner(frechet(a, e), g), inner(e, frechet(a.mH, g))
    close(left, right, like=expm(a))


@given(matrix_lists(4))
def test_second_derivative_is_symmetric_and_linear(xs: list[Tensor]) -> None:
    a, x, y, z = xs
    size = expm(a)
    close(frechet(a, x, y), frechet(a, y, x), like=size)
    both = frechet(a, x, y) + 2 * frechet(a, x, z)
    close(frechet(a, x, y + 2 * z), both, like=size)


@given(matrix_lists(2))
def test_four_forms_of_the_derivative_agree(xs: list[Tensor]) -> None:
    """Block, adjoint by autograd, skew form, divided differences."""
    a, g = xs[0] - xs[0].mH, xs[1]
    n = a.shape[-1]
    block = torch.zeros(*a.shape[:-2], 2 * n, 2 * n, dtype=a.dtype)
    block[..., :n, :n] = block[..., n:, n:] = a.mH
    block[..., :n, n:] = g
    found = frechet(a.mH, g)
    close(found, torch.matrix_exp(block)[..., :n, n:])
    leaf = a.clone().requires_grad_()
    (by_autograd,) = torch.autograd.grad(expm(leaf), leaf, g)
    close(found, by_autograd)
    b = expm(a)
    projected = (found - found.mH) / 2
    skew = (b.mH @ g - g.mH @ b) / 2
    close(projected, b @ frechet(-a, skew))
    values, vectors = torch.linalg.eigh(1j * a)
    half = torch.exp(-0.5j * values)
    sinc = torch.special.sinc
    gaps = (values[..., :, None] - values[..., None, :]) / (2 * torch.pi)
    phi = half[..., :, None] * half[..., None, :] * sinc(gaps)
    inside = vectors.mH @ g.to(vectors.dtype) @ vectors
    by_eigen = vectors @ (phi.conj() * inside) @ vectors.mH
    close(found, by_eigen if a.is_complex() else by_eigen.real)


def close(found: Tensor, expected: Tensor, like: Tensor | None = None) -> None:
    """Within 1e-11 of the largest size in play."""
    reference = expected if like is None else like
    size = max([float(x.abs().max()) for x in (expected, reference) if x.numel()] + [1])
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-11 * size)


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
@pytest.mark.parametrize("scale", [0.0, 0.03, 1.0, 4.0])
def test_gradients_of_any_order(dtype: torch.dtype, scale: float) -> None:
    generator = torch.Generator().manual_seed(5)
    a, e = torch.randn(2, 2, 2, dtype=dtype, generator=generator).unbind()
    a = (a * scale).requires_grad_()
    e = e.requires_grad_()
    assert torch.autograd.gradcheck(expm, a)
    assert torch.autograd.gradgradcheck(expm, a)
    assert torch.autograd.gradcheck(frechet, (a, e))
    assert torch.autograd.gradgradcheck(frechet, (a, e), fast_mode=True)


def test_gradient_of_one_argument_only() -> None:
    a, e = torch.randn(2, 3, 3, dtype=DOUBLE).unbind()
    a.requires_grad_()
    assert torch.autograd.gradcheck(lambda x: frechet(x, e), a)
    (gradient,) = torch.autograd.grad(
        frechet(e, a), a, torch.eye(3, dtype=DOUBLE), create_graph=True
    )
    assert gradient.shape == a.shape


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("n", [190, 360])
def test_float32_is_within_2e_6(n: int, dense: bool) -> None:
    exact = henaff(n)
    if dense:
        basis, _ = torch.linalg.qr(torch.randn(n, n, dtype=DOUBLE))
        exact = basis @ exact @ basis.T
    g = torch.randn(n, n, generator=torch.Generator().manual_seed(1), dtype=DOUBLE)
    a = exact.float().requires_grad_()
    exact = a.detach().double()
    value = expm(a)
    (gradient,) = torch.autograd.grad(value, a, g.float())
    for found, wanted in ((value, expm(exact)), (gradient, frechet(exact.mH, g))):
        error = (found.detach().double() - wanted).norm() / wanted.norm()
        assert error < 2e-6


@pytest.mark.parametrize("size", [1e-20, 1.0, 1e20])
def test_accuracy_does_not_depend_on_the_size_of_the_gradient(size: float) -> None:
    exact, g = henaff(20), torch.randn(20, 20, dtype=DOUBLE)
    found = frechet(exact.float(), (g * size).float()).double()
    wanted = frechet(exact, g * size)
    assert (found - wanted).norm() < 2e-6 * wanted.norm()


@pytest.mark.parametrize(
    ("angles", "smallest"),
    [
        ((1.0, 2.0), math.sin(1.5) / 1.5),
        ((math.pi, math.pi), 0.0),
        ((4.0, 2 * math.pi - 4), 0.0),
        ((0.0, 0.0), 1.0),
        ((math.pi * (1 - 1 / 95), math.pi * (1 - 2 / 95)), 0.016),
    ],
)
def test_where_the_exponential_of_so4_is_singular(
    angles: tuple[float, float], smallest: float
) -> None:
    """Singular values of its derivative are |sinc((x +- y) / 2)|.

    The last angles are the largest two that Henaff's start has at n = 190: there a
    static chart stretches some directions sixty times as much as others.
    """
    a = torch.zeros(4, 4, dtype=DOUBLE)
    a[0, 1], a[2, 3] = angles
    a = a - a.T
    rows, columns = torch.triu_indices(4, 4, 1)
    directions = torch.zeros(6, 4, 4, dtype=DOUBLE)
    directions[torch.arange(6), rows, columns] = 0.5**0.5
    directions = directions - directions.mT
    images = frechet(a.expand(6, 4, 4), directions).flatten(1)
    values = torch.linalg.svdvals(images)
    assert abs(float(values[-1]) - smallest) < 1e-3


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize(
    ("t", "dtype"),
    [
        *((t, torch.float64) for t in (2e-4, 0.03, 0.2, 0.9, 3.0)),
        *((t, torch.float32) for t in (0.03, 0.4, 1.2, 2.9, 5.0)),
    ],
)
def test_nilpotent_matrices_show_each_coefficient(
    t: float, dtype: torch.dtype, batch: int
) -> None:
    """``exp(t N)`` has ``t^k / k!`` on diagonal k, in the reach of every degree.

    (torch 2.13 has 0.9 of it on diagonal 5 of one matrix at 0.04 in float64, or 0.5 in
    float32: its degree 8 has a wrong coefficient, pytorch issue 196592.)
    """
    n = 10
    shift = torch.diag(torch.ones(n - 1, dtype=dtype), 1)
    value = expm((t * shift).expand(batch, n, n))[-1]
    for k in range(n):
        expected = torch.full((n - k,), t**k / math.factorial(k), dtype=torch.float64)
        near = 4 * torch.finfo(dtype).eps * math.exp(t)
        torch.testing.assert_close(
            value.diagonal(k).double(), expected, rtol=1e-5, atol=near
        )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(0, 0), (1, 1), (0, 3, 3), (2, 0, 0), (2, 1, 1)])
def test_smallest_matrices(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    a = torch.full(shape, 0.5, dtype=dtype, requires_grad=True)
    value = expm(a)
    assert value.shape == shape
    assert value.dtype == dtype
    torch.testing.assert_close(value, torch.matrix_exp(a))
    (gradient,) = torch.autograd.grad(value.real.sum(), a)
    assert gradient.shape == shape
    if shape[-1] == 1:
        torch.testing.assert_close(gradient, value)


def test_any_strides_and_conjugate_views() -> None:
    a = torch.randn(3, 2, 4, 4, dtype=torch.complex128)
    torch.testing.assert_close(expm(a.mH), expm(a.mH.resolve_conj().clone()))
    b = a.movedim(0, -1)[..., 0].transpose(0, 1)[:, :2, :2]
    torch.testing.assert_close(expm(b), expm(b.clone()))


@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf])
def test_a_broken_matrix_spoils_only_itself(bad: float) -> None:
    a = torch.randn(3, 4, 4, dtype=DOUBLE)
    whole = expm(a)
    a[1, 2, 0] = bad
    a.requires_grad_()
    value = expm(a)
    assert value[1].isnan().all()
    torch.testing.assert_close(value[[0, 2]], whole[[0, 2]])
    (gradient,) = torch.autograd.grad(value, a, torch.ones_like(value))
    assert gradient[1].isnan().all()
    assert gradient[[0, 2]].isfinite().all()


@pytest.mark.parametrize("scale", [1e10, 1e30])
def test_huge_skew_matrices_end(scale: float) -> None:
    a = torch.randn(3, 3, dtype=DOUBLE) * scale
    assert expm(a - a.T).shape == (3, 3)


def test_autocast_does_not_lower_the_precision() -> None:
    a = henaff(8).float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = expm(a)
    assert inside.dtype == torch.float32
    assert torch.equal(inside, expm(a))


@settings(max_examples=20)
@given(st.sampled_from([(), (3,), (2, 3), (4, 3, 2)]))
def test_what_is_not_square_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ShapeError, match=r"\[\.\.\., n, n\]"):
        expm(torch.zeros(shape))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.int64])
def test_other_dtypes_are_refused(dtype: torch.dtype) -> None:
    with pytest.raises(PrecisionError, match=r"float\(\)") as caught:
        expm(torch.zeros(2, 2, dtype=dtype))
    assert caught.value.facts["dtype"] == dtype


def test_directions_must_fit() -> None:
    a = torch.zeros(2, 2)
    with pytest.raises(ShapeError, match=r"directions\[1\]\.shape=\(3, 3\)"):
        frechet(a, a, torch.zeros(3, 3))
    with pytest.raises(PrecisionError, match=r"directions\[0\]"):
        frechet(a, a.double())
    assert torch.equal(frechet(a), expm(a))


def test_check_matrix_passes_what_is_square() -> None:
    check_matrix("x", torch.zeros(1, 1))


@pytest.mark.parametrize("dtype", [DOUBLE, torch.complex128])
def test_transforms_of_functions_agree_with_torch(dtype: torch.dtype) -> None:
    """Both modes, their compositions, and batches along any dim."""
    batch = torch.randn(4, 3, 3, dtype=dtype)

    def real(exponential: Any) -> Callable[[Tensor], Tensor]:
        return lambda x: exponential(x.to(dtype)).sin().real.sum()

    transforms: list[tuple[Any, Tensor]] = [
        (lambda f: jacrev(real(f)), batch[0].real),
        (vmap, batch),
        (lambda f: vmap(f, in_dims=2, out_dims=1), batch.movedim(0, 2)),
        (lambda f: vmap(grad(real(f))), batch),
        (lambda f: jacrev(jacrev(real(f))), batch[0].real),
        (lambda f: hessian(real(f)), batch[0].real),
        (lambda f: lambda a: jvp(f, (a,), (batch[1],))[1], batch[0]),
    ]
    for transform, x in transforms:
        found, expected = (transform(f)(x) for f in (expm, torch.matrix_exp))
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)
    one = vmap(frechet, in_dims=(0, None))(batch, batch[0])
    torch.testing.assert_close(one, frechet(batch, batch[0].expand_as(batch)))


def test_a_constrained_module_is_a_function_of_its_parameters() -> None:
    layer = orthogonal(torch.nn.Linear(3, 3))
    parameters = dict(layer.named_parameters())

    def loss(parameters: dict[str, Tensor]) -> Tensor:
        output: Tensor = functional_call(layer, parameters, (torch.ones(3),))
        return output.square().sum() + output.sum()

    found = grad(loss)(parameters)
    loss(parameters).backward()
    for name, parameter in layer.named_parameters():
        torch.testing.assert_close(found[name], parameter.grad)
