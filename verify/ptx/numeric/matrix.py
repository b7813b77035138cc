"""``mma.sync``: which element each lane holds, and the product.

Fragments as the PTX ISA describes them ("Warp-level matrix fragment"), for e elements
in a 32-bit register, g = lane / 4 and t = lane % 4: register r of A holds row
``g + 8 * (r % 2)``, columns ``t * e + i + 4 * e * (r / 2)``; register r of B holds row
``t * e + i + 4 * e * r``, column g; results c0 to c3 are at row ``g + 8 * (j / 2)``,
column ``2 * t + j % 2``.
"""

import re
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from .floats import Bits, from_bits

OPCODE: Final = re.compile(
    r"mma\.sync\.aligned\.m16n8k(\d+)\.row\.col\.(?:satfinite\.)?(f32|s32)\.(\w+)\.(\w+)\.(f32|s32)$"
)
_WIDTHS: Final = {"f16": 16, "bf16": 16, "tf32": 32, "s8": 8, "u8": 8}
_LANE: Final = np.arange(32)
_GROUP, _TURN = _LANE >> 2, _LANE & 3


def multiply(
    opcode: str, a: Sequence[Bits], b: Sequence[Bits], c: Sequence[Bits]
) -> list[Bits] | None:
    """Return the registers of d = a b + c; None for an opcode that is not modelled.

    Products are summed in float64 (or exactly, for integers) and rounded once, so a GPU
    may differ in the last bits of float32.

    Args:
        opcode: e.g. ``"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"``.
        a: Registers of A, each [threads].
        b: Registers of B.
        c: The four registers of C.
    """
    match = OPCODE.match(opcode)
    if match is None or match[3] not in _WIDTHS or match[4] not in _WIDTHS:
        return None
    depth, kind = int(match[1]), match[2]
    each = 32 // _WIDTHS[match[3]]
    if (len(a), len(b)) != (depth // (2 * each), depth // (4 * each)):
        return None
    warps = len(a[0]) // 32
    left = left_operand(a, match[3], depth)
    right = np.zeros((warps, depth, 8))
    for r, bits in enumerate(b):
        for i, values in enumerate(_elements(bits, match[4])):
            row = _TURN * each + i + 4 * each * r
            right[:, row, _GROUP] = values.reshape(warps, 32)
    product = left @ right
    results: list[Bits] = []
    for j, bits in enumerate(c):
        mine = product[:, _GROUP + 8 * (j // 2), 2 * _TURN + j % 2].reshape(-1)
        if kind == "f32":
            total = (mine + from_bits(bits, "f32")).astype(np.float32)
            results.append(total.view(np.uint32).astype(np.uint64))
        else:
            whole = mine.astype(np.int64) + bits.astype(np.uint32).view(np.int32)
            results.append(whole.astype(np.uint64) & np.uint64(0xFFFFFFFF))
    return results


def left_operand(
    registers: Sequence[Bits], kind: str, depth: int
) -> npt.NDArray[np.float64]:
    """Return the left operands of all warps [warp, 16, depth].

    Args:
        registers: Each [threads].
        kind: Type of an element.
        depth: Elements along k.
    """
    warps, each = len(registers[0]) // 32, 32 // _WIDTHS[kind]
    left = np.zeros((warps, 16, depth))
    for r, bits in enumerate(registers):
        for i, values in enumerate(_elements(bits, kind)):
            column = _TURN * each + i + 4 * each * (r // 2)
            left[:, _GROUP + 8 * (r % 2), column] = values.reshape(warps, 32)
    return left


def _elements(bits: Bits, kind: str) -> list[npt.NDArray[np.float64]]:
    width = _WIDTHS[kind]
    mask = np.uint64((1 << width) - 1)
    parts = [(bits >> np.uint64(i * width)) & mask for i in range(32 // width)]
    if kind == "u8":
        return [part.astype(np.float64) for part in parts]
    if kind == "s8":
        return [
            part.astype(np.uint8).view(np.int8).astype(np.float64) for part in parts
        ]
    return [from_bits(part, kind) for part in parts]
