import pytest
from hypothesis import given

from algebra import (
    LinearLayout,
    factor_maximal_identity_prefix,
    get_input_basis_mask,
    get_output_basis_mask,
    invert_and_compose_block_local,
    invert_and_compose_local,
    lstsq,
)
from algebra.errors import DimMismatchError, NotSolvableError
from verify.strategies import layouts, surjections


@given(layouts(6))
def test_masks_are_what_the_bases_touch(layout: LinearLayout) -> None:
    for out in layout.out_names:
        mask = get_output_basis_mask(layout, layout.in_names, out)
        reached = 0
        for index in range(layout.get_total_in_dim_size()):
            point, rest = {}, index
            for name, size in layout.in_dims.items():
                point[name], rest = rest % size, rest // size
            reached |= layout(point)[out]
        assert mask == reached
    for name in layout.in_names:
        mask = get_input_basis_mask(layout, name, layout.out_names)
        assert mask.bit_count() == sum(map(bool, layout.in_columns(name)))


def test_missing_dims() -> None:
    layout = LinearLayout.identity_1d(2, "a", "x")
    with pytest.raises(DimMismatchError):
        get_output_basis_mask(layout, ["b"], "x")
    with pytest.raises(DimMismatchError):
        get_input_basis_mask(layout, "a", ["y"])


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 4, 8, 100])
def test_the_largest_identity_below_a_limit(limit: int) -> None:
    layout = LinearLayout.from_bases({"a": [[1], [2], [8], [4]]}, {"x": 16})
    size, rest = factor_maximal_identity_prefix(layout, "a", "x", limit)
    assert size == max(1, min(4, 1 << max(0, limit.bit_length() - 1)))
    assert LinearLayout.identity_1d(size, "a", "x") * rest == layout


def test_no_identity_prefix() -> None:
    layout = LinearLayout.from_bases({"a": [[2], [1]]}, {"x": 4})
    assert factor_maximal_identity_prefix(layout, "a", "x", 4) == (1, layout)


def test_copies_are_read_from_the_own_block() -> None:
    outer = LinearLayout.from_bases({"offset": [[1]], "block": [[0]]}, {"x": 2})
    inner = LinearLayout.from_bases({"lane": [[1]], "block": [[0]]}, {"x": 2})
    local = invert_and_compose_block_local(outer, inner)
    assert local.bases == {"lane": ((1, 0),), "block": ((0, 1),)}
    assert local == invert_and_compose_local(outer, inner, ["block", "warp"])
    assert local.compose(outer) == inner


def test_blocks_that_are_not_there_stay_away() -> None:
    outer = LinearLayout.from_bases({"offset": [[1]], "block": [[0], [0]]}, {"x": 2})
    inner = LinearLayout.from_bases({"lane": [[1]], "block": [[1]]}, {"x": 2})
    local = invert_and_compose_block_local(outer, inner)
    assert local.bases == {"lane": ((1, 0),), "block": ((1, 1),)}
    far = LinearLayout.from_bases({"offset": [[1]], "block": [[2]]}, {"x": 4})
    near = LinearLayout.from_bases({"lane": [[1]], "block": [[2]]}, {"x": 4})
    assert invert_and_compose_block_local(far, near) == near.invert_and_compose(far)


@given(surjections(5))
def test_least_squares_solves(layout: LinearLayout) -> None:
    solution = lstsq(layout, layout)
    assert solution is not None
    assert solution.in_dims == solution.out_dims == layout.in_dims
    assert solution.compose(layout) == layout
    free = sum(m.bit_count() for m in layout.get_free_variable_masks().values())
    assert solution.rank == len(layout.columns) - free


def test_least_squares_without_solution() -> None:
    small = LinearLayout.from_bases({"a": [[1]]}, {"x": 4}, False)
    wide = LinearLayout.identity_1d(4, "a", "x")
    assert lstsq(small, wide) is None
    assert lstsq(wide, LinearLayout.identity_1d(8, "a", "x")) is None
    assert lstsq(wide, LinearLayout.identity_1d(4, "a", "y")) is None
    with pytest.raises(NotSolvableError):
        wide.invert_and_compose(small)
