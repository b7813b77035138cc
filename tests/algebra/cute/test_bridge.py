"""The bridge against the reference package on random layouts, and its refusals."""

import random
from math import prod

import pytest
import tensor_layouts as reference
from hypothesis import given
from hypothesis import strategies as st

from algebra import LinearLayout
from algebra.cute import CuteLayout, Swizzle, from_cute, parse_cute, to_cute
from algebra.cute.int_tuple import IntTuple
from algebra.errors import (
    DimMismatchError,
    NotPowerOfTwoError,
    OutOfRangeError,
    UnsupportedLayoutError,
)
from algebra.why_not_linear import NotAffine


def random_cute(seed: int) -> CuteLayout:
    """Nested shapes; strides compact, permuted, broadcast or arbitrary; swizzles."""
    source = random.Random(seed)
    extents = [
        source.choice([1, 2, 2, 4, 4, 8, 3]) for _ in range(source.randrange(1, 6))
    ]
    if source.random() < 0.8:
        extents = [extent if extent != 3 else 2 for extent in extents]
    while prod(extents) > 512:
        extents.pop()
    order = list(range(len(extents)))
    source.shuffle(order)
    strides = [0] * len(extents)
    step = source.choice([1, 1, 1, 2, 4])
    for position in order:
        strides[position] = step
        step *= extents[position]
    style = source.randrange(5)
    if style == 1:
        strides[source.randrange(len(strides))] = 0
    elif style == 2:
        strides = [source.randrange(40) for _ in strides]
    elif style == 3:
        strides[source.randrange(len(strides))] *= 2
    swizzle = None
    if source.random() < 0.5:
        bits = source.randrange(4)
        shift = bits + source.randrange(3)
        swizzle = Swizzle(
            bits, source.randrange(4), source.choice([shift, shift, -shift])
        )
    shape, stride = nest(source, extents, strides)
    return CuteLayout(shape, stride, swizzle)


def nest(
    source: random.Random, extents: list[int], strides: list[int]
) -> tuple[IntTuple, IntTuple]:
    """Bracket both lists in the same random way."""
    if len(extents) == 1 and source.random() < 0.7:
        return extents[0], strides[0]
    shape: list[IntTuple] = []
    stride: list[IntTuple] = []
    while extents:
        count = source.randrange(1, len(extents) + 1)
        if count == 1:
            shape.append(extents[0])
            stride.append(strides[0])
        else:
            shape.append(tuple(extents[:count]))
            stride.append(tuple(strides[:count]))
        extents, strides = extents[count:], strides[count:]
    return tuple(shape), tuple(stride)


def values_of_the_reference(cute: CuteLayout) -> list[int]:
    layout = reference.Layout(cute.shape, cute.stride)
    if cute.swizzle is not None:
        s = cute.swizzle
        layout = reference.compose(reference.Swizzle(s.bits, s.base, s.shift), layout)
    return [layout(i) for i in range(cute.size)]


def is_linear(values: list[int]) -> bool:
    """By the definition, with nothing of ours: size 2**k and f(x^y) = f(x)^f(y)."""
    size = len(values)
    if size & size - 1:
        return False
    return (
        all(values[x] == values[x & x - 1] ^ values[x & -x] for x in range(1, size))
        and values[0] == 0
    )


def check(seed: int) -> str:
    cute = random_cute(seed)
    values = values_of_the_reference(cute)
    assert [cute(i) for i in range(cute.size)] == values
    try:
        layout = from_cute(cute)
    except NotPowerOfTwoError as error:
        assert not is_linear(values)
        x, y = error.facts["x"], error.facts["y"]
        assert x < cute.size and y < cute.size and x ^ y >= cute.size
        return "domain"
    except UnsupportedLayoutError as error:
        assert not is_linear(values)
        witness = error.facts["witness"]
        assert isinstance(witness, NotAffine)
        assert witness.discrepancy(values) != 0
        assert str(witness) in str(error)
        return "carry"
    assert is_linear(values)
    assert [layout.apply_index(i) for i in range(cute.size)] == values
    assert from_cute(str(cute)) == layout
    back = to_cute(layout)
    assert [back(i) for i in range(back.size)] == values
    modes = [f"mode{i}" for i in range(len(cute.modes))]
    by_mode = from_cute(cute, in_dims=modes)
    assert by_mode.columns == layout.columns
    spread = {"dim0": 2, "dim1": 1 << sum(layout.out_bits)}
    tensor = from_cute(cute, in_dims=modes, out_dims=spread)
    assert from_cute(to_cute(tensor), in_dims=modes, out_dims=spread) == tensor
    return "swizzled" if back.swizzle else "strided"


