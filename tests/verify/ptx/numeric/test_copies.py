"""Copies are done when their group is waited for, not before."""

import numpy as np
import pytest

from verify.ptx.numeric.copies import Copies


def started(copies: Copies, place: int, value: int) -> None:
    data = np.full((1, 4), value, np.uint8)
    copies.start(np.array([place], np.uint64), data)


@pytest.mark.parametrize("pending", range(5))
def test_all_but_the_latest_groups_are_done(pending: int) -> None:
    copies, shared = Copies(), np.zeros(16, np.uint8)
    for group in range(3):
        started(copies, 4 * group, group + 1)
        copies.commit()
    started(copies, 12, 4)  # in the group that is open
    assert not shared.any()
    copies.wait(pending, shared)
    done = max(0, 3 - pending)
    assert shared[::4].tolist() == [1, 2, 3][:done] + [0] * (4 - done)
    copies.wait(0, shared)
    assert shared[::4].tolist() == [1, 2, 3, 0]
    copies.commit()
    copies.wait(0, shared)
    assert shared[::4].tolist() == [1, 2, 3, 4]


def test_later_copies_to_a_place_win() -> None:
    copies, shared = Copies(), np.zeros(4, np.uint8)
    started(copies, 0, 1)
    copies.commit()
    started(copies, 0, 2)
    copies.commit()
    copies.wait(0, shared)
    assert shared.tolist() == [2] * 4
