"""Both sides of each theorem of ``inverse.v``, on random instances."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from algebra import LinearLayout, gauss
from algebra.errors import LayoutError, NotSolvableError
from verify.strategies.flat import flat_layouts

LAW = settings(max_examples=30)
BITS = st.integers(0, 4)


def invertible(bits: int, in_dim: str, out_dim: str) -> st.SearchStrategy[LinearLayout]:
    return flat_layouts(bits, bits, rank=bits, in_dim=in_dim, out_dim=out_dim)


def identity(bits: int, dim: str) -> LinearLayout:
    return LinearLayout.identity_1d(1 << bits, dim, dim)


def image(layout: LinearLayout) -> set[int]:
    return {layout.apply_index(i) for i in range(layout.get_total_in_dim_size())}


@LAW
@given(BITS, BITS, st.data())
def test_right_inverse_exists(m: int, n: int, data: st.DataObject) -> None:
    b = data.draw(flat_layouts(m, n, in_dim="y", out_dim="z"))
    if b.is_surjective:
        assert b.pseudoinvert().compose(b) == identity(n, "z")
    else:
        assert gauss.solve(b.columns, [1 << i for i in range(n)]) is None
        with pytest.raises(LayoutError):
            b.pseudoinvert()


@LAW
@given(BITS, st.data())
def test_inverse_undoes_both_ways_and_is_unique(n: int, data: st.DataObject) -> None:
    a = data.draw(invertible(n, "x", "y"))
    assert a.compose(a.invert()) == identity(n, "x")
    assert a.invert().compose(a) == identity(n, "y")
    other = data.draw(flat_layouts(n, n, in_dim="y", out_dim="x"))
    undoes = a.compose(other) == identity(n, "x")
    assert undoes == (other == a.invert())


@LAW
@given(BITS, st.data())
def test_inverse_of_compose_is_reversed_compose(n: int, data: st.DataObject) -> None:
    a = data.draw(invertible(n, "x", "y"))
    b = data.draw(invertible(n, "y", "z"))
    assert a.compose(b).invert() == b.invert().compose(a.invert())


@LAW
@given(BITS, BITS, st.data())
def test_conversion_then_destination_is_source(
    m: int, n: int, data: st.DataObject
) -> None:
    a = data.draw(flat_layouts(m, n, in_dim="x", out_dim="z"))
    extra = data.draw(BITS)
    b = data.draw(flat_layouts(n + extra, n, rank=n, in_dim="y", out_dim="z"))
    assert a.invert_and_compose(b).compose(b) == a
    assert a.compose(b.pseudoinvert()).compose(b) == a


@LAW
@given(BITS, BITS, BITS, st.data())
def test_conversion_exists_iff_destination_reaches_the_source(
    m: int, k: int, n: int, data: st.DataObject
) -> None:
    a = data.draw(flat_layouts(m, n, in_dim="x", out_dim="z"))
    b = data.draw(flat_layouts(k, n, in_dim="y", out_dim="z"))
    if image(a) <= image(b):
        assert a.invert_and_compose(b).compose(b) == a
    else:
        with pytest.raises(NotSolvableError):
            a.invert_and_compose(b)


@LAW
@given(BITS, BITS, BITS, st.data())
def test_conversions_agree_iff_they_differ_by_the_kernel(
    m: int, k: int, n: int, data: st.DataObject
) -> None:
    b = data.draw(flat_layouts(k, n, in_dim="y", out_dim="z"))
    x = data.draw(flat_layouts(m, k, in_dim="x", out_dim="y"))
    free = gauss.Echelon(gauss.kernel(b.columns), tag_bits=max(k, 1))
    if data.draw(st.booleans()):
        y = data.draw(flat_layouts(m, k, in_dim="x", out_dim="y"))
    else:
        shift = st.sampled_from([0, *gauss.kernel(b.columns)])
        shifts = data.draw(st.lists(shift, min_size=m, max_size=m))
        columns = [c ^ s for c, s in zip(x.columns, shifts, strict=True)]
        y = LinearLayout.from_columns({"x": m}, {"y": k}, columns)
    differ_by_kernel = all(
        p ^ q in free for p, q in zip(x.columns, y.columns, strict=True)
    )
    assert (x.compose(b) == y.compose(b)) == differ_by_kernel
    assert (b.get_free_variable_masks()["y"].bit_count()) == k - b.rank


@LAW
@given(BITS, BITS, st.data())
def test_conversion_is_unique_iff_destination_is_injective(
    k: int, n: int, data: st.DataObject
) -> None:
    b = data.draw(flat_layouts(k, n, in_dim="y", out_dim="z"))
    x = data.draw(flat_layouts(1, k, in_dim="x", out_dim="y"))
    target = x.compose(b)
    answers = [
        y
        for column in range(1 << k)
        if (y := LinearLayout.from_columns({"x": 1}, {"y": k}, [column])).compose(b)
        == target
    ]
    assert b.is_injective == (len(answers) == 1)
    assert target.invert_and_compose(b) == min(answers, key=lambda y: y.columns)


@LAW
@given(BITS, BITS, BITS, BITS, st.data())
def test_conversions_compose_to_a_conversion(
    k: int, l1: int, l2: int, n: int, data: st.DataObject
) -> None:
    a = data.draw(flat_layouts(k, n, in_dim="a", out_dim="z"))
    b = data.draw(flat_layouts(n + l1, n, rank=n, in_dim="b", out_dim="z"))
    c = data.draw(flat_layouts(n + l2, n, rank=n, in_dim="c", out_dim="z"))
    first, second = a.invert_and_compose(b), b.invert_and_compose(c)
    assert first.compose(second).compose(c) == a


@LAW
@given(BITS, BITS, st.data())
def test_solution_without_dependent_bases_is_the_smallest(
    m: int, n: int, data: st.DataObject
) -> None:
    a = data.draw(flat_layouts(m, n))
    target = a.apply_index(data.draw(st.integers(0, (1 << m) - 1)))
    solved = gauss.solve(a.columns, [target])
    assert solved is not None
    answers = [x for x in range(1 << m) if a.apply_index(x) == target]
    pivots = gauss.Echelon(a.columns).pivots
    on_pivots = [x for x in answers if not x & ~sum(1 << i for i in pivots)]
    assert solved == on_pivots == [min(answers)]
