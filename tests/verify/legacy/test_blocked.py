from collections.abc import Callable

import numpy as np
import pytest

from algebra.encodings import Blocked
from verify.legacy.blocked import SOURCE, blocked


@pytest.mark.parametrize("shape", [[16, 32], [4, 4], [1, 64], [1, 1]])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_every_position(
    simulate: Callable[..., int], shape: list[int], order: tuple[int, ...]
) -> None:
    encoding = Blocked(
        size_per_thread=(2, 4),
        threads_per_warp=(8, 4),
        warps_per_cta=(1, 2),
        order=order,
    )
    assert simulate(encoding, shape) > 0


def test_the_example_of_the_documentation() -> None:
    """A row of 32 lanes by 4 elements, row-major: lane 9, register 2 is column 38."""
    model = blocked([1, 128], [1, 4], [1, 32], [1, 1], [1, 0])
    assert model.position(2, 9, 0) == [0, 38]
    assert model.registers == 4


def test_repeated_registers_by_release() -> None:
    numbers = ([2], [8], [32], [1], [0])
    assert blocked(*numbers).registers == 2
    assert blocked(*numbers, keep_repeated_registers=True).registers == 8
    assert blocked(*numbers, keep_repeated_registers=True).position(3, 0, 0) == [1]


def test_arrays_in_one_call() -> None:
    model = blocked([32, 32], [1, 2], [4, 8], [2, 2], [1, 0])
    registers = np.arange(model.registers)
    rows, columns = model.position(registers, 5, 3)
    for register in registers:
        assert model.position(int(register), 5, 3) == [
            rows[register],
            columns[register],
        ]


def test_the_source_is_named() -> None:
    assert "emitOffsetForBlockedLayout" in SOURCE
