"""LinearLayout against a brute-force table of all its points."""

import copy
import pickle
from collections.abc import Callable
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algebra import LinearLayout
from algebra.errors import (
    BasisError,
    DimMismatchError,
    LayoutError,
    NotInvertibleError,
    NotPowerOfTwoError,
    NotSolvableError,
    NotSurjectiveError,
    OutOfRangeError,
)
from verify.strategies import bijections, layouts, surjections

Point = dict[str, int]


def points(dims: dict[str, int]) -> list[Point]:
    ranges = [range(size) for size in dims.values()]
    return [dict(zip(dims, values, strict=True)) for values in product(*ranges)]


def xor(left: Point, right: Point) -> Point:
    return {name: value ^ right[name] for name, value in left.items()}


@given(layouts(max_bits=5), st.data())
def test_application_is_linear(layout: LinearLayout, data: st.DataObject) -> None:
    chosen = st.sampled_from(points(layout.in_dims))
    a, b = data.draw(chosen), data.draw(chosen)
    assert layout(xor(a, b)) == xor(layout(a), layout(b))


def test_every_layout_of_two_bits() -> None:
    for columns in product(range(4), repeat=2):
        layout = LinearLayout.from_columns({"a": 1, "b": 1}, {"x": 1, "y": 1}, columns)
        images = [tuple(layout(p).values()) for p in points(layout.in_dims)]
        assert layout.is_surjective == (len(set(images)) == 4)
        assert layout.is_injective == (len(set(images)) == 4)
        assert layout.is_invertible == layout.is_surjective
        assert len(set(images)) == 2**layout.rank


@given(layouts())
def test_repr_evaluates_back(layout: LinearLayout) -> None:
    assert eval(repr(layout), {"LinearLayout": LinearLayout}) == layout
    assert LinearLayout.from_bases(layout.bases, layout.out_dims, False) == layout
    assert pickle.loads(pickle.dumps(layout)) == copy.deepcopy(layout) == layout
    assert hash(copy.copy(layout)) == hash(layout)


@given(layouts())
def test_structure_queries_agree(layout: LinearLayout) -> None:
    assert layout.get_in_dim_names() == tuple(layout.in_dims) == layout.in_names
    assert layout.get_out_dim_names() == tuple(layout.out_dims) == layout.out_names
    assert layout.get_in_dim_sizes() == layout.in_dims
    assert layout.get_out_dim_sizes() == layout.out_dims
    assert layout.num_in_dims == len(layout.in_dims)
    assert layout.num_out_dims == len(layout.out_dims)
    assert layout.get_total_in_dim_size() == 2 ** layout.get_total_in_dim_size_log2()
    assert layout.get_total_out_dim_size() == 2 ** layout.get_total_out_dim_size_log2()
    for name, size in layout.in_dims.items():
        assert layout.has_in_dim(name)
        assert layout.get_in_dim_size(name) == 2 ** layout.get_in_dim_size_log2(name)
        assert layout.get_in_dim_size(name) == size
        for i, vector in enumerate(layout.bases[name]):
            assert layout.get_basis(name, i) == vector
            for out in layout.out_names:
                where = layout.get_out_dim_index(out)
                assert layout.get_basis(name, i, out) == vector[where]
    for name, size in layout.out_dims.items():
        assert layout.has_out_dim(name)
        assert layout.get_out_dim_size(name) == size
        assert size == 2 ** layout.get_out_dim_size_log2(name)


@given(layouts())
def test_packed_application_agrees(layout: LinearLayout) -> None:
    flat = layout.flatten_ins().flatten_outs()
    for i, column in enumerate(layout.columns):
        assert layout.apply_index(1 << i) == column
    if flat.in_names and flat.out_names:
        top = layout.get_total_in_dim_size() - 1
        image = flat.apply({flat.in_names[0]: top})[flat.out_names[0]]
        assert layout.apply_index(top) == image


