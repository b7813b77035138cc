from collections.abc import Callable
from typing import Any

import pytest

from algebra.encodings import AmdMfma, DotOperand
from verify.legacy.amd_mfma import amd_mfma


def mfma(tile: list[int], transposed: bool, **more: Any) -> AmdMfma:
    return AmdMfma(
        version=3,
        warps_per_cta=(2, 2),
        instr_shape=(*tile, 8),
        is_transposed=transposed,
        **more,
    )


CASES = [
    mfma([32, 32], False),
    mfma([32, 32], True),
    mfma([16, 16], False, tiles_per_warp=(2, 1)),
    mfma([16, 16], True, element_bit_width=64),
    mfma([64, 4], True),
    mfma([4, 64], False),
]


@pytest.mark.parametrize("encoding", CASES)
@pytest.mark.parametrize("shape", [[64, 64], [128, 16], [8, 8], [1, 1]])
def test_every_position_of_results(
    simulate: Callable[..., int], encoding: Any, shape: list[int]
) -> None:
    assert simulate(encoding, shape) > 0


@pytest.mark.parametrize("encoding", CASES)
@pytest.mark.parametrize("op_idx", [0, 1])
def test_every_position_of_operands(
    simulate: Callable[..., int], encoding: Any, op_idx: int
) -> None:
    operand = DotOperand(op_idx=op_idx, parent=encoding, k_width=4)
    assert simulate(operand, [64, 64]) > 0


def test_batches(simulate: Callable[..., int]) -> None:
    cube = AmdMfma(
        version=3, warps_per_cta=(2, 1, 2), instr_shape=(16, 16, 16), is_transposed=True
    )
    assert simulate(cube, [4, 32, 16]) > 0
    assert simulate(DotOperand(op_idx=0, parent=cube, k_width=4), [4, 32, 32]) > 0


def test_the_registers_of_the_isa_manual() -> None:
    """V_MFMA_F32_32X32X8: four rows a lane, the upper half warp four rows below."""
    model = amd_mfma([32, 32], [1, 1], [32, 32, 8], False)
    assert [model.position(r, 33, 0) for r in (0, 3, 4, 15)] == [
        [4, 1],
        [7, 1],
        [12, 1],
        [31, 1],
    ]


def test_columns_of_the_whole_tensor_count_the_registers() -> None:
    model = amd_mfma([32, 16], [1, 1], [16, 16, 16], False, columns=64)
    assert model.registers == 4 * 4 * 2
    assert model.position(4, 0, 0) == [0, 0]
