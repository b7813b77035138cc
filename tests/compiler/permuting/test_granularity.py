"""Coarser elements and larger maps that mean the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algebra import AffineLayout
from compiler.permuting.granularity import absorb_batch, coarsen_to
from compiler.permuting.index_map import IndexMap
from verify.strategies.layouts import affine_layouts


@given(affine_layouts(max_bits=4), st.integers(1, 24))
def test_absorbing_keeps_every_element_in_its_place(
    layout: AffineLayout, batch: int
) -> None:
    map = IndexMap.from_layout(layout)
    larger, rest = absorb_batch(map, batch)
    assert rest % 2 == 1
    size, large = 1 << map.bits, 1 << larger.bits
    for i in range(batch * size):
        assert i // size * size + map(i % size) == i // large * large + larger(
            i % large
        )


def test_no_batch_is_left_alone() -> None:
    assert absorb_batch(IndexMap((1,)), 0) == (IndexMap((1,)), 0)


@pytest.mark.parametrize(("largest", "width"), [(1, 1), (2, 2), (7, 4), (64, 4)])
def test_groups_grow_while_neighbours_move_together(largest: int, width: int) -> None:
    map = IndexMap((1, 2, 8, 4))
    coarse, group_bytes = coarsen_to(map, 1, largest)
    assert group_bytes == width
    for i in range(16):
        assert map(i) == coarse(i // width) * width + i % width


def test_the_identity_becomes_one_group() -> None:
    assert coarsen_to(IndexMap((1, 2, 4)), 2, 1 << 20) == (IndexMap(()), 16)
