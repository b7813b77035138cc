"""Layouts that the tests of conversions share."""

from collections.abc import Callable

import pytest

from algebra import LinearLayout
from algebra.encodings import Blocked, DotOperand, NvidiaMma

Pair = tuple[LinearLayout, LinearLayout, int]


def blocked(*parameters: list[int]) -> Blocked:
    sizes, threads, warps, order = map(tuple, parameters)
    return Blocked(
        size_per_thread=sizes,
        threads_per_warp=threads,
        warps_per_cta=warps,
        order=order,
    )


def hopper(warps: int, columns: int) -> NvidiaMma:
    return NvidiaMma(
        version=(3, 0), warps_per_cta=(warps, 1), instr_shape=(16, columns, 16)
    )


def flat(*dims: list[int]) -> LinearLayout:
    names = ("register", "lane", "warp", "block")
    total = max(c.bit_length() for dim in dims for c in dim)
    return LinearLayout.from_columns(
        {name: len(dim) for name, dim in zip(names, dims, strict=False)},
        {"dim0": total},
        [c for dim in dims for c in dim],
    )


def _operand(k_width: int) -> Pair:
    accumulator = hopper(4, 64)
    operand = DotOperand(op_idx=0, parent=accumulator, k_width=k_width)
    shape = [64, 64]
    bits = 32 // k_width
    return accumulator.to_linear_layout(shape), operand.to_linear_layout(shape), bits


@pytest.fixture(scope="session")
def pairs() -> dict[str, Pair]:
    """Named conversions: one for each way that a plan may take."""
    rows = blocked([1, 16], [8, 4], [4, 1], [1, 0])
    columns = blocked([16, 1], [4, 8], [1, 4], [0, 1])
    wide = hopper(8, 256).to_linear_layout([128, 256])
    lanes = [1, 2, 4, 8, 16]
    return {
        "nothing": _operand(2),
        "registers": (flat([32, 64], lanes), flat([64, 96], lanes), 32),
        "fp8 P to A": _operand(4),
        "two exchanges": (
            flat([1, 2, 4], [8, 16, 32, 64, 128]),
            flat([8, 16, 4], [1, 2, 32, 64, 128]),
            32,
        ),
        "bytes of one word": (
            flat([1, 2], [4, 8, 16, 32, 64]),
            flat([4, 8], [1, 2, 16, 32, 64]),
            8,
        ),
        "lanes only": (flat([32, 64], lanes), flat([32, 64], [2, 4, 8, 16, 1]), 32),
        "bytes transposed": (
            rows.to_linear_layout([64, 64]),
            columns.to_linear_layout([64, 64]),
            8,
        ),
        "repetitions": (
            wide,
            blocked([8, 1], [32, 1], [1, 8], [0, 1]).to_linear_layout([128, 256]),
            16,
        ),
        "matrices": (
            hopper(4, 64).to_linear_layout([64, 64]),
            blocked([1, 8], [4, 8], [4, 1], [1, 0]).to_linear_layout([64, 64]),
            16,
        ),
        "copies": (
            flat([0, 32, 1], [1, 2, 4, 8, 16], [64, 0]),
            flat([1, 0, 2], [32, 2, 4, 8, 16], [0, 64]),
            16,
        ),
        "blocks": (
            flat([64], lanes, [32], [128]),
            flat([128], lanes, [32], [64]),
            32,
        ),
    }


@pytest.fixture(scope="session")
def make_flat() -> Callable[..., LinearLayout]:
    """Make a layout of one tensor dim from columns of registers, lanes, warps."""
    return flat
