"""CuTe layouts as functions, against the reference."""

import pytest
import tensor_layouts as reference

from algebra.cute import CuteLayout, Swizzle
from algebra.cute.int_tuple import IntTuple
from algebra.errors import EncodingError, OutOfRangeError

CASES: list[tuple[IntTuple, IntTuple]] = [
    (8, 1),
    (1, 0),
    (3, 5),
    ((4, 8), (8, 1)),
    ((4, 6), (2, 0)),
    (((2, 4), (3, 2)), ((1, 8), (16, 2))),
    (((2, (2, 2)),), ((4, (1, 2)),)),
]


@pytest.mark.parametrize(("shape", "stride"), CASES)
def test_same_function_as_the_reference(shape: IntTuple, stride: IntTuple) -> None:
    theirs = reference.Layout(shape, stride)
    for swizzle in (None, Swizzle(1, 1, 2)):
        layout = CuteLayout(shape, stride, swizzle)
        assert layout.size == reference.size(theirs)
        outer = reference.Swizzle(1, 1, 2) if swizzle else lambda offset: offset
        assert [layout(i) for i in range(layout.size)] == [
            outer(theirs(i)) for i in range(layout.size)
        ]


def test_modes_are_the_top_level() -> None:
    assert CuteLayout(8, 1).modes == (((8, 1),),)
    assert CuteLayout(((4, 8), 2), ((32, 1), 16)).modes == (
        ((4, 32), (8, 1)),
        ((2, 16),),
    )


def test_text() -> None:
    assert str(CuteLayout(8, 1)) == "8:1"
    assert str(CuteLayout((8,), (1,), Swizzle(1, 0, 1))) == "Sw<1,0,1> o 0 o (8):(1)"


def test_bad_arguments() -> None:
    with pytest.raises(EncodingError, match="same nesting"):
        CuteLayout((4, 8), 1)
    with pytest.raises(EncodingError, match="at least 1"):
        CuteLayout((4, 0), (1, 1))
    for index in (-1, 8):
        with pytest.raises(OutOfRangeError, match=f"index={index}"):
            CuteLayout(8, 1)(index)
