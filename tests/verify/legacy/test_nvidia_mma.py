from collections.abc import Callable
from typing import Any

import pytest

from algebra.encodings import DotOperand, NvidiaMma
from verify.legacy.nvidia_mma import nvidia_mma, nvidia_mma_operand, warp_order

V2 = NvidiaMma(version=(2, 0), warps_per_cta=(2, 2), instr_shape=(16, 8))
V2_DOUBLE = NvidiaMma(version=(2, 0), warps_per_cta=(1, 2), instr_shape=(8, 8))
V2_BATCH = NvidiaMma(version=(2, 0), warps_per_cta=(2, 1, 2), instr_shape=(1, 16, 8))
V3 = NvidiaMma(version=(3, 0), warps_per_cta=(4, 1), instr_shape=(16, 32, 16))


@pytest.mark.parametrize("mma", [V2, V2_DOUBLE, V3])
@pytest.mark.parametrize("shape", [[16, 8], [64, 32], [8, 4], [1, 16]])
def test_every_position_of_results(
    simulate: Callable[..., int], mma: Any, shape: list[int]
) -> None:
    assert simulate(mma, shape) > 0


@pytest.mark.parametrize("mma", [V2, V2_DOUBLE, V3])
@pytest.mark.parametrize("op_idx", [0, 1])
@pytest.mark.parametrize("k_width", [1, 2, 4])
def test_every_position_of_operands(
    simulate: Callable[..., int], mma: Any, op_idx: int, k_width: int
) -> None:
    if mma is V3 and op_idx == 1:
        pytest.skip("operand B of wgmma is in shared memory")
    operand = DotOperand(op_idx=op_idx, parent=mma, k_width=k_width)
    assert simulate(operand, [32, 64]) > 0


def test_batches(simulate: Callable[..., int]) -> None:
    assert simulate(V2_BATCH, [4, 16, 16]) > 0
    operand = DotOperand(op_idx=1, parent=V2_BATCH, k_width=2)
    assert simulate(operand, [4, 16, 16]) > 0


@pytest.mark.parametrize(("lane", "group", "thread"), [(0, 0, 0), (13, 3, 1)])
def test_the_fragments_of_the_ptx_manual(lane: int, group: int, thread: int) -> None:
    """mma.m16n8k16: c0..c3 of the accumulator, a0..a7 of A, b0..b3 of B."""
    result = nvidia_mma([16, 8], 2, [1, 1], [16, 8])
    assert [result.position(r, lane, 0) for r in range(4)] == [
        [group + 8 * (r // 2), thread * 2 + r % 2] for r in range(4)
    ]
    a = nvidia_mma_operand([16, 16], 2, [1, 1], [16, 8], 0, 2)
    assert [a.position(r, lane, 0) for r in range(8)] == [
        [group + 8 * (r // 2 % 2), thread * 2 + r % 2 + 8 * (r // 4)] for r in range(8)
    ]
    b = nvidia_mma_operand([16, 8], 2, [1, 1], [16, 8], 1, 2)
    assert [b.position(r, lane, 0) for r in range(4)] == [
        [thread * 2 + r % 2 + 8 * (r // 2), group] for r in range(4)
    ]


def test_warps_run_along_columns_in_v2_and_rows_in_v3() -> None:
    assert warp_order(2, 2) == [1, 0] and warp_order(3, 2) == [0, 1]
    assert nvidia_mma([32, 32], 2, [2, 2], [16, 8]).position(0, 0, 1) == [0, 8]
    assert nvidia_mma([128, 32], 3, [4, 1], [16, 32]).position(0, 0, 1) == [16, 0]
