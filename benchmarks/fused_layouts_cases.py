"""Functions whose fused kernels read or write across what is adjacent in memory."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

F32, F16, BF16 = torch.float32, torch.float16, torch.bfloat16


@dataclass(frozen=True)
class Case:
    """A function that fuses to one kernel, or few.

    Attributes:
        name: Short.
        function: Of tensors and the type of its result.
        shapes: Of its arguments.
        dtype: Of its arguments.
        out: Type of its result.
    """

    name: str
    function: Callable[..., Tensor]
    shapes: tuple[tuple[int, ...], ...]
    dtype: torch.dtype
    out: torch.dtype

    def arguments(self, device: str = "cuda") -> list[Tensor]:
        """Return random arguments."""
        generator = torch.Generator(device=device).manual_seed(0)
        return [
            torch.randn(*shape, device=device, generator=generator).to(self.dtype)
            for shape in self.shapes
        ]

    def call(self, *arguments: Tensor) -> Tensor:
        """Return the function's result in its type."""
        return self.function(*arguments, self.out)

    def exact(self, arguments: list[Tensor]) -> Tensor:
        """Return the result in float64."""
        wide = [one.double() for one in arguments]
        return self.function(*wide, torch.float64)


def transposed_add(a: Tensor, b: Tensor, out: torch.dtype) -> Tensor:
    """A matrix and a transposed one."""
    return (a + b.T).to(out)


def scaled_rows(a: Tensor, b: Tensor, c: Tensor, out: torch.dtype) -> Tensor:
    """The same, with a factor for each column and a sigmoid."""
    return (torch.sigmoid(a + b.T) * c).to(out)


def channels_last(x: Tensor, bias: Tensor, out: torch.dtype) -> Tensor:
    """NCHW to NHWC with a bias and a ReLU."""
    moved = torch.relu(x + bias[:, None, None]).to(out)
    return moved.permute(0, 2, 3, 1).contiguous()


def channels_first(x: Tensor, bias: Tensor, out: torch.dtype) -> Tensor:
    """NHWC to NCHW with a bias and another type."""
    return (x + bias).permute(0, 3, 1, 2).to(out).contiguous()


def swapped(x: Tensor, y: Tensor, out: torch.dtype) -> Tensor:
    """Dims (0, 2, 1), a GELU and a residual."""
    moved = torch.nn.functional.gelu(x.permute(0, 2, 1), approximate="tanh")
    return (moved + y).to(out)


def reversed_dims(x: Tensor, out: torch.dtype) -> Tensor:
    """Dims (2, 1, 0)."""
    return (x.permute(2, 1, 0) * 1.5).to(out).contiguous()


def rotated(x: Tensor, y: Tensor, out: torch.dtype) -> Tensor:
    """Dims (1, 2, 0)."""
    return (x.permute(1, 2, 0) - y).to(out)


def row_sums(a: Tensor, b: Tensor, out: torch.dtype) -> Tensor:
    """Sums of rows of a product with a transposed matrix."""
    return (a * b.T).sum(1, dtype=torch.promote_types(a.dtype, F32)).to(out)


def row_norms(a: Tensor, b: Tensor, weight: Tensor, out: torch.dtype) -> Tensor:
    """LayerNorm of a sum with a transposed matrix."""
    total = (a + b.T).to(torch.promote_types(a.dtype, F32))
    mean = total.mean(1, keepdim=True)
    spread = total.var(1, correction=0, keepdim=True)
    return ((total - mean) * torch.rsqrt(spread + 1e-5) * weight).to(out)


def row_softmax(a: Tensor, b: Tensor, out: torch.dtype) -> Tensor:
    """Softmax of rows of a sum with a transposed matrix."""
    total = (a + b.T).to(torch.promote_types(a.dtype, F32))
    return torch.softmax(total, 1).to(out)


def column_softmax(x: Tensor, out: torch.dtype) -> Tensor:
    """Softmax over a dim that is not adjacent."""
    return torch.softmax(x.to(torch.promote_types(x.dtype, F32)), 1).to(out)


def channel_norm(x: Tensor, out: torch.dtype) -> Tensor:
    """Normalisation over channels of NCHW."""
    wide = x.to(torch.promote_types(x.dtype, F32))
    mean = wide.mean(1, keepdim=True)
    spread = wide.var(1, correction=0, keepdim=True)
    return ((wide - mean) * torch.rsqrt(spread + 1e-5)).to(out)


def product(a: Tensor, b: Tensor, c: Tensor, out: torch.dtype) -> Tensor:
    """A product of matrices with a transposed residual."""
    return (a @ b.T + c.T).to(out)


CASES = (
    Case("add f32 4096", transposed_add, ((4096, 4096),) * 2, F32, F32),
    Case("add bf16 8192", transposed_add, ((8192, 8192),) * 2, BF16, BF16),
    Case("add bf16 1024", transposed_add, ((1024, 1024),) * 2, BF16, BF16),
    Case("add f32 odd", transposed_add, ((3001, 2003), (2003, 3001)), F32, F32),
    Case(
        "gated bf16",
        scaled_rows,
        ((4096, 3072), (3072, 4096), (3072,)),
        BF16,
        BF16,
    ),
    Case("nchw to nhwc", channels_last, ((64, 128, 56, 56), (128,)), F16, F16),
    Case("nhwc to nchw", channels_first, ((64, 56, 56, 128), (128,)), F32, BF16),
    Case("permute 021", swapped, ((64, 512, 768), (64, 768, 512)), BF16, BF16),
    Case("permute 210", reversed_dims, ((512, 96, 384),), F32, F32),
    Case("permute 120", rotated, ((384, 96, 512), (96, 512, 384)), BF16, F32),
    Case("row sums", row_sums, ((32768, 256), (256, 32768)), BF16, F32),
    Case("row norms", row_norms, ((16384, 512), (512, 16384), (512,)), BF16, BF16),
    Case("row softmax", row_softmax, ((16384, 512), (512, 16384)), F32, F32),
    Case("column softmax", column_softmax, ((512, 32, 4096),), BF16, BF16),
    Case("channel norm", channel_norm, ((64, 64, 56, 56),), F32, F32),
    Case(
        "product",
        product,
        ((4096, 1024), (4096, 1024), (4096, 4096)),
        BF16,
        BF16,
    ),
)


def small(case: Case) -> Case:
    """Return the case with fewer elements, for what runs without a GPU."""
    shapes: Any = tuple(
        tuple(min(extent, 64 + extent % 64) for extent in shape)
        for shape in case.shapes
    )
    return Case(case.name, case.function, shapes, case.dtype, case.out)
