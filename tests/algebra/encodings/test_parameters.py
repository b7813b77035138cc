"""Checks of parameters: what passes, and what the messages say."""

from typing import Any

import pytest

from algebra.encodings.parameters import (
    RELEASES,
    check_no_view,
    check_release,
    choice,
    flag,
    integer,
    integers,
    known_keys,
    needed_keys,
    permutation,
    power,
    powers,
    shape_bits,
    vectors,
)
from algebra.errors import EncodingError, LayoutError, NotPowerOfTwoError


def test_what_passes_is_returned_as_a_tuple() -> None:
    assert integer("k", "n", 0) == 0
    assert integers("k", "n", iter([1, 2])) == (1, 2)
    assert powers("k", "n", [1, 2]) == (1, 2)
    assert permutation("k", "n", [1, 0], 2) == (1, 0)
    assert choice("k", "n", 3, (3, 4)) == 3
    assert flag("k", "n", False) is False
    assert vectors("k", "n", [[0, 1]], 2) == ((0, 1),)
    assert shape_bits("k", [1, 8], 2) == [0, 3]
    check_no_view("k", [8], [8])
    known_keys("k", {}, ["n"])
    needed_keys("k", {"n": 0}, ["n"])
    for release in RELEASES:
        check_release(release)


@pytest.mark.parametrize("value", [True, 1.0, "1", None, -1])
def test_what_is_no_integer(value: Any) -> None:
    with pytest.raises(EncodingError, match="k needs n to be an integer >= 0") as info:
        integer("k", "n", value)
    assert info.value.facts == {"parameter": "n", "value": value}


@pytest.mark.parametrize("values", ["12", 12])
def test_what_is_no_list(values: Any) -> None:
    with pytest.raises(EncodingError, match="a list of integers"):
        integers("k", "n", values)
    with pytest.raises(EncodingError, match="a list of vectors"):
        vectors("k", "n", values, None)


@pytest.mark.parametrize("value", [0, 3, 6])
def test_what_is_no_power_of_two(value: int) -> None:
    with pytest.raises(NotPowerOfTwoError, match=f"got n={value}; take") as info:
        power("k", "n", value)
    assert info.value.facts["size"] == value


def test_every_message_names_the_way_out() -> None:
    for mistake in (
        lambda: permutation("k", "n", [0, 2], 2),
        lambda: choice("k", "n", 5, (3, 4)),
        lambda: flag("k", "n", 1),
        lambda: vectors("k", "n", [[1], [1, 2]], None),
        lambda: shape_bits("k", [8], 2),
        lambda: check_no_view("k", [8], [16]),
        lambda: check_release("1"),
        lambda: known_keys("k", {"m": 0}, ["n"]),
        lambda: needed_keys("k", {"m": 0}, ["n"]),
    ):
        with pytest.raises(LayoutError, match=r"got .*; "):
            mistake()
