from collections.abc import Callable
from typing import Any

import pytest

from algebra.encodings import Blocked, NvidiaMma, Slice
from verify.legacy.blocked import blocked
from verify.legacy.slice import slice_of
from verify.terms import Size, variable

PARENT = Blocked(
    size_per_thread=(2, 4), threads_per_warp=(8, 4), warps_per_cta=(1, 2), order=(1, 0)
)
MMA = NvidiaMma(version=(2, 0), warps_per_cta=(2, 2), instr_shape=(16, 8))


@pytest.mark.parametrize("parent", [PARENT, MMA])
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("size", [1, 8, 64])
def test_every_position(
    simulate: Callable[..., int], parent: Any, dim: int, size: int
) -> None:
    assert simulate(Slice(dim=dim, parent=parent), [size]) > 0


def test_a_slice_of_a_slice(simulate: Callable[..., int]) -> None:
    cube = Blocked(
        size_per_thread=(1, 2, 2),
        threads_per_warp=(2, 4, 4),
        warps_per_cta=(2, 1, 1),
        order=(2, 0, 1),
    )
    assert simulate(Slice(dim=0, parent=Slice(dim=1, parent=cube)), [32]) > 0


def test_repeating_loops_are_not_run() -> None:
    parent = blocked(
        [1, 2], [1, 8], [8, 4], [1, 1], [1, 0], keep_repeated_registers=True
    )
    assert parent.registers == 8
    assert slice_of(parent, 0).registers == 2
    assert slice_of(parent, 1).registers == 1


def test_symbolic_loops_go_by_their_dim() -> None:
    size = Size(variable("s", 3))
    parent = blocked([1, size], [1, 2], [8, 4], [1, 1], [1, 0])
    assert {digit.dim for digit in slice_of(parent, 0).digits} == {0}