@given(layouts(max_bits=4), st.data())
def test_compose_runs_one_after_the_other(
    inner: LinearLayout, data: st.DataObject
) -> None:
    order = data.draw(st.permutations(inner.out_names))
    sizes = {name: inner.out_dims[name] for name in order}
    grow = data.draw(st.integers(0, 2))
    ins = {name: size.bit_length() - 1 + grow for name, size in sizes.items()}
    column = st.integers(0, 7)
    count = sum(ins.values())
    columns = data.draw(st.lists(column, min_size=count, max_size=count))
    outer = LinearLayout.from_columns(ins, {"out": 3}, columns)
    composed = inner.compose(outer)
    for point in points(inner.in_dims):
        assert composed(point) == outer(inner(point))


@given(bijections(6))
def test_inverse_undoes(layout: LinearLayout) -> None:
    inverse = layout.invert()
    assert inverse.invert() == layout
    for point in points(layout.in_dims):
        assert inverse(layout(point)) == point


@given(surjections(5))
def test_pseudoinverse_is_the_smallest_right_inverse(layout: LinearLayout) -> None:
    right = layout.pseudoinvert()
    for target in points(layout.out_dims):
        assert layout(right(target)) == target
    reached: dict[int, int] = {}
    for index in range(layout.get_total_in_dim_size()):
        reached.setdefault(layout.apply_index(index), index)
    if not set(layout.in_names) & set(layout.out_names):
        for target_index, smallest in reached.items():
            assert right.apply_index(target_index) == smallest


@given(st.data())
def test_conversion_then_destination_is_source(data: st.DataObject) -> None:
    src = data.draw(surjections(5))
    outs = dict(zip(src.out_names, src.out_bits, strict=True))
    dst = data.draw(surjections(out_dims=outs))
    conversion = src.invert_and_compose(dst)
    assert conversion.compose(dst) == src


def test_identical_dims_that_are_needed_elsewhere_are_put_back() -> None:
    a = LinearLayout.from_bases({"register": [[2]], "lane": [[1], [0]]}, {"x": 4})
    b = LinearLayout.from_bases({"register": [[3]], "lane": [[1], [0]]}, {"x": 4})
    assert a.invert_and_compose(b).bases == {
        "register": ((1, 1),),
        "lane": ((0, 1), (0, 0)),
    }


def test_a_broadcast_dim_on_both_sides_stays_in_place() -> None:
    a = LinearLayout.from_bases({"lane": [[1]], "warp": [[0]]}, {"x": 2})
    b = LinearLayout.from_bases({"lane": [[0], [1]], "warp": [[0]]}, {"x": 2})
    assert a.invert_and_compose(b).bases == {"lane": ((2, 0),), "warp": ((0, 1),)}


@given(layouts(4), layouts(4))
def test_product_fills_low_bits_first(low: LinearLayout, high: LinearLayout) -> None:
    both = low * high
    for point in points(both.in_dims):
        parts: list[Point] = [{}, {}]
        for name, value in point.items():
            width = low.in_dims.get(name, 1)
            if low.has_in_dim(name):
                parts[0][name] = value % width
            if high.has_in_dim(name):
                parts[1][name] = value // width
        small, large = low(parts[0]), high(parts[1])
        for name, value in both(point).items():
            scale = low.out_dims.get(name, 1)
            assert value == small.get(name, 0) + scale * large.get(name, 0)
    assert low * LinearLayout.empty() == LinearLayout.empty() * low == low


@given(layouts(4), layouts(4))
def test_division_undoes_the_product(a: LinearLayout, b: LinearLayout) -> None:
    both = a * b
    right, left = both.divide_left(a), both.divide_right(b)
    assert right is not None and left is not None
    assert a * right == both == left * b


@given(layouts(5), st.data())
def test_reordering_dims_keeps_the_map(
    layout: LinearLayout, data: st.DataObject
) -> None:
    ins = data.draw(st.permutations(layout.in_names))
    outs = data.draw(st.permutations(layout.out_names))
    moved = layout.transpose_ins(ins).transpose_outs(outs)
    assert moved.in_names == tuple(ins) and moved.out_names == tuple(outs)
    for point in points(layout.in_dims):
        assert moved(point) == layout(point)
    assert moved.transpose_ins(layout.in_names).transpose_outs(layout.out_names) == (
        layout
    )


