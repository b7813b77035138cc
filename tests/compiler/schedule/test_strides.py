"""Strides of views and layouts."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from compiler.ir.expression import make
from compiler.ir.index import (
    add,
    constant_value,
    digit,
    floordiv,
    index,
    mod,
    mul,
    symbol,
)
from compiler.ir.node import Axis, Buffer
from compiler.ir.scalar import checked_index, constant
from compiler.schedule.strides import (
    affine,
    base_strides,
    dense_strides,
    is_dense,
    offset_of,
    same_layout,
    strides_of,
    view_strides,
)

D, J, K = digit("i"), digit("j"), digit("k")


def numbers(values: object) -> list[int | None]:
    return [constant_value(v) for v in values]  # type: ignore[attr-defined]


def test_digits_inside_something_else_are_told_apart() -> None:
    steps, hidden = affine(add(mul(D, 3), floordiv(J, 2), 5))
    assert steps == {D: index(3)} and hidden == {J}
    gathered = make("load", (K,), "int64", "keys")
    looked_up = make("checked_index", (gathered, index(9)), "index", False)
    assert affine(add(looked_up, D)) == ({D: index(1)}, set())


def test_a_step_may_be_any_size() -> None:
    n = symbol("n")
    width = add(n, mod(mul(n, -1), 4))
    steps, hidden = affine(add(mul(D, width), J))
    assert steps == {D: width, J: index(1)} and not hidden
    steps, hidden = affine(mul(D, mod(J, 4)))
    assert not steps and hidden == {D, J}
    rows = view_strides([D, J], [Axis(D, n), Axis(J, width)], [width, 1])
    assert rows == ((width, index(1)), index(0))
    looked_up = mul(D, checked_index(constant(1, "int64"), n))
    assert view_strides([looked_up], [Axis(D, n)], [1]) is None


@given(st.permutations([0, 1, 2]), st.lists(st.integers(1, 5), min_size=3, max_size=3))
def test_dense_strides_are_those_of_a_permuted_tensor(
    order: list[int], shape: list[int]
) -> None:
    made = torch.empty([shape[d] for d in order])
    back = [order.index(d) for d in range(3)]
    wanted = made.permute(back).stride()
    assert numbers(dense_strides(shape, order)) == list(wanted)
    assert is_dense(shape, wanted)


def test_layouts_with_gaps_are_not_dense() -> None:
    assert not is_dense([2, 3], [4, 1])
    assert not is_dense([2, 3], [2, 1])
    assert is_dense([1, 3], [77, 1])


def test_a_view_of_a_slice_has_an_offset() -> None:
    axes = [Axis(D, index(3)), Axis(J, index(2))]
    found = view_strides([J, add(D, 1)], axes, [8, 1])
    assert found is not None
    assert numbers(found[0]) == [1, 8] and constant_value(found[1]) == 1


def test_views_that_no_strides_give() -> None:
    axes = [Axis(K, index(12))]
    assert view_strides([floordiv(K, 4), mod(K, 4)], axes, [4, 1]) is not None
    assert view_strides([floordiv(K, 4), mod(K, 4)], axes, [8, 1]) is None
    assert view_strides([add(mul(K, -1), 11)], axes, [1]) is None
    keys = make("load", (index(0),), "int64", "keys")
    looked_up = make("checked_index", (keys, index(9)), "index", False)
    assert view_strides([looked_up, K], axes, [12, 1]) is None
    asked = checked_index(constant(2, "int64"), index(3))
    assert view_strides([asked, K], axes, [12, 1]) is None


def test_a_base_laid_out_for_its_view() -> None:
    axes = [Axis(D, index(3)), Axis(J, index(4))]
    assert base_strides([J, D], axes, [4, 1]) == (index(1), index(4))
    assert base_strides([floordiv(D, 2), J], axes, [4, 1]) is None


def test_extents_of_one_have_any_stride() -> None:
    assert same_layout([1, 3], [9, 1], [3, 1])
    assert not same_layout([2, 3], [9, 1], [3, 1])
    buffer = Buffer("x", "float32", (index(3),), "cpu", (index(1),))
    assert strides_of(buffer) == (index(1),)
    assert offset_of([D], [2]) is mul(D, 2)
