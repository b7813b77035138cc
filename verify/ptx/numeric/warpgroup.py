"""``wgmma``: four warps' product with a matrix in shared memory.

As the PTX ISA describes it ("Asynchronous warpgroup-level matrix"): the left operand
and the result are fragments, a warp's 16 rows like those of ``mma``; the right operand
is named by a descriptor of a swizzled block whose rows have neighbours along k.

The instruction reads shared memory through the asynchronous proxy, at some time before
it is waited for. So bytes that were stored after the last ``fence.proxy.async`` before
it, or that change before the wait, are poison.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from .floats import Bits, from_bits
from .matrix import left_operand

THREADS: Final = 128
"""Of a warpgroup."""

POISON: Final = 0xFFFF
"""Bits of an element that is stored too late: NaN in both 16-bit floats."""

_OPCODE: Final = re.compile(
    r"wgmma\.mma_async\.sync\.aligned\.m64n(\d+)k16\.f32\.(bf16|f16)\.(bf16|f16)$"
)
_SWIZZLES: Final = {1: 128, 2: 64, 3: 32}
"""Code in a descriptor -> bytes of a row."""

_ROWS: Final = 8
"""Of a core matrix."""

_LANE: Final = np.arange(32)
Elements = npt.NDArray[np.uint16]


class Shape(NamedTuple):
    """Columns of the result, and the type of the factors."""

    columns: int
    kind: str


def shape_of(opcode: str) -> Shape | None:
    """Return what an opcode multiplies, None for one that is not modelled.

    Example:
        >>> shape_of("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16")
        Shape(columns=64, kind='bf16')
    """
    match = _OPCODE.match(opcode)
    if match is None or match[2] != match[3]:
        return None
    return Shape(int(match[1]), match[2])


def places(descriptors: Bits, columns: int) -> npt.NDArray[np.int64] | None:
    """Return where in shared memory the right operand's elements are.

    Args:
        descriptors: One of each warpgroup.
        columns: Of the result.

    Returns:
        First byte of each [warpgroup, column, k]; None for a block without swizzle.
    """
    start = (descriptors & np.uint64(0x3FFF)) << np.uint64(4)
    stride = (descriptors >> np.uint64(32) & np.uint64(0x3FFF)) << np.uint64(4)
    codes = {int(code) for code in descriptors >> np.uint64(62)}
    if len(codes) != 1 or not codes <= set(_SWIZZLES):
        return None
    width = _SWIZZLES[codes.pop()]
    column, k = np.arange(columns)[:, None], np.arange(16)[None]
    rows = column // _ROWS * stride.astype(np.int64)[:, None, None]
    found: npt.NDArray[np.int64] = (
        start.astype(np.int64)[:, None, None] + rows + column % _ROWS * width + 2 * k
    )
    return found ^ ((found >> 7 & width // 16 - 1) << 4)


def product(
    shape: Shape, a: Sequence[Bits], b: Elements, c: Sequence[Bits]
) -> list[Bits]:
    """Return the registers of d = a b + c.

    Products are summed in float64 and rounded once, so a GPU may differ in the last
    bits of float32.

    Args:
        shape: What the opcode says.
        a: The four registers of A, each [threads].
        b: Bits of B's elements [warpgroup, column, k].
        c: The registers of C.
    """
    right = from_bits(b.astype(np.uint64), shape.kind)
    left = left_operand(a, shape.kind, 16).reshape(len(b), 4, 16, 16)
    whole = np.einsum("gwrk,gck->gwrc", left, right).reshape(-1, 16, shape.columns)
    results: list[Bits] = []
    for register, bits in enumerate(c):
        row = (_LANE >> 2) + 8 * (register % 4 // 2)
        column = register // 4 * 8 + 2 * (_LANE & 3) + register % 2
        total = whole[:, row, column].reshape(-1) + from_bits(bits, "f32")
        results.append(total.astype(np.float32).view(np.uint32).astype(np.uint64))
    return results
