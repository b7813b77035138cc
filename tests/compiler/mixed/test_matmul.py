from collections.abc import Callable

import pytest
import torch

from algebra.errors import DimMismatchError
from compiler import quantised_matmul
from compiler.errors import BackendError, NotATensorError, OutputError
from compiler.mixed.formats import FORMATS
from compiler.mixed.pack import PackedWeight
from compiler.mixed.tiling import Tiling
from verify.mixed import random_weight


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=["bf16", "fp16"])
@pytest.mark.parametrize("format", FORMATS)
def test_on_the_cpu(
    excess: Callable[..., float],
    format: str,
    dtype: torch.dtype,
) -> None:
    weight = random_weight(format, 40, 192, FORMATS[format].block or 64, dtype)
    x = torch.randn(2, 3, 192, generator=torch.Generator().manual_seed(0)).to(dtype)
    got = quantised_matmul(x, weight)
    assert got.shape == (2, 3, 40)
    assert excess(got, x.double() @ weight.dequantise(torch.float64).T) < 1.05


def test_out() -> None:
    weight = random_weight("int8", 16, 64, 64)
    x = torch.ones(3, 64, dtype=torch.bfloat16)
    out = torch.empty(3, 16, dtype=torch.bfloat16)
    assert quantised_matmul(x, weight, out=out) is out
    assert torch.equal(out, quantised_matmul(x, weight))
    assert quantised_matmul(x[:0], weight).shape == (0, 16)


def test_bad_input() -> None:
    weight = random_weight("int4", 32, 128, 128)
    x = torch.ones(3, 128, dtype=torch.bfloat16)
    with pytest.raises(NotATensorError, match="pass it through"):
        quantised_matmul(x, x)  # type: ignore[arg-type]
    with pytest.raises(NotATensorError, match="float32"):
        quantised_matmul(x.float(), weight)
    with pytest.raises(DimMismatchError, match="k=128"):
        quantised_matmul(x[:, :64], weight)
    with pytest.raises(BackendError, match="meta"):
        quantised_matmul(x.to("meta"), weight)
    with pytest.raises(OutputError, match="out must be"):
        quantised_matmul(x, weight, out=x)
    with pytest.raises(DimMismatchError, match="depth"):
        quantised_matmul(x, weight, tiling=Tiling(rows=8, depth=512))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("m", [1, 16, 33, 200])
@pytest.mark.parametrize("format", FORMATS)
def test_on_a_gpu(
    excess: Callable[..., float],
    format: str,
    m: int,
) -> None:
    weight = random_weight(format, 528, 1024, FORMATS[format].block or 128)
    exact = weight.dequantise(torch.float64).cuda()
    moved = PackedWeight(
        weight.problem, weight.weight.cuda(), weight.scales.cuda(), None, weight.alpha
    )
    x = torch.randn(m, 1024, dtype=torch.bfloat16, device="cuda")
    out = torch.full((m, 528), torch.nan, dtype=torch.bfloat16, device="cuda")
    quantised_matmul(x, moved, out=out)
    assert excess(out, x.double() @ exact.T) < 1.05