@given(layouts(6))
def test_flattening_and_cutting_again(layout: LinearLayout) -> None:
    again = layout
    if layout.in_names:
        again = again.flatten_ins().reshape_ins(layout.in_dims)
    if layout.out_names:
        again = again.flatten_outs().reshape_outs(layout.out_dims)
    assert again == layout
    if not layout.in_names:
        assert layout.flatten_ins() == layout
    if not layout.out_names:
        assert layout.flatten_outs() == layout


@given(layouts(6), st.data())
def test_sublayout_is_restriction_and_projection(
    layout: LinearLayout, data: st.DataObject
) -> None:
    ins = [n for n in layout.in_names if data.draw(st.booleans())]
    outs = [n for n in layout.out_names if data.draw(st.booleans())]
    part = layout.sublayout(reversed(ins), reversed(outs))
    for point in points(part.in_dims):
        whole = layout({**dict.fromkeys(layout.in_names, 0), **point})
        assert part(point) == {name: whole[name] for name in outs}
    assert layout.sublayout_is_zero(ins, outs) == (not any(part.columns))


@given(layouts(6))
def test_free_bits_are_what_surjectivity_does_not_need(layout: LinearLayout) -> None:
    masks = layout.get_free_variable_masks()
    assert sum(m.bit_count() for m in masks.values()) == (
        len(layout.columns) - layout.rank
    )
    kept = [
        column
        for name in layout.in_names
        for i, column in enumerate(layout.in_columns(name))
        if not masks[name] >> i & 1
    ]
    outs = dict(zip(layout.out_names, layout.out_bits, strict=True))
    reduced = LinearLayout.from_columns({"x": len(kept)}, outs, kept)
    assert reduced.is_injective and reduced.rank == layout.rank


@given(layouts(6))
def test_consecutive_elements_by_definition(layout: LinearLayout) -> None:
    if not (layout.in_names and layout.out_names):
        assert layout.get_num_consecutive_in_out() == 1
        return
    first, out = layout.in_names[0], layout.out_names[0]
    largest = 1
    while 2 * largest <= layout.in_dims[first]:
        size = 2 * largest
        fits = all(
            layout(p)[out]
            == layout({**p, first: p[first] - p[first] % size})[out] + p[first] % size
            and all(
                layout(p)[n] == layout({**p, first: p[first] - p[first] % size})[n]
                for n in layout.out_names[1:]
            )
            for p in points(layout.in_dims)
        )
        if not fits:
            break
        largest = size
    assert layout.get_num_consecutive_in_out() == largest


@given(layouts(5))
def test_zero_bases_and_sizes(layout: LinearLayout) -> None:
    for name in layout.in_names:
        dense = layout.remove_zero_bases_along_dim(name)
        assert all(dense.in_columns(name))
        wide = layout.resize_in_dim(name, 2 * layout.in_dims[name])
        assert wide.resize_in_dim(name, layout.in_dims[name]) == layout
        assert wide.in_columns(name)[-1] == 0
        renamed = layout.rename_in_dim(name, "new")
        assert renamed.rename_in_dim("new", name) == layout
    for name in layout.out_names:
        small = layout.resize_out_dim(name, 1)
        squeezed = small.squeeze_outs(name)
        assert name not in squeezed.out_names
        rest = [n for n in layout.out_names if n != name]
        assert squeezed == layout.sublayout(layout.in_names, rest)
        assert (
            layout.rename_out_dim(name, "new").out_dims["new"]
            == (layout.out_dims[name])
        )
        assert layout.resize_out_dim(name, layout.out_dims[name]) == layout
        bits = layout.contiguous_elems_along_output_dim(name)
        image = {p[name] for p in map(layout, points(layout.in_dims))}
        assert set(range(bits)) <= image
        if bits < layout.out_dims[name]:
            assert not set(range(2 * bits)) <= image


