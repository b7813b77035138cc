import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from manifolds.charts import SO, U
from manifolds.recurrent.modrelu import modrelu
from manifolds.recurrent.scan import previous, scan

DOUBLE = torch.float64


def loop(
    inputs: Tensor, start: Tensor, weight: Tensor, bias: Tensor, sizes: list[int]
) -> Tensor:
    states = []
    h = start
    for x in inputs.split(sizes):
        h = modrelu(x + h[: len(x)] @ weight, bias)
        states.append(h)
    return torch.cat(states)


@st.composite
def cases(draw: st.DrawFn) -> tuple[tuple[Tensor, ...], list[int]]:
    dtype = draw(st.sampled_from((torch.float64, torch.complex128)))
    n = draw(st.integers(1, 4))
    sizes = sorted(draw(st.lists(st.integers(1, 4), min_size=1, max_size=6)))[::-1]
    generator = torch.Generator().manual_seed(draw(st.integers(0, 999)))

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, dtype=dtype, generator=generator).requires_grad_()

    group = U() if dtype.is_complex else SO()
    weight = group.sample((n, n), dtype=dtype, generator=generator).requires_grad_()
    bias = (torch.randn(n, dtype=DOUBLE, generator=generator) / 2).requires_grad_()
    return (normal(sum(sizes), n), normal(sizes[0], n), weight, bias), sizes


@settings(max_examples=60)
@given(cases())
def test_scan_is_the_loop(case: tuple[tuple[Tensor, ...], list[int]]) -> None:
    (inputs, start, weight, bias), sizes = case
    tensors = (inputs, start, weight, bias)
    found = scan(inputs, start, weight, bias, sizes)
    expected = loop(inputs, start, weight, bias, sizes)
    torch.testing.assert_close(found, expected)
    g = torch.randn(expected.shape, dtype=expected.dtype)
    pairs = zip(
        torch.autograd.grad(found, tensors, g),
        torch.autograd.grad(expected, tensors, g),
        strict=True,
    )
    for one, other in pairs:
        torch.testing.assert_close(one, other, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_gradcheck(dtype: torch.dtype) -> None:
    group = U() if dtype.is_complex else SO()
    inputs = torch.randn(7, 3, dtype=dtype) * 3
    start = torch.randn(3, 3, dtype=dtype) * 3
    weight = group.sample((3, 3), dtype=dtype)
    bias = torch.tensor([-0.3, 0.0, 0.3], dtype=DOUBLE)
    tensors = [t.requires_grad_() for t in (inputs, start, weight, bias)]
    assert torch.autograd.gradcheck(
        lambda x, h, w, b: scan(x, h, w, b, (3, 3, 1)), tensors
    )


def test_gradients_that_nobody_wants() -> None:
    inputs = torch.randn(4, 2, requires_grad=True)
    states = scan(inputs, torch.zeros(2, 2), torch.eye(2), torch.zeros(2), [2, 2])
    (gradient,) = torch.autograd.grad(states.sum(), inputs)
    assert gradient.shape == (4, 2)


def test_a_linear_orthogonal_recurrence_keeps_the_norm() -> None:
    """Bias zero, no input: after 1000 steps in float32."""
    weight = SO().sample((32, 32))
    start = torch.randn(4, 32)
    states = scan(torch.zeros(4000, 32), start, weight, torch.zeros(32), [4] * 1000)
    ratio = states[-4:].norm(dim=1) / start.norm(dim=1)
    assert (ratio - 1).abs().max() < 1e-3


def test_previous_of_no_step() -> None:
    assert previous(torch.zeros(0, 2), torch.zeros(0, 2), ()).shape == (0, 2)


@pytest.mark.parametrize("sizes", [(3, 3), (3, 2, 1)])
def test_a_compiler_sees_one_node_a_scan(sizes: tuple[int, ...]) -> None:
    inputs, start = torch.randn(sum(sizes), 4), torch.randn(3, 4)
    weight, bias = SO().sample((4, 4)), torch.randn(4) / 3
    tensors = [t.requires_grad_() for t in (inputs, start, weight, bias)]

    def f(x: Tensor, h: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return scan(x, h, w, b, sizes).square().sum()

    compiled = torch.compile(f, backend="aot_eager", fullgraph=True)
    found = torch.autograd.grad(compiled(*tensors), tensors)
    expected = torch.autograd.grad(f(*tensors), tensors)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)
    torch._dynamo.reset()
