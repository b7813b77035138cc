"""Elimination against counting: every law is decided by listing the span."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from algebra import gauss
from verify.strategies import matrices

columns_of = st.lists(st.integers(0, 63), max_size=8)


def span(columns: list[int]) -> set[int]:
    values = {0}
    for column in columns:
        values |= {value ^ column for value in values}
    return values


def test_every_small_matrix() -> None:
    for size in range(4):
        for columns in product(range(8), repeat=size):
            reached = span(list(columns))
            assert 2 ** gauss.rank(columns) == len(reached)
            inverse = gauss.inverse(columns)
            square = size == 3 or not size or max(columns) < 2**size
            assert (inverse is not None) == (square and len(reached) == 2**size)


@given(columns_of, st.integers(0, 63))
def test_reduction_keeps_the_vector(columns: list[int], vector: int) -> None:
    echelon = gauss.Echelon(columns)
    remainder, tag = echelon.reduce(vector)
    assert remainder ^ gauss.apply(columns, tag) == vector
    assert (remainder == 0) == (vector in span(columns)) == (vector in echelon)
    assert echelon.rank == gauss.rank(columns) == len(echelon.pivots)


@given(columns_of)
def test_kernel_is_all_that_maps_to_zero(columns: list[int]) -> None:
    zeros = {x for x in range(1 << len(columns)) if not gauss.apply(columns, x)}
    kernel = gauss.kernel(columns)
    assert span(kernel) == zeros
    assert len(kernel) == len(columns) - gauss.rank(columns)


@given(columns_of, st.integers(0, 63))
def test_the_smallest_preimage_is_taken(columns: list[int], target: int) -> None:
    preimages = [
        x for x in range(1 << len(columns)) if gauss.apply(columns, x) == target
    ]
    solution = gauss.solve(columns, [target])
    assert solution == ([min(preimages)] if preimages else None)


@given(matrices(7), matrices(7))
def test_inverse_and_product(left: list[int], right: list[int]) -> None:
    inverse = gauss.inverse(left)
    assert inverse is not None
    identity = [1 << i for i in range(7)]
    assert gauss.matmul(left, inverse) == gauss.matmul(inverse, left) == identity
    assert gauss.matmul(gauss.matmul(left, right), [3]) == gauss.matmul(
        left, gauss.matmul(right, [3])
    )


@given(columns_of)
def test_complement_completes(columns: list[int]) -> None:
    chosen = gauss.complement(columns, 6)
    assert gauss.rank([*columns, *chosen]) == 6
    assert len(chosen) == 6 - gauss.rank(columns)


@given(columns_of, columns_of)
def test_intersection_is_the_meet(left: list[int], right: list[int]) -> None:
    meet = gauss.intersection(left, right)
    assert span(meet) == span(left) & span(right)
    assert gauss.rank(meet) == len(meet)


def test_tags_can_be_wider_than_the_columns() -> None:
    echelon = gauss.Echelon([1], tag_bits=3)
    assert echelon.add(2, 2)
    assert not echelon.add(3, 1)
    assert echelon.reduce(3) == (0, 0b101)
    assert echelon.kernel == [0b111]
