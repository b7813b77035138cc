from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algebra import LinearLayout, square_sublayout_is_identity, supremum
from algebra.division import (
    is_identity_on_out_dim,
    is_trivial_over,
    product,
    quotient_candidate,
)
from algebra.errors import DimMismatchError
from verify.strategies import layouts


def is_subsequence(part: list[str], whole: tuple[str, ...]) -> bool:
    rest = iter(whole)
    return all(name in rest for name in part)


@given(st.permutations("abcde"), st.data())
def test_supremum_contains_both(names: list[str], data: st.DataObject) -> None:
    left = [n for n in names if data.draw(st.booleans())]
    right = [n for n in names if data.draw(st.booleans())]
    merged = supremum(left, right)
    assert is_subsequence(left, merged) and is_subsequence(right, merged)
    assert sorted(merged) == sorted(set(left) | set(right))


def test_supremum_of_every_pair_of_orders() -> None:
    for left in permutations("abc"):
        for right in permutations("abc"):
            if left == right:
                assert supremum(left, right) == left
            else:
                with pytest.raises(DimMismatchError, match="same order"):
                    supremum(left, right)
    with pytest.raises(DimMismatchError):
        supremum(["a", "b", "x"], ["y", "b", "a"])


@given(layouts(4), layouts(4))
def test_fields_of_a_product_can_be_divided(a: LinearLayout, b: LinearLayout) -> None:
    whole = a * b
    assert product(a, b) == (
        whole.in_names,
        whole.in_bits,
        whole.out_names,
        whole.out_bits,
        whole.columns,
    )
    assert quotient_candidate(whole, a, left=True) is not None
    assert quotient_candidate(whole, b, left=False) is not None


@pytest.mark.parametrize(
    "divisor",
    [
        LinearLayout.identity_1d(16, "a", "x"),
        LinearLayout.identity_1d(2, "b", "x"),
        LinearLayout.identity_1d(2, "a", "y"),
        LinearLayout.zeros_1d(2, "a", "x"),
    ],
)
def test_what_does_not_divide(divisor: LinearLayout) -> None:
    whole = LinearLayout.identity_1d(8, "a", "x")
    assert whole.divide_left(divisor) is None
    assert whole.divide_right(divisor) is None


def test_what_is_not_block_diagonal_does_not_divide() -> None:
    swizzled = LinearLayout.from_bases({"a": [[1], [2], [5]]}, {"x": 8})
    tile = LinearLayout.identity_1d(2, "a", "x")
    assert swizzled.divide_left(tile) is None
    quarter = LinearLayout.identity_1d(4, "a", "x")
    assert swizzled.divide_right(tile) is None
    assert swizzled.divide_left(quarter) is None


def test_squares() -> None:
    swap = LinearLayout.from_bases({"a": [[0, 1]], "b": [[1, 0]]}, {"a": 2, "b": 2})
    assert not square_sublayout_is_identity(swap, ["a", "b"])
    assert square_sublayout_is_identity(swap.transpose_outs(["b", "a"]), [])
    identity = LinearLayout.identity_1d(2, "a", "a")
    wide = identity.resize_in_dim("a", 4)
    assert square_sublayout_is_identity(identity, ["a"])
    assert not square_sublayout_is_identity(wide, ["a"])
    assert not is_trivial_over(wide, ["a"])
    assert not is_identity_on_out_dim(swap, "a")
    with pytest.raises(DimMismatchError, match="in_dims must be one of"):
        square_sublayout_is_identity(identity, ["z"])


def test_influence_from_outside_is_not_trivial() -> None:
    fed = LinearLayout.from_bases({"a": [[1, 0]], "b": [[1, 1]]}, {"a": 2, "b": 2})
    assert not is_trivial_over(fed, ["a"])
    assert not is_identity_on_out_dim(fed, "a")
    feeds = LinearLayout.from_bases({"a": [[1, 1]], "b": [[0, 1]]}, {"a": 2, "b": 2})
    assert not is_trivial_over(feeds, ["a"])
    assert is_identity_on_out_dim(feeds, "a")
    two = identity_of("a") * identity_of("b")
    assert is_trivial_over(two, ["a", "b"]) and is_trivial_over(two, ["b"])
    reordered = two.transpose_outs(["b", "a"])
    assert is_trivial_over(reordered, ["a", "b"])


def identity_of(name: str) -> LinearLayout:
    return LinearLayout.identity_1d(4, name, name)
