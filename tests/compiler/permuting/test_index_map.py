"""IndexMap against the layouts that it packs."""

import pytest
from hypothesis import given

from algebra import AffineLayout, LinearLayout
from algebra.errors import BasisError, NotInvertibleError, UnsupportedLayoutError
from compiler.permuting.index_map import IndexMap, table
from verify.strategies.layouts import affine_layouts


@given(affine_layouts())
def test_flat_indices_follow_the_dims_minor_to_major(layout: AffineLayout) -> None:
    map = IndexMap.from_layout(layout)
    linear = layout.linear
    for flat in range(1 << map.bits):
        point, rest = {}, flat
        for name, bits in zip(linear.in_names, linear.in_bits, strict=True):
            point[name] = rest & (1 << bits) - 1
            rest >>= bits
        target, shift = 0, 0
        image = layout.apply(point)
        for name, bits in zip(linear.out_names, linear.out_bits, strict=True):
            target |= image[name] << shift
            shift += bits
        assert map(flat) == target


@given(affine_layouts())
def test_invert_undoes(layout: AffineLayout) -> None:
    map = IndexMap.from_layout(layout)
    back = map.invert()
    assert [back(map(i)) for i in range(1 << map.bits)] == list(range(1 << map.bits))


@given(affine_layouts())
def test_coarsen_undoes_refine(layout: AffineLayout) -> None:
    map = IndexMap.from_layout(layout)
    fine = map.refine()
    assert fine.coarsen() == map
    for i in range(2 << map.bits):
        assert fine(i) == map(i >> 1) << 1 | i & 1


def test_coarsen_needs_neighbours_that_move_together() -> None:
    assert IndexMap((1, 2), offset=1).coarsen() is None
    assert IndexMap((1, 3)).coarsen() is None
    assert IndexMap(()).coarsen() is None


def test_no_bits_is_the_identity_of_one_element() -> None:
    map = IndexMap.from_layout(LinearLayout.empty())
    assert (map.bits, map(0), map.invert()) == (0, 0, map)


def test_a_linear_layout_has_no_offset() -> None:
    assert IndexMap.from_layout(LinearLayout.identity_1d(4, "i", "o")) == IndexMap(
        (1, 2)
    )


def test_a_singular_map_shows_a_kernel_vector() -> None:
    with pytest.raises(NotInvertibleError, match="kernel vector 6") as caught:
        IndexMap((1, 2, 2))
    assert caught.value.facts["kernel"] == 6


def test_unequal_bits_are_not_invertible() -> None:
    wide = LinearLayout.from_columns({"i": 2}, {"o": 1}, [1, 1])
    with pytest.raises(NotInvertibleError, match="in_bits=2, out_bits=1; index 3"):
        IndexMap.from_layout(wide)
    narrow = LinearLayout.from_columns({"i": 1}, {"o": 2}, [1])
    with pytest.raises(NotInvertibleError, match="in_bits=1, out_bits=2; resize"):
        IndexMap.from_layout(narrow)


def test_other_objects_are_not_layouts() -> None:
    with pytest.raises(UnsupportedLayoutError, match="of type list"):
        IndexMap.from_layout([1, 2])


@pytest.mark.parametrize(("columns", "offset"), [((4, 1), 0), ((1, 2), 4), ((-1,), 0)])
def test_vectors_out_of_range(columns: tuple[int, ...], offset: int) -> None:
    with pytest.raises(BasisError, match="lies in"):
        IndexMap(columns, offset)


def test_table_lists_the_span() -> None:
    assert table([]) == [0]
    assert table([1, 2, 4]) == list(range(8))
