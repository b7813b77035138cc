from hypothesis import given
from hypothesis import strategies as st

from algebra import gauss
from algebra.inversion import smallest_preimages


@given(
    st.lists(st.sampled_from([0, 1, 2, 4, 8, 16]), max_size=7),
    st.lists(st.integers(0, 31), max_size=4),
)
def test_the_table_gives_what_elimination_gives(
    columns: list[int], targets: list[int]
) -> None:
    assert smallest_preimages(columns, targets) == gauss.solve(columns, targets)


@given(
    st.lists(st.integers(0, 31), max_size=7), st.lists(st.integers(0, 31), max_size=4)
)
def test_general_columns(columns: list[int], targets: list[int]) -> None:
    assert smallest_preimages(columns, targets) == gauss.solve(columns, targets)


def test_more_columns_than_the_table() -> None:
    columns = [1 << i % 90 for i in range(120)]
    assert smallest_preimages(columns, [1 << 89, 3]) == [1 << 89, 3]
