"""Work is done when its group is waited for, not before."""

import pytest

from verify.ptx.numeric.background import Background


@pytest.mark.parametrize("pending", range(5))
def test_all_but_the_latest_groups_are_done(pending: int) -> None:
    background, done = Background(), list[int]()
    for group in range(3):
        background.start(lambda number=group: done.append(number))  # type: ignore[misc]
        background.commit()
    background.start(lambda: done.append(3))  # in the group that is open
    assert not done
    background.wait(pending)
    assert done == list(range(max(0, 3 - pending)))
    background.wait(0)
    assert done == [0, 1, 2]
    background.commit()
    background.wait(0)
    assert done == [0, 1, 2, 3]


def test_work_of_a_group_is_done_in_order() -> None:
    background, done = Background(), list[str]()
    for name in "abc":
        background.start(lambda name=name: done.append(name))  # type: ignore[misc]
    background.commit()
    background.wait(0)
    assert done == ["a", "b", "c"]
