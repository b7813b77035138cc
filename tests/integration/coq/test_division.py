"""Both sides of each theorem of ``division.v``, on random instances."""

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
def near_products(
    draw: st.DrawFn,
) -> tuple[LinearLayout, LinearLayout, LinearLayout]:
    """Two layouts, and their product with perhaps one entry changed."""
    a, b = draw(any_layouts()), draw(any_layouts())
    both = a * b
    columns = list(both.columns)
    if columns and both.out_bits[0] and draw(st.booleans()):
        position = draw(st.integers(0, len(columns) - 1))
        columns[position] ^= 1 << draw(st.integers(0, both.out_bits[0] - 1))
    ins, outs = {"x": both.in_bits[0]}, {"y": both.out_bits[0]}
    return a, b, LinearLayout.from_columns(ins, outs, columns)


@LAW
@given(near_products())
def test_left_division_succeeds_iff_layout_is_that_product(
    case: tuple[LinearLayout, LinearLayout, LinearLayout],
) -> None:
    a, _, layout = case
    quotient = layout.divide_left(a)
    m, n = a.in_bits[0], a.out_bits[0]
    low = [column & (1 << n) - 1 for column in layout.columns]
    high = [column >> n for column in layout.columns]
    is_product = low == [*a.columns] + [0] * (len(low) - m) and not any(high[:m])
    assert (quotient is not None) == is_product
    if quotient is not None:
        assert a * quotient == layout and list(quotient.columns) == high[m:]


@LAW
@given(near_products())
def test_right_division_succeeds_iff_layout_is_that_product(
    case: tuple[LinearLayout, LinearLayout, LinearLayout],
) -> None:
    a, b, layout = case
    quotient = layout.divide_right(b)
    m, n = a.in_bits[0], a.out_bits[0]
    low = [column & (1 << n) - 1 for column in layout.columns]
    high = [column >> n for column in layout.columns]
    is_product = high == [0] * m + [*b.columns] and not any(low[m:])
    assert (quotient is not None) == is_product
    if quotient is not None:
        assert quotient * b == layout and list(quotient.columns) == low[:m]


@LAW
@given(any_layouts(), any_layouts())
def test_left_division_undoes_product(a: LinearLayout, b: LinearLayout) -> None:
    assert (a * b).divide_left(a) == b


@LAW
@given(any_layouts(), any_layouts())
def test_right_division_undoes_product(a: LinearLayout, b: LinearLayout) -> None:
    assert (a * b).divide_right(b) == a


@LAW
@given(st.data(), BITS, BITS, BITS, BITS)
def test_factors_of_a_product_are_unique(
    data: st.DataObject, m: int, n: int, p: int, q: int
) -> None:
    a, a2 = (data.draw(flat_layouts(m, n)) for _ in range(2))
    b, b2 = (data.draw(flat_layouts(p, q)) for _ in range(2))
    assert (a * b == a2 * b2) == (a == a2 and b == b2)


@LAW
@given(any_layouts(), BITS, st.data())
def test_quotient_of_trivial_dims(
    rest: LinearLayout, bits: int, data: st.DataObject
) -> None:
    whole = rest * LinearLayout.identity_1d(1 << bits, "top", "top")
    columns = list(whole.columns)
    total = sum(whole.out_bits)
    if columns and total and data.draw(st.booleans()):
        position = data.draw(st.integers(0, len(columns) - 1))
        columns[position] ^= 1 << data.draw(st.integers(0, total - 1))
    layout = LinearLayout.from_columns(
        dict(zip(whole.in_names, whole.in_bits, strict=True)),
        dict(zip(whole.out_names, whole.out_bits, strict=True)),
        columns,
    )
    m, n = rest.in_bits[0], rest.out_bits[0]
    passes = all(
        layout.apply_index(low | high << m) >> n == high
        and layout.apply_index(low | high << m) % (1 << n)
        == layout.apply_index(low) % (1 << n)
        for low in range(1 << m)
        for high in range(1 << bits)
    )
    quotient = layout.quotient(["top"])
    assert layout.is_trivial_over(["top"]) == passes == (quotient is not None)
    if quotient is not None:
        assert quotient * LinearLayout.identity_1d(1 << bits, "top", "top") == layout


@LAW
@given(BITS, BITS, st.data())
def test_quotient_of_invertible_is_invertible(
    m: int, n: int, data: st.DataObject
) -> None:
    q, b = data.draw(flat_layouts(m, m)), data.draw(flat_layouts(n, n))
    whole = q * b
    quotient = whole.divide_right(b)
    assert quotient is not None
    assert not whole.is_invertible or quotient.is_invertible


@LAW
@given(any_layouts(), any_layouts(), any_layouts(), st.booleans())
def test_dividing_by_a_product_is_dividing_twice(
    a: LinearLayout, b: LinearLayout, q: LinearLayout, other: bool
) -> None:
    layout = b * (a * q) if other else a * (b * q)
    first = layout.divide_left(a)
    twice = None if first is None else first.divide_left(b)
    assert layout.divide_left(a * b) == twice
    assert (twice == q) == (layout == a * (b * q))
