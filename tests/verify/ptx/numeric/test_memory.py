import numpy as np
import pytest

from verify.ptx.halt import FaultError
from verify.ptx.numeric.memory import Memory
from verify.ptx.syntax import Instruction

ITEM = Instruction(1, "ld", None, "ld.global.b32", ())
ALL = np.ones(1, bool)


def at(place: int) -> np.ndarray:
    return np.array([place], np.uint64)


def test_accesses_lie_in_one_array() -> None:
    memory = Memory([np.zeros(3, np.int32), np.zeros(8, np.uint8)])
    first, second = memory.bases
    memory.check(ITEM, at(first + 8), ALL, 4)
    memory.check(ITEM, at(second), ALL, 8)
    for place, size in (
        (first + 12, 4),
        (first + 2, 4),
        (first + 8, 8),
        (second - 4, 4),
        (10**9, 4),
    ):
        with pytest.raises(FaultError, match="aligned bytes of a buffer"):
            memory.check(ITEM, at(place), ALL, size)
        memory.check(ITEM, at(place), ~ALL, size)


def test_write_back() -> None:
    array = np.zeros((2, 2), np.int16)
    memory = Memory([array])
    memory.bytes[memory.bases[0] + 2] = 7
    memory.write_back()
    assert array.tolist() == [[0, 7], [0, 0]]


def test_arrays_with_gaps() -> None:
    with pytest.raises(ValueError, match="contiguous"):
        Memory([np.zeros((4, 4))[:, ::2]])
