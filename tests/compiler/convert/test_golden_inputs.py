"""The conversions that the literature and users ask about, each planned and proved.

Groups are numbered as in the research note's list of test inputs; bases are
[row, col] vectors, in the order register, lane, warp.
"""

from itertools import pairwise

import numpy as np
import pytest

from algebra import LayoutError, LinearLayout, NotAffine, Proved, why_not_linear
from algebra.encodings import Blocked, DotOperand, NvidiaMma, Slice
from compiler.convert import plan
from compiler.convert.plan import Plan

Vectors = list[list[int]]


def rows(*sizes: int) -> Vectors:
    return [[size, 0] for size in sizes]


def cols(*sizes: int) -> Vectors:
    return [[0, size] for size in sizes]


def layout(register: Vectors, lane: Vectors, warp: Vectors) -> LinearLayout:
    bases = {"register": register, "lane": lane, "warp": warp}
    return LinearLayout.from_bases(bases, ["dim0", "dim1"])


def flat(images: list[int], registers: int, lanes: int = 5) -> LinearLayout:
    """Index bits of a tile to registers, then lanes, then warps."""
    dims = {
        "register": registers,
        "lane": lanes,
        "warp": len(images) - registers - lanes,
    }
    return LinearLayout.from_columns(dims, {"index": len(images)}, images)


def blocked(*parameters: list[int]) -> Blocked:
    sizes, threads, warps, order = map(tuple, parameters)
    return Blocked(
        size_per_thread=sizes,
        threads_per_warp=threads,
        warps_per_cta=warps,
        order=order,
    )


def wgmma(warps: int, columns: int) -> NvidiaMma:
    return NvidiaMma(
        version=(3, 0), warps_per_cta=(warps, 1), instr_shape=(16, columns, 16)
    )


COALESCED = layout(
    [*cols(1, 2, 4), *rows(16, 32)], [*cols(8, 16, 32), *rows(1, 2)], rows(4, 8)
)
QUADS = [*cols(2, 4), *rows(1, 2, 4)]
ACCUMULATOR = layout([[0, 1], [8, 0], *cols(8, 16, 32)], QUADS, rows(16, 32))
FP8_OPERAND = layout(
    [*cols(1, 2), [8, 0], *cols(16, 32)], [*cols(4, 8), *rows(1, 2, 4)], rows(16, 32)
)
BYTES = blocked([1, 16], [8, 4], [4, 1], [1, 0]).to_linear_layout([64, 64])
BYTE_COLUMNS = blocked([16, 1], [4, 8], [1, 4], [0, 1]).to_linear_layout([64, 64])
TILE = layout(
    [*cols(1, 2, 4, 8), *rows(1, 2)], [*cols(16, 32, 64), *rows(4, 8)], rows(16, 32, 64)
)
MFMA32 = layout(rows(1, 2, 8, 16), [*cols(1, 2, 4, 8, 16), [4, 0]], [])
MFMA16 = layout(rows(1, 2), [*cols(1, 2, 4, 8), *rows(4, 8)], [])
IDENTITY = [1 << bit for bit in range(10)]


def swapped(side: LinearLayout) -> LinearLayout:
    """Exchange the two dims of a square tensor."""
    bases = {
        dim: [list(reversed(vector)) for vector in vectors]
        for dim, vectors in side.bases.items()
    }
    return LinearLayout.from_bases(bases, list(side.out_names))


def mma(shape: list[int], **operand: int) -> LinearLayout:
    parent = NvidiaMma(version=(2, 0), warps_per_cta=(2, 2), instr_shape=(16, 8))
    if not operand:
        return parent.to_linear_layout(shape)
    return DotOperand(parent=parent, **operand).to_linear_layout(shape)


