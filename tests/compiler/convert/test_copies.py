from collections.abc import Callable

from algebra import LinearLayout
from compiler.convert.copies import with_copies, without_copies
from compiler.convert.hardware import distributed, hardware_of

Flat = Callable[..., LinearLayout]


def test_copies_are_dropped_and_made(make_flat: Flat) -> None:
    layout = distributed(make_flat([0, 1, 2, 3], [4]), "src")
    (drop,), left = without_copies(layout)
    assert hardware_of(left).registers == 2
    assert drop.source.compose(layout) == left
    (repeat,), start = with_copies(layout)
    assert start == left
    assert repeat.source.compose(start) == layout


def test_nothing_to_do(make_flat: Flat) -> None:
    layout = distributed(make_flat([1, 2], [0]), "src")
    assert without_copies(layout) == with_copies(layout) == ([], layout)
