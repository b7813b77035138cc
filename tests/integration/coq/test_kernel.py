"""Both sides of each theorem of ``kernel.v``, on random instances."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from algebra import LinearLayout, gauss
from verify.strategies.flat import flat_layouts

LAW = settings(max_examples=30)
BITS = st.integers(0, 5)


@st.composite
def any_layouts(draw: st.DrawFn) -> LinearLayout:
    return draw(flat_layouts(draw(BITS), draw(BITS)))


def images(layout: LinearLayout) -> list[int]:
    return [layout.apply_index(i) for i in range(layout.get_total_in_dim_size())]


@LAW
@given(any_layouts())
def test_inputs_share_an_output_iff_they_differ_by_the_kernel(a: LinearLayout) -> None:
    kernel = gauss.Echelon(gauss.kernel(a.columns), tag_bits=max(1, len(a.columns)))
    values = images(a)
    for v, at_v in enumerate(values):
        for w, at_w in enumerate(values):
            assert (at_v == at_w) == (v ^ w in kernel)


@LAW
@given(any_layouts())
def test_layout_reaches_two_to_the_rank_outputs(a: LinearLayout) -> None:
    assert len(set(images(a))) == 1 << a.rank


@LAW
@given(any_layouts())
def test_kernel_dimension_is_broadcast_factor(a: LinearLayout) -> None:
    kernel = gauss.kernel(a.columns)
    assert len(kernel) == len(a.columns) - a.rank
    assert set(Counter(images(a)).values()) == {1 << len(kernel)}


@LAW
@given(any_layouts())
def test_zero_basis_iff_flipping_the_bit_changes_nothing(a: LinearLayout) -> None:
    values = images(a)
    idle = [
        all(values[v ^ 1 << i] == values[v] for v in range(len(values)))
        for i in range(len(a.columns))
    ]
    assert idle == [column == 0 for column in a.columns]
    kept = a.remove_zero_bases_along_dim("x")
    assert len(kept.columns) == idle.count(False)


@LAW
@given(BITS, st.data())
def test_appending_a_basis_adds_one_to_the_rank_iff_it_is_independent(
    n: int, data: st.DataObject
) -> None:
    a = data.draw(flat_layouts(data.draw(BITS), n))
    basis = data.draw(st.integers(0, (1 << n) - 1))
    independent = basis not in images(a)
    assert gauss.rank([*a.columns, basis]) == a.rank + independent