Case = tuple[LinearLayout, LinearLayout, int, str]
CASES: dict[str, Case] = {
    "1 blocked to accumulator": (COALESCED, ACCUMULATOR, 16, "sm_90"),
    "2-3 C to A, 16 x 16": (
        layout([[0, 1], [8, 0], [0, 8]], QUADS, []),
        layout([[0, 1], [8, 0], [0, 8]], QUADS, []),
        16,
        "sm_80",
    ),
    "4 A of 8 bits from rows": (
        layout(cols(1, 2, 4, 8), [[0, 16], *rows(1, 2, 4, 8)], []),
        layout([*cols(1, 2), [8, 0], [0, 16]], [*cols(4, 8), *rows(1, 2, 4)], []),
        8,
        "sm_80",
    ),
    "5 C to A with copies": (
        mma([64, 64]),
        mma([64, 64], op_idx=0, k_width=2),
        16,
        "sm_80",
    ),
    "5 C to B with copies": (
        mma([64, 64]),
        mma([64, 64], op_idx=1, k_width=2),
        16,
        "sm_80",
    ),
    "6 accumulator to blocked": (ACCUMULATOR, COALESCED, 32, "sm_90"),
    "7 fp16 P to A": (ACCUMULATOR, ACCUMULATOR, 16, "sm_90"),
    "8 fp8 P to A": (ACCUMULATOR, FP8_OPERAND, 8, "sm_90"),
    "10 64-bit 32 x 32": (
        layout(rows(1, 2, 4, 8, 16), cols(1, 2, 4, 8, 16), []),
        layout([[0, 1], *rows(1, 2, 4, 8)], [*cols(2, 4, 8, 16), [16, 0]], []),
        64,
        "sm_90",
    ),
    "11 bytes 64 x 64": (BYTES, BYTE_COLUMNS, 8, "sm_90"),
    "11 bytes 128 x 128": (TILE, swapped(TILE), 8, "sm_90"),
    "12 mfma 32 x 32": (MFMA32, swapped(MFMA32), 32, "gfx942"),
    "12 mfma 16 x 16": (MFMA16, swapped(MFMA16), 16, "gfx942"),
    "13 block scales": (
        flat([1, 2, 4, 8, 16, 32, 64, 128, 256], 4),
        flat([1, 2, 16, 32, 64, 128, 256, 4, 8], 4),
        8,
        "sm_100",
    ),
    "14 Marlin, 4 bits": (
        flat(IDENTITY, 3),
        flat([128, 8, 16, 256, 512, 32, 64, 1, 2, 4], 3),
        8,
        "sm_90",
    ),
    "14 Marlin, 8 bits": (
        flat(IDENTITY, 3),
        flat([128, 16, 8, 256, 512, 32, 64, 1, 2, 4], 3),
        8,
        "sm_90",
    ),
    "14 AWQ": (flat([1, 2, 4], 3, 0), flat([2, 4, 1], 3, 0), 8, "sm_90"),
    "15 Morton": (
        flat(IDENTITY, 3),
        flat([1, 4, 16, 64, 256, 2, 8, 32, 128, 512], 3),
        32,
        "sm_90",
    ),
    "15 bit reversal": (flat(IDENTITY, 4), flat(IDENTITY[::-1], 4), 16, "sm_90"),
    "15 Gray": (
        flat(IDENTITY, 4),
        flat([1 << i | 1 << i >> 1 for i in range(10)], 4),
        32,
        "sm_90",
    ),
    "16 slice of wgmma": (
        blocked([1], [32], [4], [0]).to_linear_layout([256]),
        Slice(dim=1, parent=wgmma(4, 64)).to_linear_layout([256]),
        32,
        "sm_90",
    ),
    "16 fp8 wgmma to rows": (
        wgmma(8, 256).to_linear_layout([128, 256]),
        blocked([1, 16], [2, 16], [8, 1], [1, 0]).to_linear_layout([128, 256]),
        8,
        "sm_90",
    ),
    "seed: fp8 16 x 8 mma to blocked": (
        layout([[0, 1], [8, 0]], QUADS, []),
        blocked([1, 1], [4, 8], [1, 1], [1, 0]).to_linear_layout([16, 8]),
        8,
        "sm_90",
    ),
}
WARP_LOCAL = {"8 fp8 P to A", "10 64-bit 32 x 32", "seed: fp8 16 x 8 mma to blocked"}


def correct(found: Plan) -> bool:
    assert isinstance(found.prove(), Proved), found.prove()
    return np.array_equal(found.simulate(), found.expected())


@pytest.mark.parametrize("name", CASES)
def test_planned_both_ways(name: str) -> None:
    src, dst, bits, target = CASES[name]
    there = plan(src, dst, bits, target)
    assert correct(there)
    assert correct(plan(dst, src, bits, target))
    assert there.least_shuffles is not None or name not in WARP_LOCAL


def test_group_7_compiles_to_nothing() -> None:
    assert plan(*CASES["7 fp16 P to A"]).steps == ()


def test_group_16_vectors_of_one_dim() -> None:
    sides = [blocked([n], [32], [4], [0]).to_linear_layout([1024]) for n in (8, 4, 1)]
    for src, dst in pairwise([*sides, sides[0]]):
        assert correct(plan(src, dst, 16))


def test_group_17_is_refused_with_a_reason() -> None:
    hilbert = [0, 1, 14, 15, 3, 2, 13, 12, 4, 7, 8, 11, 5, 6, 9, 10]
    wrong = {
        "Hilbert": lambda i: hilbert[i],
        "roll": lambda i: (i + 1) % 16,
        "times 5": lambda i: 5 * i % 16,
        "diagonal": lambda i: (i & 12) | (i + (i >> 2)) % 4,
    }
    for f in wrong.values():
        assert isinstance(why_not_linear(f, 4), NotAffine)
    with pytest.raises(LayoutError):
        wgmma(4, 64).to_linear_layout([24, 64])