def test_concatenation() -> None:
    a = LinearLayout.identity_1d(4, "a", "x")
    b = LinearLayout.zeros_1d(2, "b", "x", 4)
    side_by_side = a.concat_ins(b)
    assert side_by_side.bases == {"a": ((1,), (2,)), "b": ((0,),)}
    stacked = a.concat_outs(LinearLayout.zeros_1d(4, "a", "y", 2))
    assert stacked.bases == {"a": ((1, 0), (2, 0))}
    assert stacked.out_dims == {"x": 4, "y": 2}
    for wrong in (b, LinearLayout.identity_1d(2, "c", "x")):
        with pytest.raises(DimMismatchError, match="concat_outs needs equal in_dims"):
            a.concat_outs(wrong)
    with pytest.raises(DimMismatchError, match="concat_ins needs equal out_dims"):
        a.concat_ins(LinearLayout.identity_1d(2, "b", "x"))
    with pytest.raises(DimMismatchError, match="'a' occurs on both sides"):
        a.concat_ins(a)
    with pytest.raises(DimMismatchError, match="'x' occurs on both sides"):
        a.concat_outs(a)


def test_equality_sees_order_and_sizes() -> None:
    a = LinearLayout.from_bases({"a": [[1, 0]], "b": [[0, 1]]}, {"x": 2, "y": 2})
    assert a != a.transpose_ins(["b", "a"])
    assert a != a.transpose_outs(["y", "x"])
    assert a != "a"
    wide = LinearLayout.from_bases(a.bases, {"x": 2, "y": 4}, False)
    assert a != wide
    assert a.equal_ignoring_out_dim_sizes(wide)
    assert not a.equal_ignoring_out_dim_sizes(a.rename_out_dim("x", "z"))
    assert not a.equal_ignoring_out_dim_sizes(a.transpose_ins(["b", "a"]))


def test_triviality() -> None:
    identity = LinearLayout.identity_1d(4, "a", "a")
    crossing = LinearLayout.from_bases({"a": [[1, 1]], "b": [[0, 1]]}, {"a": 2, "b": 2})
    assert identity.is_trivial_over(["a"]) and identity.is_trivial_over([])
    assert not crossing.is_trivial_over(["a"])
    assert crossing.is_identity_on_out_dim("a")
    assert not crossing.is_identity_on_out_dim("b")
    assert not crossing.is_identity_on_out_dim("c")
    assert crossing.quotient(["a"]) is None
    both = identity * LinearLayout.identity_1d(2, "b", "b")
    assert both.quotient(["a"]) == LinearLayout.identity_1d(2, "b", "b")


def test_the_atoms() -> None:
    assert LinearLayout.identity_1d(1, "a", "x").out_dims == {"x": 1}
    assert LinearLayout.strided_1d(1, 8, "a", "x").out_dims == {"x": 8}
    assert LinearLayout.strided_1d(4, 2, "a", "x").out_dims == {"x": 8}
    assert LinearLayout.zeros_1d(4, "a", "x").is_surjective
    assert not LinearLayout.zeros_1d(4, "a", "x", 2).is_surjective
    assert LinearLayout.empty().is_invertible
    assert LinearLayout.empty().apply({}) == {}


def test_a_layout_is_immutable() -> None:
    layout = LinearLayout.empty()
    with pytest.raises(AttributeError, match="immutable"):
        layout.columns = ()
    with pytest.raises(AttributeError, match="immutable"):
        del layout.columns
    with pytest.raises(TypeError, match="from_bases"):
        LinearLayout()


