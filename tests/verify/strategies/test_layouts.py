from hypothesis import find, given
from hypothesis import strategies as st

from algebra import AffineLayout, LinearLayout, gauss
from verify.strategies import (
    affine_layouts,
    bijections,
    layouts,
    matrices,
    surjections,
)
from verify.strategies.layouts import splits


@given(st.integers(0, 9).flatmap(lambda n: st.tuples(st.just(n), matrices(n))))
def test_matrices_are_invertible(drawn: tuple[int, list[int]]) -> None:
    size, columns = drawn
    assert gauss.rank(columns) == size == len(columns)


@given(st.integers(0, 9).flatmap(lambda n: st.tuples(st.just(n), splits(n, "abc"))))
def test_splits_keep_the_total(drawn: tuple[int, dict[str, int]]) -> None:
    total, dims = drawn
    assert sum(dims.values()) == total
    assert all(width >= 0 for width in dims.values())


@given(surjections())
def test_surjections_are_surjective(layout: LinearLayout) -> None:
    assert layout.is_surjective


@given(bijections())
def test_bijections_are_invertible(layout: LinearLayout) -> None:
    assert layout.is_invertible


@given(affine_layouts())
def test_affine_layouts_are_invertible(layout: AffineLayout) -> None:
    assert layout.is_invertible


def test_interesting_layouts_are_found_and_shrink() -> None:
    smallest = find(layouts(), lambda a: not a.is_surjective and len(a.columns) > 1)
    assert not smallest.rank
    assert find(layouts(), lambda a: a.is_invertible and a.rank > 2).rank == 3
    broadcast = find(surjections(), lambda a: not a.is_injective and a.rank > 1)
    assert len(broadcast.columns) == 3
    identity = find(bijections(), lambda a: a.rank == 3)
    assert identity.columns == (1, 2, 4)
