import numpy as np
import pytest

from verify.ptx.memory import Conflict, SharedMemory


def rows(*values: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    return np.array(values, np.int64)


def codes(*values: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int32]]:
    return np.array(values, np.int32)


@pytest.fixture
def memory() -> SharedMemory:
    return SharedMemory(16)


def test_own_bytes_need_no_barrier(memory: SharedMemory) -> None:
    assert memory.write(1, rows(3, 3), rows(0, 1), codes(5, 6)) is None
    found, conflict = memory.read(2, rows(3, 3), rows(1, 0))
    assert (found.tolist(), conflict) == ([6, 5], None)


def test_bytes_of_another_thread_need_one(memory: SharedMemory) -> None:
    memory.write(1, rows(3), rows(0), codes(5))
    assert memory.read(2, rows(4), rows(0))[1] == Conflict("race", 4, 0, (3, 1))


@pytest.mark.parametrize(("reader", "racing"), [(4, False), (40, True)])
def test_a_barrier_of_a_warp(memory: SharedMemory, reader: int, racing: bool) -> None:
    memory.write(1, rows(3), rows(0), codes(5))
    memory.warp_barrier()
    assert (memory.read(2, rows(reader), rows(0))[1] is not None) == racing
    memory.cta_barrier()
    assert memory.read(3, rows(reader), rows(0))[1] is None


def test_a_read_before_a_write(memory: SharedMemory) -> None:
    memory.write(1, rows(3), rows(0), codes(5))
    memory.cta_barrier()
    memory.read(2, rows(40), rows(0))
    assert memory.write(3, rows(3), rows(0), codes(6)) == Conflict(
        "race", 3, 0, (40, 2)
    )


def test_many_readers_before_a_write(memory: SharedMemory) -> None:
    memory.write(1, rows(3), rows(0), codes(5))
    memory.cta_barrier()
    memory.read(2, rows(3, 7), rows(0, 0))
    assert memory.write(3, rows(3), rows(0), codes(6)) == Conflict("race", 3, 0, (7, 2))


def test_rival_writers(memory: SharedMemory) -> None:
    assert memory.write(1, rows(1, 2), rows(0, 0), codes(5, 5)) is None
    found = memory.write(2, rows(1, 2), rows(4, 4), codes(5, 6))
    assert found is not None and found.kind == "race"


def test_equal_writers_at_different_times(memory: SharedMemory) -> None:
    memory.write(1, rows(1), rows(0), codes(5))
    assert memory.write(2, rows(2), rows(0), codes(5)) is None
    assert memory.read(3, rows(1), rows(0))[1] is None
    assert memory.read(4, rows(2), rows(0))[1] is None
    assert memory.read(5, rows(3), rows(0))[1] is not None


def test_rewriting_what_was_there(memory: SharedMemory) -> None:
    memory.write(1, rows(1), rows(0), codes(5))
    memory.cta_barrier()
    assert memory.write(2, rows(2), rows(0), codes(5)) is None
    assert memory.read(3, rows(9), rows(0))[1] is None


def test_a_write_over_another(memory: SharedMemory) -> None:
    memory.write(1, rows(1), rows(0), codes(5))
    assert memory.write(2, rows(1), rows(0), codes(6)) is None
    assert memory.write(3, rows(2), rows(0), codes(6)) is not None


def test_unwritten_bytes(memory: SharedMemory) -> None:
    assert memory.read(1, rows(1), rows(3))[1] == Conflict("unwritten memory", 1, 3)


@pytest.mark.parametrize("place", [-1, 16])
def test_outside(memory: SharedMemory, place: int) -> None:
    expected = Conflict("outside shared memory", 1, place)
    assert memory.write(1, rows(1), rows(place), codes(5)) == expected
    assert memory.read(1, rows(1), rows(place))[1] == expected


def test_nobody_does_nothing(memory: SharedMemory) -> None:
    assert memory.write(1, rows(), rows(), codes()) is None
    assert memory.read(1, rows(), rows())[1] is None
