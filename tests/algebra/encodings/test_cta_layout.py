"""Where the instructions of a CTA go."""

from itertools import product

import pytest

from algebra.encodings import CtaLayout
from algebra.errors import EncodingError, NotPowerOfTwoError, UnsupportedLayoutError


def test_lists_place_a_warps_tiles_below_its_neighbours() -> None:
    layout = CtaLayout.from_warps((2, 4), (2, 1))
    assert layout == CtaLayout(register=((1, 0),), warp=((0, 1), (0, 2), (2, 0)))
    assert layout.sizes(2) == [4, 4]
    assert CtaLayout.from_warps((1, 2, 2)).warp == ((0, 0, 1), (0, 1, 0))


def test_nothing_reaches_one_instruction() -> None:
    assert CtaLayout().sizes(3) == [1, 1, 1]
    assert CtaLayout.from_dict({}) == CtaLayout()


def test_dictionaries_and_text() -> None:
    layout = CtaLayout(register=((0, 1),), warp=((3, 2),))
    assert CtaLayout.from_dict(layout.to_dict()) == layout
    assert eval(repr(layout)) == layout


def test_vectors_of_different_lengths() -> None:
    with pytest.raises(EncodingError, match="cta_layout needs warp to have 2"):
        CtaLayout(warp=((1, 0), (1,)))
    with pytest.raises(EncodingError, match="a list of vectors"):
        CtaLayout(warp="none")  # type: ignore[arg-type]


def test_lists_that_do_not_fit() -> None:
    with pytest.raises(EncodingError, match="tiles_per_warp to have 2"):
        CtaLayout.from_warps((1, 1), (1,))
    with pytest.raises(NotPowerOfTwoError, match="warps_per_cta=3"):
        CtaLayout.from_warps((3, 1))


def test_lists_come_back() -> None:
    for numbers in product((1, 2, 4), repeat=6):
        warps, tiles = numbers[:3], numbers[3:]
        assert CtaLayout.from_warps(warps, tiles).to_warps(3) == (warps, tiles)
    assert CtaLayout().to_warps(2) == ((1, 1), (1, 1))


@pytest.mark.parametrize("warp", [((1, 0), (0, 1)), ((0, 0),), ((1, 1),), ((0, 2),)])
def test_what_lists_cannot_say(warp: tuple[tuple[int, ...], ...]) -> None:
    layout = CtaLayout(warp=warp)
    with pytest.raises(UnsupportedLayoutError, match=r"release 3\.6 needs") as caught:
        layout.to_warps(2)
    assert caught.value.facts == {"cta_layout": layout}
