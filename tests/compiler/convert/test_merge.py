from compiler.convert import Barrier, Select
from compiler.convert.hardware import Hardware, moved
from compiler.convert.merge import merge


def test_neighbours_are_composed() -> None:
    here = Hardware(2, 0, 0, 0)
    turn, flip = Select(moved(here, here, [2, 1])), Select(moved(here, here, [1, 2], 1))
    (one,) = merge([turn, flip])
    assert one == Select(moved(here, here, [2, 1], 2))
    wait = Barrier("block")
    assert merge([turn, wait, flip]) == (turn, wait, flip)
    assert merge([]) == ()
