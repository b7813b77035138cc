from compiler.convert import Registers, Select, Shuffle
from compiler.convert.hardware import Hardware, moved
from compiler.convert.renaming import Renaming, renamings, undoes

TWO, THREE = Hardware(2, 1, 0, 0), Hardware(3, 1, 0, 0)
SHUFFLE = Shuffle(moved(TWO, TWO, [1, 2, 4]), 0)
SWAP = Select(moved(TWO, TWO, [2, 1, 4]))


def test_both_ends_are_taken_off() -> None:
    steps, before, after = renamings((SWAP, SHUFFLE, SWAP), 32)
    assert steps == (SHUFFLE,)
    assert before == after == Renaming(2, (1, 0))


def test_dropped_and_made_copies() -> None:
    drop = Registers(moved(TWO, THREE, [1, 4, 8]))
    make = Registers(moved(THREE, TWO, [2, 0, 1, 4]))
    steps, before, after = renamings((drop, SHUFFLE, make), 32)
    assert steps == (SHUFFLE,)
    assert before == Renaming(3, (0, 2))
    assert after == Renaming(2, (1, None, 0))


def test_what_threads_decide_stays() -> None:
    chosen = Select(moved(TWO, TWO, [1, 2, 4 | 1]))
    flipped = Select(moved(TWO, TWO, [1, 2, 4], 1))
    mixed = Select(moved(TWO, TWO, [1, 3, 4]))
    for step in (chosen, flipped, mixed):
        assert renamings((step, SHUFFLE), 32) == ((step, SHUFFLE), None, None)


def test_something_is_left() -> None:
    assert renamings((SWAP,), 32) == ((SWAP,), None, None)
    assert renamings((SWAP, SWAP), 32)[0] == (SWAP,)
    assert renamings((), 32) == ((), None, None)


def test_words_that_are_made_anew_are_no_renaming() -> None:
    """Two elements of 16 bits share a word in a file; this shuffle moves them alone."""
    assert renamings((SWAP, SHUFFLE, SWAP), 16) == ((SWAP, SHUFFLE, SWAP), None, None)
    packed = Shuffle(SHUFFLE.source, 1)
    assert renamings((SWAP, packed), 16)[0] == (packed,)


def test_a_renaming_undoes_another() -> None:
    turned = Renaming(3, (1, 2, 0))
    assert undoes(Renaming(3, (2, 0, 1)), turned) and undoes(turned, turned) is False
    made, dropped = Renaming(2, (1, None, 0)), Renaming(3, (2, 0))
    assert undoes(dropped, made)
    assert not undoes(Renaming(3, (0, 2)), made)
    # copies that are made of what was dropped are other registers
    assert not undoes(made, dropped)
    assert not undoes(Renaming(2, (2, 0)), made)
