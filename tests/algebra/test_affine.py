import pytest
from hypothesis import given
from hypothesis import strategies as st

from algebra import AffineLayout, LinearLayout
from algebra.errors import BasisError, DimMismatchError, NotInvertibleError
from verify.strategies import affine_layouts, bijections


@given(affine_layouts(5))
def test_packed_and_named_application_agree(layout: AffineLayout) -> None:
    outs = dict(zip(layout.linear.out_names, layout.linear.out_bits, strict=True))
    for index in range(layout.linear.get_total_in_dim_size()):
        point, rest = {}, index
        for name, size in layout.in_dims.items():
            point[name], rest = rest % size, rest // size
        packed = shift = 0
        for name, bits in outs.items():
            packed |= layout(point)[name] << shift
            shift += bits
        assert layout.apply_index(index) == packed


@given(affine_layouts(6))
def test_inverse_undoes(layout: AffineLayout) -> None:
    inverse = layout.invert()
    assert layout.is_invertible
    for index in range(layout.linear.get_total_in_dim_size()):
        assert inverse.apply_index(layout.apply_index(index)) == index
    assert inverse.invert() == layout


@given(
    st.integers(0, 5).flatmap(lambda n: st.tuples(bijections(5), st.just(n))), st.data()
)
def test_composition(drawn: tuple[LinearLayout, int], data: st.DataObject) -> None:
    linear = drawn[0]
    offset = {n: data.draw(st.integers(0, s - 1)) for n, s in linear.out_dims.items()}
    inner = AffineLayout(linear, offset)
    back = linear.invert()
    shift = {n: data.draw(st.integers(0, s - 1)) for n, s in back.out_dims.items()}
    for outer in (back, AffineLayout(back, shift)):
        composed = inner.compose(outer)
        for index in range(linear.get_total_in_dim_size()):
            assert composed.apply_index(index) == (
                outer.apply_index(inner.apply_index(index))
            )


def test_reversal_of_one_dim() -> None:
    reverse = AffineLayout(LinearLayout.identity_1d(8, "x", "y"), {"y": 7})
    assert [reverse({"x": i})["y"] for i in range(8)] == list(range(7, -1, -1))
    assert reverse.in_dims == {"x": 8}
    assert reverse.out_dims == {"y": 8}
    assert str(reverse).endswith("xor (7)")
    scope = {"AffineLayout": AffineLayout, "LinearLayout": LinearLayout}
    assert eval(repr(reverse), scope) == reverse
    assert len({reverse, eval(repr(reverse), scope)}) == 1


def test_without_offset_it_is_the_linear_part() -> None:
    linear = LinearLayout.identity_1d(4, "x", "y")
    assert AffineLayout(linear).offset == {"y": 0}
    assert AffineLayout(LinearLayout.empty()).apply({}) == {}


@pytest.mark.parametrize("value", [8, -1, 1.0, "1", None])
def test_offsets_must_fit(value: object) -> None:
    linear = LinearLayout.identity_1d(8, "x", "y")
    with pytest.raises(BasisError, match=r"offset of y must be an int in \[0, 8\)"):
        AffineLayout(linear, {"y": value})  # type: ignore[dict-item]


def test_other_mistakes() -> None:
    linear = LinearLayout.identity_1d(8, "x", "y")
    with pytest.raises(DimMismatchError, match=r"offset must name out-dims of \['y'\]"):
        AffineLayout(linear, {"x": 1})
    with pytest.raises(NotInvertibleError):
        AffineLayout(LinearLayout.zeros_1d(2, "x", "y")).invert()
    with pytest.raises(AttributeError):
        AffineLayout(linear).linear = linear  # type: ignore[misc]
