"""Nested tuples: leaves, nesting, spelling, compact strides."""

import pytest

from algebra.cute.int_tuple import IntTuple, column_major, congruent, leaves, spell


@pytest.mark.parametrize(
    ("tree", "flat", "text", "strides"),
    [
        (7, [7], "7", 1),
        ((7,), [7], "(7)", (1,)),
        ((2, 3), [2, 3], "(2,3)", (1, 2)),
        (((2, 3), (4, (5, 6))), [2, 3, 4, 5, 6], "((2,3),(4,(5,6)))", None),
        ((), [], "()", ()),
    ],
)
def test_trees(
    tree: IntTuple, flat: list[int], text: str, strides: IntTuple | None
) -> None:
    assert list(leaves(tree)) == flat
    assert spell(tree) == text
    assert strides is None or column_major(tree) == strides
    assert congruent(tree, column_major(tree))


def test_compact_strides_are_running_products() -> None:
    strides = list(leaves(column_major(((2, 3), (4, (5, 6))))))
    assert strides == [1, 2, 6, 24, 120]


@pytest.mark.parametrize(
    ("left", "right"), [(1, (1,)), ((1,), 1), ((1, 2), (1,)), ((1, (2,)), (1, 2))]
)
def test_different_nestings(left: IntTuple, right: IntTuple) -> None:
    assert not congruent(left, right)
