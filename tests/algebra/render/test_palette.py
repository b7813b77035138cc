import pytest

from algebra import DimMismatchError, LinearLayout
from algebra.encodings import SwizzledShared
from algebra.render.palette import (
    WHEEL,
    check_key,
    colour,
    colour_keys,
    default_key,
    key_value,
)

MEMORY = SwizzledShared(vec=1, per_phase=1, max_phase=1, order=(1, 0)).to_linear_layout(
    [8, 64]
)


@pytest.mark.parametrize("count", [1, 2, 8, 32, WHEEL])
def test_values_have_different_colours_light_enough_for_text(count: int) -> None:
    colours = [colour(value, count) for value in range(count)]
    assert len(set(colours)) == count
    for text in colours:
        red, green, blue = (int(text[start : start + 2], 16) for start in (1, 3, 5))
        assert 0.299 * red + 0.587 * green + 0.114 * blue > 110


def test_colours_repeat_around_the_wheel() -> None:
    assert colour(3, 1 << 40) == colour(3 + WHEEL, 1 << 40)


def test_banks_are_words_of_32_bits() -> None:
    assert [key_value({"offset": o}, "bank", 16) for o in (0, 1, 2, 63, 64)] == [
        *(0, 0, 1, 31, 0)
    ]
    assert key_value({"offset": 5}, "bank", 64) == 10
    assert key_value({"offset": 7}, "offset", 8) == 7


def test_padding_moves_banks() -> None:
    assert [
        key_value({"offset": o}, "bank", 32, lambda offset: offset + offset // 4)
        for o in (3, 4, 8)
    ] == [3, 5, 10]


@pytest.mark.parametrize(
    ("layout", "key"),
    [
        (MEMORY, "bank"),
        (LinearLayout.identity_1d(2, "register", "x").concat_ins(
            LinearLayout.zeros_1d(2, "warp", "x", 2)), "warp"),
        (LinearLayout.identity_1d(2, "row", "x"), "row"),
        (LinearLayout.empty(), ""),
    ],
)  # fmt: skip
def test_default_key(layout: LinearLayout, key: str) -> None:
    assert default_key(layout) == check_key(layout, None) == key


def test_a_key_is_an_in_dim_or_the_bank() -> None:
    assert colour_keys(MEMORY) == {"bank": 32, "offset": 512, "block": 1}
    assert check_key(MEMORY, "offset") == "offset"
    with pytest.raises(DimMismatchError, match="color_by='lane'"):
        check_key(MEMORY, "lane")
