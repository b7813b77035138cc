"""Scale, bias and cast, alone and on the way of a permutation."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from compiler import permutations, permute
from compiler.errors import OutputError, PointwiseError
from compiler.permuting.pointwise import ROUNDED, Pointwise

DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float8_e5m2, *ROUNDED)


@given(
    st.sampled_from(DTYPES),
    st.floats(-100, 100, width=32),
    st.integers(0, 3),
    st.integers(0, 3),
)
def test_the_law_element_by_element(
    dtype: torch.dtype, scale: float, channel_bits: int, first_bit: int
) -> None:
    x = torch.linspace(-3, 3, 64)
    bias = torch.linspace(-1, 1, 1 << channel_bits)
    result = Pointwise(dtype, scale, bias, first_bit).apply(x)
    for i in range(64):
        value = x[i] * scale + bias[(i >> first_bit) % len(bias)]
        if dtype in ROUNDED:
            value = value.round().clamp(*ROUNDED[dtype])
        assert result[i].to(torch.float64) == value.to(dtype).to(torch.float64)


@pytest.mark.parametrize("dtype", DTYPES)
def test_permuted_on_the_way(dtype: torch.dtype) -> None:
    x, layout = torch.randn(2, 8, 16), permutations.transpose(8, 16)
    work = Pointwise(dtype, 2.0, torch.arange(8.0), 4)
    expected = permute(work.apply(x), layout)
    result = permute(x, layout, pointwise=work)
    assert result.dtype == dtype and result.shape == x.shape
    assert torch.equal(result.view(torch.uint8), expected.view(torch.uint8))
    out = torch.empty_like(x, dtype=dtype)
    assert permute(x, layout, out, pointwise=work) is out
    assert torch.equal(out.view(torch.uint8), expected.view(torch.uint8))


def test_gradients_pass_through() -> None:
    x = torch.randn(16, requires_grad=True)
    work = Pointwise(torch.float32, 3.0)
    permute(x, permutations.transpose(4, 4), pointwise=work).sum().backward()
    assert torch.equal(x.grad, torch.full((16,), 3.0))  # type: ignore[arg-type]


def test_errors() -> None:
    with pytest.raises(PointwiseError, match=r"dtype=torch\.float64"):
        Pointwise(torch.float64)
    with pytest.raises(PointwiseError, match=r"shape=\(3,\)"):
        Pointwise(torch.float32, bias=torch.zeros(3))
    work = Pointwise(torch.float16, bias=torch.zeros(4), first_bit=3)
    with pytest.raises(PointwiseError, match="numel=16"):
        work.apply(torch.zeros(16))
    with pytest.raises(PointwiseError, match="complex64"):
        work.check(torch.zeros(32, dtype=torch.complex64))
    with pytest.raises(OutputError, match=r"torch\.float16"):
        permute(
            torch.zeros(32),
            permutations.transpose(4, 8),
            torch.zeros(32),
            pointwise=work,
        )