L = LinearLayout
XY = L.from_bases({"a": [[1, 0]], "b": [[0, 1]]}, {"x": 2, "y": 2})
MISTAKES: dict[str, tuple[Callable[[], object], type[LayoutError], str]] = {
    "missing point": (lambda: XY({"a": 1}), DimMismatchError, "each of the in-dims"),
    "extra point": (lambda: XY({"a": 1, "b": 0, "c": 0}), DimMismatchError, "in-dims"),
    "text point": (lambda: XY({"a": 1, "b": "0"}), DimMismatchError, "in-dims"),  # type: ignore
    "large point": (lambda: XY({"a": 1, "b": 2}), OutOfRangeError, r"\[0, 2\)"),
    "negative point": (lambda: XY({"a": -1, "b": 0}), OutOfRangeError, "a=-1"),
    "large index": (lambda: XY.apply_index(4), OutOfRangeError, "index=4"),
    "negative index": (lambda: XY.apply_index(-1), OutOfRangeError, "index=-1"),
    "basis index": (lambda: XY.get_basis("a", 1), OutOfRangeError, "index=1"),
    "no in-dim": (
        lambda: XY.get_in_dim_size("x"),
        DimMismatchError,
        "one of .'a', 'b'",
    ),
    "no out-dim": (lambda: XY.get_out_dim_size("a"), DimMismatchError, "'x', 'y'"),
    "not surjective": (
        lambda: L.from_bases({"a": [[1, 0]]}, {"x": 2, "y": 4}),
        NotSurjectiveError,
        r"rank=1; for instance \{'x': 0, 'y': 1\} has no preimage",
    ),
    "pseudoinvert": (
        lambda: L.zeros_1d(2, "a", "x", 2).pseudoinvert(),
        NotSurjectiveError,
        "no preimage",
    ),
    "kernel": (
        lambda: L.zeros_1d(2, "a", "x").invert(),
        NotInvertibleError,
        r"maps \{'a': 1\} to zero",
    ),
    "square but singular": (
        lambda: L.from_bases({"a": [[1], [1]]}, {"x": 4}, False).invert(),
        NotInvertibleError,
        r"maps \{'a': 3\} to zero",
    ),
    "injective only": (
        lambda: L.strided_1d(2, 2, "a", "x").invert(),
        NotInvertibleError,
        "not surjective",
    ),
    "compose names": (lambda: XY.compose(XY), DimMismatchError, "match in any order"),
    "compose sizes": (
        lambda: L.identity_1d(8, "a", "x").compose(L.identity_1d(4, "x", "y")),
        DimMismatchError,
        "x has size 8 in the one and only 4",
    ),
    "unreached": (
        lambda: L.identity_1d(4, "a", "x").invert_and_compose(
            L.from_bases({"b": [[1]]}, {"x": 4}, False)
        ),
        NotSolvableError,
        r"\{'x': 2\} has no preimage",
    ),
    "unreached sum": (
        lambda: L.from_bases({"a": [[3]]}, {"x": 4}, False).invert_and_compose(
            L.from_bases({"b": [[1]]}, {"x": 4}, False)
        ),
        NotSolvableError,
        "no preimage",
    ),
    "order": (lambda: XY.transpose_ins(["a"]), DimMismatchError, "permutation"),
    "reshape size": (
        lambda: XY.reshape_outs({"z": 8}),
        DimMismatchError,
        r"2\*\*2 elements in all, got 2\*\*3",
    ),
    "reshape odd": (lambda: XY.reshape_ins({"z": 3}), NotPowerOfTwoError, "size of z"),
    "squeeze": (lambda: XY.squeeze_ins("a"), DimMismatchError, "size 1"),
    "grow out": (lambda: XY.resize_out_dim("x", 4), DimMismatchError, "only shrink"),
    "rename": (lambda: XY.rename_in_dim("a", "b"), DimMismatchError, "exists already"),
    "product order": (
        lambda: XY * XY.transpose_ins(["b", "a"]),
        DimMismatchError,
        "same order",
    ),
    "column count": (
        lambda: L.from_columns({"a": 2}, {"x": 2}, [1]),
        BasisError,
        r"len\(columns\)=1",
    ),
    "column range": (
        lambda: L.from_columns({"a": 1}, {"x": 1}, [2]),
        BasisError,
        r"columns\[0\]=2",
    ),
    "stride": (lambda: L.strided_1d(4, 3, "a", "x"), NotPowerOfTwoError, "stride=3"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_each_mistake_has_its_error(name: str) -> None:
    call, kind, words = MISTAKES[name]
    with pytest.raises(kind, match=words) as info:
        call()
    assert isinstance(info.value, LayoutError)
    assert "\n" not in str(info.value)


def test_multiplying_by_something_else() -> None:
    with pytest.raises(TypeError):
        XY * 3  # type: ignore[operator]  # the point of the test


def test_squeezing_an_in_dim_of_size_one() -> None:
    layout = XY * L.identity_1d(1, "c", "z")
    assert layout.squeeze_ins("c").squeeze_outs("z") == XY
