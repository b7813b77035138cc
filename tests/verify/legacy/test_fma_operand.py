from collections.abc import Callable

import pytest

from algebra.encodings import Blocked, DotOperand
from verify.legacy.fma_operand import fma_operand

PARENT = Blocked(
    size_per_thread=(2, 4), threads_per_warp=(8, 4), warps_per_cta=(1, 2), order=(1, 0)
)
CUBE = Blocked(
    size_per_thread=(2, 1, 2),
    threads_per_warp=(2, 4, 4),
    warps_per_cta=(1, 2, 1),
    order=(1, 2, 0),
)


@pytest.mark.parametrize("op_idx", [0, 1])
@pytest.mark.parametrize("shape", [[16, 16], [4, 8], [64, 2], [1, 1]])
def test_every_position(
    simulate: Callable[..., int], op_idx: int, shape: list[int]
) -> None:
    assert simulate(DotOperand(op_idx=op_idx, parent=PARENT), shape) > 0


@pytest.mark.parametrize("op_idx", [0, 1])
def test_every_position_of_batches(simulate: Callable[..., int], op_idx: int) -> None:
    assert simulate(DotOperand(op_idx=op_idx, parent=CUBE), [8, 8, 8]) > 0


def test_a_thread_holds_all_of_k() -> None:
    model = fma_operand([8, 4], [1, 1], [8, 4], [1, 1], [1, 0], 0)
    held = {tuple(model.position(r, 12, 0)) for r in range(model.registers)}
    assert held == {(3, k) for k in range(4)}
