from hypothesis import given
from hypothesis import strategies as st

from algebra import LinearLayout
from algebra.verdict import Proved, Refuted
from verify.mutants import laws
from verify.strategies import layouts, surjections

A = LinearLayout.from_bases({"lane": [[1], [2]], "warp": [[0]]}, {"dim0": 4})


@given(layouts(6))
def test_a_layout_is_the_same_map_as_itself(layout: LinearLayout) -> None:
    assert isinstance(laws.same_map(layout, layout), Proved)
    assert len(laws.unit_points(layout)) == len(layout.columns)


@given(surjections(5))
def test_smallest_places_by_search(layout: LinearLayout) -> None:
    for index in range(min(16, layout.get_total_in_dim_size())):
        point, rest = {}, index
        for name, size in layout.in_dims.items():
            point[name], rest = rest % size, rest // size
        target = layout.apply(point)
        place = laws.smallest_place(layout, target)
        assert layout.apply(place) == target
        assert tuple(reversed(place.values())) <= tuple(reversed(point.values()))


@given(st.data())
def test_conversions_of_the_algebra_are_right(data: st.DataObject) -> None:
    src = data.draw(surjections(5))
    outs = dict(zip(src.out_names, src.out_bits, strict=True))
    dst = data.draw(surjections(out_dims=outs))
    conversion = src.invert_and_compose(dst)
    assert isinstance(laws.conversion_is_right(src, dst, conversion), Proved)
    assert isinstance(laws.right_inverse_is_smallest(src, src.pseudoinvert()), Proved)


def test_what_has_the_wrong_dims_is_refuted() -> None:
    wide = A.resize_in_dim("lane", 8)
    for wrong in (wide, A.rename_in_dim("warp", "w"), A.resize_out_dim("dim0", 2)):
        assert isinstance(laws.same_map(A, wrong), Refuted)
    grown = LinearLayout.from_bases(A.bases, {"dim0": 8}, False)
    verdict = laws.same_map(A, grown)
    assert isinstance(verdict, Refuted)
    assert verdict.counterexample["sizes"] == (4, 8)
    assert isinstance(laws.conversion_is_right(A, A, A), Refuted)
    assert isinstance(laws.quotient_is_right(A, A, None), Refuted)
    turned = LinearLayout.from_bases({"b": [], "a": []}, {})
    mixed = LinearLayout.from_bases({"a": [], "b": []}, {})
    assert isinstance(laws.quotient_is_right(A, turned, mixed), Refuted)
    part = A.sublayout(["lane"], ["dim0"])
    assert isinstance(laws.restriction_is_right(A, part, ["warp"], ["dim0"]), Refuted)
    assert isinstance(
        laws.restriction_is_right(A, part.resize_out_dim("dim0", 1), [], []), Refuted
    )


def test_a_restriction_keeps_the_order_of_its_out_dims() -> None:
    whole = LinearLayout.from_bases(
        {"lane": [[1, 1]]}, {"dim0": 2, "dim1": 2}, require_surjective=False
    )
    turned = whole.transpose_outs(["dim1", "dim0"])
    dims = ["lane"], ["dim1", "dim0"]
    assert isinstance(laws.restriction_is_right(whole, whole, *dims), Proved)
    verdict = laws.restriction_is_right(whole, turned, *dims)
    assert isinstance(verdict, Refuted)
    assert verdict.counterexample["expected"] == ["dim0", "dim1"]


def test_compositions_are_refused_exactly_outside_the_domain() -> None:
    small = LinearLayout.identity_1d(2, "dim0", "offset")
    fits = LinearLayout.identity_1d(4, "dim0", "offset")
    assert isinstance(laws.composition_is_right(A, small, None), Proved)
    assert isinstance(laws.composition_is_right(A, fits, None), Refuted)
    assert isinstance(laws.composition_is_right(A, fits, A.compose(fits)), Proved)
    zero = LinearLayout.zeros_1d(4, "lane", "offset", 4).concat_ins(
        LinearLayout.zeros_1d(2, "warp", "offset", 4)
    )
    assert isinstance(laws.composition_is_right(A, fits, zero), Refuted)
    assert isinstance(laws.composition_is_right(A, small, zero), Refuted)
