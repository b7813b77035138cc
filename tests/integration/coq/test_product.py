"""Both sides of each theorem of ``product.v``, on random instances."""

from hypothesis import given, settings
from hypothesis import strategies as st

from algebra import LinearLayout
from verify.strategies.flat import flat_layouts

LAW = settings(max_examples=30)
BITS = st.integers(0, 3)


@st.composite
def any_layouts(draw: st.DrawFn) -> LinearLayout:
    return draw(flat_layouts(draw(BITS), draw(BITS)))


@st.composite
def bijections(draw: st.DrawFn) -> LinearLayout:
    bits = draw(BITS)
    return draw(flat_layouts(bits, bits, rank=bits))


@LAW
@given(any_layouts(), any_layouts())
def test_product_acts_on_each_part_alone(a: LinearLayout, b: LinearLayout) -> None:
    both = a * b
    m, n = len(a.columns), a.out_bits[0]
    for low in range(1 << m):
        for high in range(1 << len(b.columns)):
            image = a.apply_index(low) | b.apply_index(high) << n
            assert both.apply_index(low | high << m) == image


@LAW
@given(any_layouts(), any_layouts(), any_layouts())
def test_product_is_associative(
    a: LinearLayout, b: LinearLayout, c: LinearLayout
) -> None:
    assert a * (b * c) == (a * b) * c


@LAW
@given(st.lists(BITS, min_size=6, max_size=6), st.data())
def test_compose_of_products_is_product_of_composes(
    bits: list[int], data: st.DataObject
) -> None:
    m, n, k, p, q, r = bits
    a = data.draw(flat_layouts(m, n, in_dim="x", out_dim="y"))
    a2 = data.draw(flat_layouts(n, k, in_dim="y", out_dim="z"))
    b = data.draw(flat_layouts(p, q, in_dim="x", out_dim="y"))
    b2 = data.draw(flat_layouts(q, r, in_dim="y", out_dim="z"))
    assert (a * b).compose(a2 * b2) == a.compose(a2) * b.compose(b2)


@LAW
@given(any_layouts(), any_layouts())
def test_rank_of_product_is_sum_of_ranks(a: LinearLayout, b: LinearLayout) -> None:
    assert (a * b).rank == a.rank + b.rank


@LAW
@given(any_layouts(), any_layouts())
def test_product_is_surjective_iff_both_factors_are(
    a: LinearLayout, b: LinearLayout
) -> None:
    assert (a * b).is_surjective == (a.is_surjective and b.is_surjective)


@LAW
@given(bijections(), bijections())
def test_product_of_invertible_is_invertible(a: LinearLayout, b: LinearLayout) -> None:
    assert (a * b).is_invertible
    assert (a * b).invert() == a.invert() * b.invert()
