"""Spans against ranks."""

from hypothesis import given
from hypothesis import strategies as st

from algebra import gauss
from compiler.permuting.spans import Span

VECTORS = st.lists(st.integers(0, 255), max_size=12)


@given(VECTORS, st.integers(0, 255))
def test_a_span_is_what_its_rank_says(vectors: list[int], other: int) -> None:
    span = Span(vectors)
    assert len(span) == gauss.rank(vectors) == gauss.rank(span.vectors)
    assert (other in span) == (gauss.rank([*vectors, other]) == len(span))
    assert span.add(other) == (gauss.rank([*vectors, other]) > gauss.rank(vectors))


@given(VECTORS, VECTORS, st.integers(0, 255))
def test_covered_values_can_be_made_zero(
    vectors: list[int], candidates: list[int], mask: int
) -> None:
    span = Span(vectors)
    span.cover(candidates, lambda vector: vector & mask)
    for vector in candidates:
        aligned = span.aligned(vector, lambda vector: vector & mask)
        assert not aligned & mask and (aligned ^ vector) in span


def test_nothing_spans_zero() -> None:
    assert 0 in Span() and not Span().add(0) and Span().vectors == []
