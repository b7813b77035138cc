"""A thing of another kind is rejected, with the way from it to what was needed."""

from collections.abc import Callable
from typing import Any

import pytest

import algebra
from algebra import AffineLayout, LinearLayout, propagate
from algebra.arguments import (
    expect_encoding,
    expect_integers,
    expect_layout,
    expect_names,
    expect_sizes,
)
from algebra.cute import CuteLayout, Swizzle, from_cute, parse_cute, to_cute
from algebra.encodings import Blocked, Cga, CtaLayout, Slice, to_dict
from algebra.errors import ArgumentError, LayoutError

BLOCKED = Blocked(
    size_per_thread=(1, 4), threads_per_warp=(4, 8), warps_per_cta=(2, 1), order=(1, 0)
)
LAYOUT = LinearLayout.from_bases(
    {"register": [[0, 1]], "lane": [[1, 0], [2, 0]]}, {"dim0": 4, "dim1": 2}
)


@pytest.mark.parametrize(
    ("value", "way_out"),
    [
        (BLOCKED, "call its to_linear_layout"),
        (AffineLayout(LAYOUT), "take its .linear"),
        ("#ttg.blocked<{}>", "read it with parse_encoding"),
        (None, "build one with LinearLayout.from_bases"),
    ],
)
def test_what_is_no_layout(value: object, way_out: str) -> None:
    expect_layout("outer", LAYOUT)
    with pytest.raises(ArgumentError, match="outer needs to be a Linear") as caught:
        expect_layout("outer", value)
    assert way_out in str(caught.value)
    assert caught.value.facts == {"argument": "outer", "value": value}


@pytest.mark.parametrize(
    ("value", "way_out"),
    [
        (LAYOUT, "give its bases to algebra.encodings.Linear"),
        ("#ttg.blocked<{}>", "read it with parse_encoding"),
        ({"kind": "blocked"}, "from_dict"),
        (None, "build one, such as"),
    ],
)
def test_what_is_no_encoding(value: object, way_out: str) -> None:
    expect_encoding("parent", BLOCKED)
    with pytest.raises(ArgumentError, match="parent needs to be an enc") as caught:
        expect_encoding("parent", value)
    assert way_out in str(caught.value)


@pytest.mark.parametrize("value", ["lane", None, [1], [["lane"]], 3])
def test_what_are_no_names(value: object) -> None:
    with pytest.raises(ArgumentError, match="dims needs to be a list of names"):
        expect_names("dims", value)
    assert expect_names("dims", (name for name in "ab")) == ("a", "b")


@pytest.mark.parametrize("value", ["12", b"12", None, 3, {1: 2}, [1.0], ["1"], [None]])
def test_what_are_no_integers(value: object) -> None:
    with pytest.raises(ArgumentError, match="shape needs to be a list of integers"):
        expect_integers("shape", value)


def test_integers_of_numpy_and_generators() -> None:
    numpy = pytest.importorskip("numpy")
    found = expect_integers("shape", numpy.array([4, 8]))
    assert found == (4, 8)
    assert all(type(each) is int for each in found)
    assert expect_integers("shape", (each for each in (4, 8))) == (4, 8)


@pytest.mark.parametrize("value", [None, [("lane", 2)], {1: 2}, "lane"])
def test_what_are_no_sizes(value: object) -> None:
    with pytest.raises(ArgumentError, match="dims needs to be a mapping"):
        expect_sizes("dims", value)


def test_a_long_value_is_shown_in_part() -> None:
    with pytest.raises(ArgumentError) as caught:
        expect_layout("outer", list(range(100_000)))
    assert len(str(caught.value)) < 250


CALLS: list[Callable[[Any], object]] = [
    LAYOUT.compose,
    LAYOUT.invert_and_compose,
    LAYOUT.divide_left,
    LAYOUT.divide_right,
    LAYOUT.concat_ins,
    LAYOUT.concat_outs,
    LAYOUT.equal_ignoring_out_dim_sizes,
    LAYOUT.transpose_ins,
    LAYOUT.reshape_ins,
    LAYOUT.is_trivial_over,
    LAYOUT.quotient,
    LAYOUT.apply,
    LinearLayout.empty().apply,
    LAYOUT.apply_index,
    AffineLayout(LAYOUT).compose,
    AffineLayout,
    lambda bad: AffineLayout(LAYOUT, bad),
    lambda bad: LAYOUT.sublayout(bad, bad),
    lambda bad: LinearLayout.from_columns(bad, {"x": 1}, []),
    lambda bad: LinearLayout.from_columns({"y": 1}, bad, [1]),
    lambda bad: LinearLayout.from_columns({"y": 2}, {"x": 1}, bad),
    lambda bad: LinearLayout.from_columns({"y": 1}, {"x": 1}, [bad]),
    lambda bad: LinearLayout(),
    lambda bad: LinearLayout.from_bases({"lane": [[1]]}, bad),
    lambda bad: LAYOUT.get_basis("lane", bad),
    lambda bad: algebra.reg_perm_for_divide(LinearLayout.empty(), LAYOUT),
    lambda bad: algebra.bank_conflicts(LAYOUT, bad, 16),
    lambda bad: algebra.broadcast_as([1], bad),
    lambda bad: algebra.lstsq(LAYOUT, bad),
    lambda bad: algebra.supremum(["a"], bad),
    lambda bad: algebra.ensure_layout_not_larger_than(LAYOUT, bad),
    lambda bad: algebra.remove_standard_dim(LAYOUT, bad),
    lambda bad: algebra.rename_linear_layout_dims(LAYOUT, bad, {}),
    lambda bad: algebra.reshape_layout(LAYOUT, bad),
    lambda bad: algebra.ColumnAction(bad, "lane", 1),
    lambda bad: algebra.ColumnAction((0, 0), "lane", bad),
    lambda bad: algebra.why_not_linear(bad, 3),
    algebra.standard_out_dim_names,
    algebra.standard_out_dim_pairs,
    lambda bad: propagate.infer_trans(bad, [16, 16], [1, 0]),
    lambda bad: propagate.infer_reshape(BLOCKED, bad, [16, 16]),
    lambda bad: propagate.default_blocked(bad, 4, 32),
    lambda bad: propagate.default_blocked([16], bad, 32),
    lambda bad: Slice(dim=0, parent=bad),
    lambda bad: Blocked(
        size_per_thread=(1,),
        threads_per_warp=(32,),
        warps_per_cta=(1,),
        order=(0,),
        cga=bad,
    ),
    to_dict,
    Cga(bases=((1, 0),)).split,
    Cga(bases=((1, 0),)).without,
    Cga(bases=((1, 0),)).drop,
    CtaLayout(warp=((1, 0),)).sizes,
    CtaLayout(warp=((1, 0),)).to_warps,
    from_cute,
    lambda bad: from_cute(8, in_dims=bad),
    lambda bad: from_cute(8, out_dims=bad),
    to_cute,
    parse_cute,
    CuteLayout((4, 8), (1, 4)),
    lambda bad: CuteLayout((4, 8), bad),
    lambda bad: Swizzle(bad, 0, 3),
]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("bad", [2.5, object(), "2.5", b"x", [2.5], {1: 2.5}, 10**30])
def test_every_door_rejects_it(call: Callable[[Any], object], bad: object) -> None:
    with pytest.raises(LayoutError):
        call(bad)


def test_an_argument_error_is_a_type_error() -> None:
    assert issubclass(ArgumentError, TypeError)
    with pytest.raises(TypeError):
        LinearLayout()
