import pytest
from hypothesis import given
from hypothesis import strategies as st

from algebra import LinearLayout, relabel
from algebra.errors import DimMismatchError
from verify.strategies import layouts


@given(st.lists(st.integers(0, 4), min_size=1, max_size=4), st.data())
def test_moving_fields_there_and_back(bits: list[int], data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(bits))))
    column = data.draw(st.integers(0, (1 << sum(bits)) - 1))
    new_bits = [bits[p] for p in order]
    there = list(relabel.moved([column], relabel.moves(bits, order, new_bits)))
    back = [order.index(i) for i in range(len(bits))]
    assert list(relabel.moved(there, relabel.moves(new_bits, back, bits))) == [column]


@given(layouts(5))
def test_taking_all_changes_nothing(layout: LinearLayout) -> None:
    fields = (
        layout.in_names,
        layout.in_bits,
        layout.out_names,
        layout.out_bits,
        layout.columns,
    )
    assert relabel.take_ins(layout, range(layout.num_in_dims)) == fields
    assert relabel.take_outs(layout, range(layout.num_out_dims)) == fields


def test_names() -> None:
    assert relabel.position(("a", "b"), "b", "in_dim") == 1
    assert relabel.permutation(("a", "b"), ["b", "a"], "in_dims") == [1, 0]
    assert relabel.subset(("a", "b", "c"), ["c", "a"], "in_dims") == [0, 2]
    assert relabel.rename(("a", "b"), "a", "a", "in_dim") == ("a", "b")
    with pytest.raises(DimMismatchError, match="a permutation of the in_dims"):
        relabel.permutation(("a", "b"), ["a", "a"], "in_dims")


def test_consecutive_counts_stop_at_the_first_out_dim() -> None:
    spill = LinearLayout.from_bases({"a": [[1, 0], [0, 1]]}, {"x": 2, "y": 2})
    assert relabel.num_consecutive(spill) == 2
    mixed = LinearLayout.from_bases({"a": [[1], [2]], "b": [[2]]}, {"x": 4})
    assert relabel.num_consecutive(mixed) == 2
    strided = LinearLayout.from_bases({"a": [[2], [1]]}, {"x": 4})
    assert relabel.num_consecutive(strided) == 1
    assert relabel.num_consecutive(LinearLayout.empty()) == 1
