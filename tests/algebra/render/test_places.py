from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algebra import LinearLayout
from algebra.render.places import Places


def brute_force(layout: LinearLayout, element: dict[str, int]) -> list[dict[str, int]]:
    ranges = [range(size) for size in layout.in_dims.values()]
    points = [
        dict(zip(layout.in_dims, index, strict=True)) for index in product(*ranges)
    ]
    return [point for point in points if layout.apply(point) == element]


@st.composite
def small_layouts(draw: st.DrawFn) -> LinearLayout:
    out_bits = draw(st.integers(0, 3)), draw(st.integers(0, 2))
    in_bits = draw(st.integers(0, 3)), draw(st.integers(0, 2))
    columns = st.integers(0, (1 << sum(out_bits)) - 1)
    return LinearLayout.from_columns(
        {"register": in_bits[0], "lane": in_bits[1]},
        {"dim0": out_bits[0], "dim1": out_bits[1]},
        draw(st.lists(columns, min_size=sum(in_bits), max_size=sum(in_bits))),
    )


@given(small_layouts())
def test_places_are_all_preimages(layout: LinearLayout) -> None:
    places = Places(layout)
    for row, column in product(*(range(size) for size in layout.out_dims.values())):
        element = {"dim0": row, "dim1": column}
        expected = brute_force(layout, element)
        found = places.of(element, limit=1 << 8)
        assert sorted(found, key=str) == sorted(expected, key=str)
        assert len(found) in (0, places.copies)


@pytest.mark.parametrize("limit", [1, 2, 3, 5])
def test_the_first_few_do_not_take_the_time_of_all(limit: int) -> None:
    places = Places(LinearLayout.zeros_1d(1 << 60, "lane", "dim0"))
    assert places.copies == 1 << 60
    assert len(places.of({"dim0": 0}, limit)) == limit


def test_an_element_that_nobody_holds() -> None:
    layout = LinearLayout.strided_1d(2, 2, "lane", "dim0")
    assert Places(layout).of({"dim0": 1}, limit=4) == []
