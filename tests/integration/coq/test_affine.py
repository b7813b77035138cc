"""Both sides of each theorem of ``affine.v``, on random instances."""

from hypothesis import given, settings
from hypothesis import strategies as st

from algebra import AffineLayout
from algebra.why_not_linear import NotAffine, why_not_linear
from verify.strategies.flat import flat_layouts

LAW = settings(max_examples=30)
BITS = st.integers(0, 3)


@st.composite
def affine(
    draw: st.DrawFn,
    m: int,
    n: int,
    in_dim: str = "x",
    out_dim: str = "y",
    rank: int | None = None,
) -> AffineLayout:
    linear = draw(flat_layouts(m, n, rank=rank, in_dim=in_dim, out_dim=out_dim))
    return AffineLayout(linear, {out_dim: draw(st.integers(0, (1 << n) - 1))})


def images(f: AffineLayout) -> list[int]:
    return [f.apply_index(i) for i in range(f.linear.get_total_in_dim_size())]


@LAW
@given(BITS, BITS, BITS, st.data())
def test_affine_layouts_compose(m: int, n: int, p: int, data: st.DataObject) -> None:
    f = data.draw(affine(m, n, "x", "y"))
    g = data.draw(affine(n, p, "y", "z"))
    both = f.compose(g)
    assert images(both) == [g.apply_index(w) for w in images(f)]
    assert both.linear == f.linear.compose(g.linear)
    moved = g.linear.apply_index(f.packed_offset) ^ g.packed_offset
    assert both.packed_offset == moved


@LAW
@given(BITS, st.data())
def test_inverse_of_affine_layout_is_affine(n: int, data: st.DataObject) -> None:
    f = data.draw(affine(n, n, rank=n))
    back = f.invert()
    assert back.linear == f.linear.invert()
    assert back.packed_offset == back.linear.apply_index(f.packed_offset)
    assert [back.apply_index(w) for w in images(f)] == list(range(1 << n))
    assert [f.apply_index(v) for v in images(back)] == list(range(1 << n))


@LAW
@given(BITS, BITS, st.data())
def test_affine_layout_is_bijective_iff_its_linear_part_is(
    m: int, n: int, data: st.DataObject
) -> None:
    f = data.draw(affine(m, n))
    bijective = sorted(images(f)) == list(range(1 << n))
    assert f.is_invertible == f.linear.is_invertible == bijective


@LAW
@given(st.integers(0, 3), st.data())
def test_affine_iff_four_point_equation(m: int, data: st.DataObject) -> None:
    value = st.integers(0, 3)
    size = 1 << m
    if data.draw(st.booleans()):
        values = images(data.draw(affine(m, 2)))
    else:
        values = data.draw(st.lists(value, min_size=size, max_size=size))
    holds = all(
        values[u ^ v ^ w] == values[u] ^ values[v] ^ values[w]
        for u in range(size)
        for v in range(size)
        for w in range(size)
    )
    found = why_not_linear(values, m)
    if holds:
        assert isinstance(found, AffineLayout) and images(found) == values
    else:
        assert isinstance(found, NotAffine)


@LAW
@given(BITS, BITS, BITS, st.data())
def test_affine_conversion_then_destination_is_source(
    m: int, extra: int, n: int, data: st.DataObject
) -> None:
    f = data.draw(affine(m, n, "x", "z"))
    g = data.draw(affine(n + extra, n, "y", "z", rank=n))
    back = g.linear.pseudoinvert()
    offset = back.apply({"z": f.packed_offset ^ g.packed_offset})
    conversion = AffineLayout(f.linear.compose(back), offset)
    assert conversion.compose(g) == f
