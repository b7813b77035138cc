import numpy as np
import pytest

from verify.ptx.buffers import Buffers, Misfit

ALL = np.ones(2, bool)


@pytest.fixture
def buffers() -> Buffers:
    return Buffers(4, 2, np.arange(1, 9, dtype=np.int32))


def test_a_load_yields_provenance(buffers: Buffers) -> None:
    offsets = np.array([[0, 1, 2, 3], [4, 5, 6, 7]])
    assert buffers.load(offsets, ALL).tolist() == [[1, 2, 3, 4], [5, 6, 7, 8]]
    assert buffers.loads[0].tolist() == [[0, 1], [2, 3]]


def test_a_guarded_load_is_nobodys(buffers: Buffers) -> None:
    buffers.load(np.array([[0, 1], [2, 3]]), np.array([True, False]))
    assert buffers.loads[0].tolist() == [[0], [-1]]


def test_a_right_store_covers(buffers: Buffers) -> None:
    offsets = np.array([[0, 1], [6, 7]])
    stored = (offsets + 1).astype(np.int32)
    assert buffers.store(offsets, stored, np.array([True, False]), ALL) is None
    assert np.flatnonzero(buffers.covered).tolist() == [0, 1]


def test_a_wrong_store(buffers: Buffers) -> None:
    offsets = np.array([[0, 1], [6, 7]])
    stored = np.array([[1, 2], [7, 1]], np.int32)
    expected = Misfit("wrong element", 1, 7, 1)
    nobody = np.zeros(2, bool)
    assert buffers.store(offsets, stored, ALL, ALL) == expected
    assert buffers.store(offsets, stored, nobody, ALL) == expected
    assert buffers.store(offsets, stored, nobody, nobody) is None


def test_what_is_plainly_wrong_comes_first(buffers: Buffers) -> None:
    stored = np.array([[-300, 2], [7, 1]], np.int32)
    found = buffers.store(np.array([[0, 1], [6, 7]]), stored, ALL, ALL)
    assert found == Misfit("wrong element", 1, 7, 1)


@pytest.mark.parametrize("offset", [-1, 8])
def test_outside(buffers: Buffers, offset: int) -> None:
    offsets = np.array([[0], [offset]])
    assert buffers.outside(offsets, ALL) == Misfit("outside the buffer", 1, offset, 0)
    assert buffers.outside(offsets, np.array([True, False])) is None


def test_concrete_contents() -> None:
    concrete = Buffers(1, 2, ~np.array([0x5A, 0x01], np.int32))
    assert concrete.load(np.array([[0, 1]]), ALL[:1]).tolist() == [[-0x5B, -2]]
    assert concrete.describe(0) == "byte 0 of element 0 (0x5a)"
