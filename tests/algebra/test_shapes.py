from itertools import permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algebra import (
    LinearLayout,
    ensure_layout_not_larger_than,
    ensure_layout_not_smaller_than,
    get_reps,
    identity_standard_nd,
    remove_standard_dim,
    rename_linear_layout_dims,
    reshape_layout,
    transpose_linear_layout,
    zeros_like,
)
from algebra.errors import DimMismatchError, NotPowerOfTwoError
from verify.strategies import layouts, surjections

sizes = st.sampled_from([1, 2, 4, 8, 16, 32, 64])


@given(layouts(6), st.data())
def test_clamping_keeps_what_fits(layout: LinearLayout, data: st.DataObject) -> None:
    shape = {name: data.draw(sizes) for name in layout.out_names}
    small = ensure_layout_not_larger_than(layout, shape)
    for name in layout.out_names:
        assert small.out_dims[name] == min(shape[name], layout.out_dims[name])
    for before, after in zip(layout.bases.items(), small.bases.items(), strict=True):
        for old, new in zip(before[1], after[1], strict=True):
            kept = tuple(
                v if v < small.out_dims[n] else 0
                for v, n in zip(old, layout.out_names, strict=True)
            )
            assert new == kept
    dense = ensure_layout_not_larger_than(layout, shape, broadcast_registers=False)
    assert dense.rank == small.rank
    assert dense.in_names == small.in_names
    assert dense.in_bits[1:] == small.in_bits[1:]


def test_dropping_registers_keeps_older_broadcasts() -> None:
    layout = LinearLayout.from_bases(
        {"register": [[1], [0], [4]], "lane": [[2], [8]]}, {"dim0": 16}
    )
    small = ensure_layout_not_larger_than(layout, {"dim0": 4}, False)
    assert small.bases == {"register": ((1,), (0,)), "lane": ((2,), (0,))}
    assert ensure_layout_not_larger_than(LinearLayout.empty(), {}, False) == (
        LinearLayout.empty()
    )
    no_ins = LinearLayout.from_columns({}, {"dim0": 2}, [])
    assert ensure_layout_not_larger_than(no_ins, {"dim0": 1}, False).out_dims == (
        {"dim0": 1}
    )


@given(surjections(4), st.data())
def test_repeating_covers_the_shape(layout: LinearLayout, data: st.DataObject) -> None:
    shape = {name: data.draw(sizes) for name in layout.out_names}
    if not layout.in_names:
        return
    large = ensure_layout_not_smaller_than(layout, shape)
    for name in layout.out_names:
        assert large.out_dims[name] == max(shape[name], layout.out_dims[name])
    assert large.is_surjective
    assert ensure_layout_not_larger_than(large, layout.out_dims).rank == layout.rank
    for name in layout.in_names:
        old = layout.bases[name]
        assert large.bases[name][: len(old)] == old


def test_shapes_must_name_every_dim() -> None:
    tile = LinearLayout.identity_1d(4, "lane", "dim0")
    for operation in (ensure_layout_not_larger_than, ensure_layout_not_smaller_than):
        with pytest.raises(DimMismatchError, match="must name every out-dim"):
            operation(tile, {"dim1": 4})
        with pytest.raises(NotPowerOfTwoError, match="size of dim0"):
            operation(tile, {"dim0": 6})
    no_ins = LinearLayout.from_columns({}, {"dim0": 0}, [])
    with pytest.raises(DimMismatchError, match="without in-dims"):
        ensure_layout_not_smaller_than(no_ins, {"dim0": 2})


def test_standard_tiles_in_every_order() -> None:
    for shape in product([1, 2, 4], repeat=3):
        for order in permutations(range(3)):
            tile = identity_standard_nd("lane", shape, order)
            total = shape[0] * shape[1] * shape[2]
            for index in range(total):
                rest, point = index, {}
                for dim in order:
                    point[f"dim{dim}"] = rest % shape[dim]
                    rest //= shape[dim]
                assert tile({"lane": index}) == point
    with pytest.raises(DimMismatchError, match=r"permutation of 0..1"):
        identity_standard_nd("lane", [2, 2], [0, 0])


@given(layouts(6))
def test_zeros_like(layout: LinearLayout) -> None:
    zeros = zeros_like(layout)
    assert zeros.in_dims == layout.in_dims and zeros.out_dims == layout.out_dims
    assert zeros.rank == 0


def test_row_major_reshape() -> None:
    layout = identity_standard_nd("lane", [4, 8], [1, 0]).transpose_outs(
        ["dim0", "dim1"]
    )
    flat = reshape_layout(layout, [32])
    assert [flat({"lane": i})["dim0"] for i in range(32)] == list(range(32))
    assert reshape_layout(flat, [4, 8]) == layout
    with pytest.raises(DimMismatchError):
        reshape_layout(layout, [16])


@given(st.permutations(range(3)))
def test_transposing_there_and_back(order: list[int]) -> None:
    layout = identity_standard_nd("lane", [2, 4, 8], [2, 0, 1]).transpose_outs(
        ["dim0", "dim1", "dim2"]
    )
    moved = transpose_linear_layout(layout, order)
    back = [order.index(i) for i in range(3)]
    assert transpose_linear_layout(moved, back) == layout
    for lane in range(64):
        source, result = layout({"lane": lane}), moved({"lane": lane})
        assert all(result[f"dim{i}"] == source[f"dim{d}"] for i, d in enumerate(order))


def test_transpose_rejects_other_orders() -> None:
    layout = LinearLayout.identity_1d(2, "lane", "dim0")
    with pytest.raises(DimMismatchError, match=r"permutation of 0\.\.0"):
        transpose_linear_layout(layout, [1])


def test_swapping_names() -> None:
    layout = LinearLayout.from_bases({"a": [[1, 0]], "b": [[0, 1]]}, {"x": 2, "y": 2})
    swapped = rename_linear_layout_dims(layout, {"a": "b", "b": "a"}, {})
    assert swapped.bases == {"b": ((1, 0),), "a": ((0, 1),)}
    for wrong in ({"a": "b"}, {"z": "a"}):
        with pytest.raises(DimMismatchError, match="distinct names"):
            rename_linear_layout_dims(layout, wrong, {})


def test_removing_a_dim() -> None:
    layout = identity_standard_nd("lane", [2, 4, 8], [0, 1, 2])
    without = remove_standard_dim(layout, 1)
    assert without.out_dims == {"dim0": 2, "dim1": 8}
    for dim in (-1, 3):
        with pytest.raises(DimMismatchError, match=r"\[0, 3\)"):
            remove_standard_dim(layout, dim)


def test_repetitions_of_a_tile() -> None:
    tile = LinearLayout.identity_1d(2, "in", "x")
    whole = LinearLayout.from_bases({"in": [[1, 0], [0, 1]]}, {"x": 2, "y": 2})
    reps = get_reps(whole, tile)
    assert reps is not None
    assert reps.bases == {"in": ((0, 0), (0, 1))}
    assert get_reps(whole, LinearLayout.identity_1d(8, "in", "x")) is None
    assert get_reps(whole, LinearLayout.identity_1d(2, "other", "x")) is None
    assert get_reps(whole, LinearLayout.identity_1d(2, "in", "y")) is None
    two = LinearLayout.from_bases({"in": [[1]], "b": [[2]]}, {"x": 4})
    assert get_reps(two, tile) == LinearLayout.from_bases(
        {"in": [[0]], "b": [[2]]}, {"x": 4}, False
    )
