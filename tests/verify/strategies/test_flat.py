import pytest
from hypothesis import find, given
from hypothesis import strategies as st

from algebra import LinearLayout
from verify.strategies.flat import flat_layouts

BITS = st.integers(0, 5)


@given(BITS, BITS, st.data())
def test_dims_and_rank_are_as_asked(m: int, n: int, data: st.DataObject) -> None:
    rank = data.draw(st.integers(0, min(m, n)))
    layout = data.draw(flat_layouts(m, n, rank=rank, in_dim="a", out_dim="b"))
    assert layout.in_dims == {"a": 1 << m}
    assert layout.out_dims == {"b": 1 << n}
    assert layout.rank == rank


@pytest.mark.parametrize("columns", [(0, 0), (3, 3), (2, 1)])
def test_extreme_matrices_are_drawn(columns: tuple[int, int]) -> None:
    found = find(flat_layouts(2, 2), lambda layout: layout.columns == columns)
    assert found.columns == columns


@given(BITS, st.data())
def test_no_bits_on_one_side(n: int, data: st.DataObject) -> None:
    layout = data.draw(flat_layouts(0, n))
    assert layout == LinearLayout.from_columns({"x": 0}, {"y": n}, [])
