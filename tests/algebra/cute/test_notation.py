"""CuTe's spelling, both ways, and the errors that point at the column."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algebra.cute import CuteLayout, Swizzle, parse_cute
from algebra.cute.int_tuple import IntTuple
from algebra.errors import EncodingError, ParseError


@pytest.mark.parametrize(
    ("text", "layout"),
    [
        ("8:1", CuteLayout(8, 1)),
        ("(8):(1)", CuteLayout((8,), (1,))),
        ("(8,):(1,)", CuteLayout((8,), (1,))),
        (
            "((4,8),(2,2)):((32,1),(16,8))",
            CuteLayout(((4, 8), (2, 2)), ((32, 1), (16, 8))),
        ),
        (" ( _4 , _8 ) : ( _8 , _1 ) ", CuteLayout((4, 8), (8, 1))),
        ("(4,8)", CuteLayout((4, 8), (1, 4))),
        ("4:-1", CuteLayout(4, -1)),
        ("Sw<3,4,3> o 0 o (8,8):(8,1)", CuteLayout((8, 8), (8, 1), Swizzle(3, 4, 3))),
        ("S<2,0,-3> o (8,8):(8,1)", CuteLayout((8, 8), (8, 1), Swizzle(2, 0, -3))),
        ("Swizzle<_1,_0,_1> \N{RING OPERATOR} _0 \N{RING OPERATOR} 4", None),
    ],
)
def test_spellings(text: str, layout: CuteLayout | None) -> None:
    expected = layout or CuteLayout(4, 1, Swizzle(1, 0, 1))
    assert parse_cute(text) == expected
    assert parse_cute(str(expected)) == expected


trees = st.recursive(
    st.integers(min_value=1, max_value=64),
    lambda branch: st.lists(branch, min_size=1, max_size=3).map(tuple),
    max_leaves=6,
)


@given(trees)
def test_round_trip(shape: IntTuple) -> None:
    layout = CuteLayout(shape, shape, Swizzle(2, 1, 3))
    assert parse_cute(str(layout)) == layout


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("", 1),
        ("(4,8", 5),
        ("(4(8))", 3),
        ("(4,,8)", 4),
        ("4:", 3),
        ("4:1 x", 5),
        ("a:1", 1),
        ("()", 2),
        ("Sw<3,4>", 7),
        ("Sw 3", 4),
        ("Sw<3,4,3>", 10),
        ("Sw<3,4,3> (8,8)", 11),
        ("Sw<3,4,3> o 5 o 8:1", 13),
        ("Sw<1,0,1> o 0 o", 16),
    ],
)
def test_bad_texts_point_at_the_column(text: str, column: int) -> None:
    with pytest.raises(ParseError, match=f"column {column}, got") as caught:
        parse_cute(text)
    assert caught.value.facts == {"line": 1, "column": column}


def test_contradictions_are_named() -> None:
    with pytest.raises(EncodingError, match="same nesting"):
        parse_cute("(4,8):(1)")
    with pytest.raises(EncodingError, match="shift"):
        parse_cute("Sw<3,0,1> o 0 o 8")
