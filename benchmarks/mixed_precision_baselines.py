"""What matmuls with 4-bit weights are compared with on a GPU.

:func:`read_words` reads the bytes and nothing else; :func:`dequantiser` is what a user
of PyTorch writes, for cuBLAS and for Inductor.
"""

from collections.abc import Callable

import torch
import triton
import triton.language as tl

from compiler.mixed.formats import E2M1_VALUES


@triton.jit  # type: ignore[misc,untyped-decorator,unused-ignore]  # triton has no types
def read_words(first, second, sink, n_first, n_second, EACH: tl.constexpr, DEPENDENT: tl.constexpr, ORDERED: tl.constexpr):  # type: ignore[no-untyped-def]  # fmt: skip  # noqa: E501, N803  # one line for triton; its spelling of constants
    """Read two buffers of int32 words in 16-byte loads, and store next to nothing.

    A dependent one starts before the kernel before it has ended; an ordered one ends
    after it, as everything must that a stream runs in order.
    """
    if DEPENDENT:
        tl.extra.cuda.gdc_launch_dependents()
    program = tl.program_id(0)
    place = program * EACH + tl.arange(0, EACH)
    words = tl.load(first + place, mask=place < n_first, other=0)
    if program * EACH < n_second:
        words ^= tl.load(second + place, mask=place < n_second, other=0)
    if ORDERED:
        tl.extra.cuda.gdc_wait()
    # no word of random data is this one in practice; the compiler cannot know
    tl.store(sink + place, words, mask=words == -1234567891)


def group_of(format: str) -> int:
    """Return the length of the groups that are timed."""
    return {"mxfp4": 32, "nvfp4": 16}.get(format, 128)


def two_a_byte(codes: torch.Tensor) -> torch.Tensor:
    """Return codes two a byte, the first in the low half."""
    return codes[:, ::2] | codes[:, 1::2] << 4


def dequantiser(
    format: str, device: str = "cuda"
) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    """Return the function of codes and scales that a PyTorch user would write."""

    def int4(codes: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
        n, half = codes.shape
        values = torch.stack([codes & 15, codes >> 4], -1).view(n, -1, group)
        numbers = (values.to(torch.bfloat16) - 8) * scales[:, :, None]
        return numbers.view(n, 2 * half)

    def mxfp4(codes: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
        n, half = codes.shape
        values = torch.stack([codes & 15, codes >> 4], -1).view(n, -1, group)
        factors = torch.exp2(scales.float() - 127).to(torch.bfloat16)
        return (table[values.int()] * factors[:, :, None]).view(n, 2 * half)

    group = group_of(format)
    signed = [*E2M1_VALUES, *(-value for value in E2M1_VALUES)]
    table = torch.tensor(signed, dtype=torch.bfloat16, device=device)
    return int4 if format == "int4" else mxfp4
