from collections.abc import Callable
from typing import Any

import pytest

from algebra.encodings import AmdWmma, DotOperand
from verify.legacy.amd_wmma import amd_wmma
from verify.legacy.placement import WarpGrid


def wmma(version: int, transposed: bool, **more: Any) -> AmdWmma:
    return AmdWmma.from_warps(
        version=version, is_transposed=transposed, warps_per_cta=(2, 2), **more
    )


CASES = [
    wmma(1, False),
    wmma(1, True),
    wmma(2, False, tiles_per_warp=(2, 1)),
    wmma(2, True),
    wmma(3, False, instr_shape=(16, 16, 32)),
    wmma(3, True, instr_shape=(32, 16, 128)),
]


@pytest.mark.parametrize("encoding", CASES)
@pytest.mark.parametrize("shape", [[64, 64], [32, 128], [1, 64]])
def test_every_position_of_results(
    simulate: Callable[..., int], encoding: Any, shape: list[int]
) -> None:
    assert simulate(encoding, shape) > 0


@pytest.mark.parametrize("encoding", CASES)
@pytest.mark.parametrize("op_idx", [0, 1])
def test_every_position_of_operands(
    simulate: Callable[..., int], encoding: Any, op_idx: int
) -> None:
    k = encoding.instr_shape[2]
    k_width = k if encoding.version == 1 else min(16, k // 2)
    operand = DotOperand(op_idx=op_idx, parent=encoding, k_width=k_width)
    assert simulate(operand, [64, 128] if op_idx == 0 else [128, 64]) > 0


def test_the_registers_of_the_isa_manual() -> None:
    """RDNA3: alternating rows in the half warps; RDNA4: the upper and lower eight."""
    first = amd_wmma([16, 16], 1, False, WarpGrid((1, 1)))
    second = amd_wmma([16, 16], 2, False, WarpGrid((1, 1)))
    assert [first.position(r, 18, 0) for r in (0, 1, 7)] == [[1, 2], [3, 2], [15, 2]]
    assert [second.position(r, 18, 0) for r in (0, 1, 7)] == [[8, 2], [9, 2], [15, 2]]