@pytest.mark.no_cover
@pytest.mark.parametrize(
    "count", [300, pytest.param(2000, marks=pytest.mark.slow)], ids=str
)
def test_random_layouts_agree_with_the_reference(count: int) -> None:
    outcomes = [check(seed) for seed in range(count)]
    for outcome in ("domain", "carry", "strided", "swizzled"):
        assert outcomes.count(outcome) > count // 20


@given(
    st.lists(st.integers(min_value=0, max_value=63), max_size=4),
    st.integers(min_value=0, max_value=4),
)
def test_to_cute_returns_the_same_function_or_says_why(
    columns: list[int], lanes: int
) -> None:
    lanes = min(lanes, len(columns))
    layout = LinearLayout.from_columns(
        {"lane": lanes, "register": len(columns) - lanes}, {"offset": 6}, columns
    )
    try:
        cute = to_cute(layout)
    except UnsupportedLayoutError as error:
        first, second = error.facts["columns"]
        assert first & second
        return
    assert [cute(i) for i in range(cute.size)] == [
        layout.apply_index(i) for i in range(cute.size)
    ]
    assert (
        from_cute(cute, in_dims=["lane", "register"], out_dims={"offset": 64}) == layout
    )


def test_matrix_core_accumulator() -> None:
    layout = from_cute(
        "((4,8),(2,2)):((32,1),(16,8))",
        in_dims=["lane", "register"],
        out_dims={"dim0": 16, "dim1": 8},
    )
    assert layout.bases == {
        "lane": ((0, 2), (0, 4), (1, 0), (2, 0), (4, 0)),
        "register": ((0, 1), (8, 0)),
    }
    assert str(to_cute(layout)) == "((4,8),(2,2)):((32,1),(16,8))"


def test_the_128_byte_swizzle_of_halves_is_sw_3_3_3() -> None:
    memory = LinearLayout.from_bases(
        {
            "offset": [[0, 1 << i] for i in range(6)]
            + [[1 << i, 8 << i] for i in range(3)]
        },
        ["dim0", "dim1"],
    )
    assert str(to_cute(memory.invert())) == "Sw<3,3,3> o 0 o (8,64):(64,1)"


@pytest.mark.parametrize(
    ("text", "size"), [("3:1", 3), ("(3):(1)", 3), ("(2,6):(6,1)", 12), ("(24,5)", 120)]
)
def test_other_extents_leave_the_domain(text: str, size: int) -> None:
    with pytest.raises(NotPowerOfTwoError, match="pad the shape") as caught:
        from_cute(text)
    x, y = caught.value.facts["x"], caught.value.facts["y"]
    assert max(x, y) < size <= x ^ y


@pytest.mark.parametrize(
    "text", ["(4,4):(1,2)", "4:3", "(2,2):(1,1)", "(32,32):(1,33)"]
)
def test_carries_are_shown_by_three_inputs(text: str) -> None:
    with pytest.raises(UnsupportedLayoutError, match="must not carry") as caught:
        from_cute(text)
    witness = caught.value.facts["witness"]
    assert isinstance(witness, NotAffine)
    cute = parse_cute(text)
    assert witness.discrepancy([cute(i) for i in range(cute.size)]) != 0


def test_strides_that_are_no_powers_of_two_may_be_linear() -> None:
    assert from_cute((2, 2), (3, 4)).columns == (3, 4)
    assert from_cute(2, 3).columns == (3,)


def test_shapes_alone_are_compact() -> None:
    assert from_cute((4, 2)) == from_cute("(4,2):(1,4)")


def test_bad_arguments() -> None:
    with pytest.raises(OutOfRangeError, match="negative"):
        from_cute("4:-1")
    with pytest.raises(DimMismatchError, match="one name"):
        from_cute("(4,4)", in_dims=["a", "b", "c"])
    with pytest.raises(OutOfRangeError, match="4 bits"):
        from_cute("(4,4)", out_dims={"dim0": 2, "dim1": 2})
    with pytest.raises(NotPowerOfTwoError):
        from_cute("(4,4)", out_dims={"dim0": 17})


def test_degenerate_layouts() -> None:
    point = from_cute("1:7")
    assert point.in_dims == {"index": 1} and point.out_dims == {"index": 1}
    assert str(to_cute(point)) == "1:0"
    assert str(to_cute(LinearLayout.empty())) == "():()"
    assert str(to_cute(LinearLayout.zeros_1d(8, "lane", "dim0"))) == "8:0"


def test_a_map_that_needs_two_swizzles_has_no_spelling() -> None:
    layout = LinearLayout.from_columns(
        {"index": 5}, {"index": 5}, [1, 2, 4 ^ 1, 8 ^ 2 ^ 1, 16 ^ 4]
    )
    with pytest.raises(UnsupportedLayoutError, match="up to one swizzle"):
        to_cute(layout)
