"""Judges for operations: the law of each, decided exactly, with an element.

Both sides of a law are layouts, and layouts that agree on a basis agree everywhere
(theorem ``layouts_equal_on_a_basis_are_equal``); so looking at powers of two is
looking at all elements.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from algebra import LayoutError, LinearLayout, gauss
from algebra.dims import HARDWARE_DIMS
from algebra.verdict import Proved, Refuted, Verdict

Point = dict[str, int]
METHOD = "exact F2 algebra"


def unit_points(layout: LinearLayout) -> list[Point]:
    """Return the inputs that have exactly one bit set."""
    zero = dict.fromkeys(layout.in_names, 0)
    return [
        {**zero, name: 1 << i}
        for name, bits in zip(layout.in_names, layout.in_bits, strict=True)
        for i in range(bits)
    ]


def same_map(expected: LinearLayout, got: LinearLayout) -> Verdict:
    """Decide whether two layouts send every element to the same place, by name."""
    if expected.in_dims != got.in_dims:
        return Refuted(_outside(expected.in_dims, got.in_dims, "in_dim"))
    for point in unit_points(expected):
        right, wrong = expected.apply(point), got.apply(point)
        if right != wrong:
            return Refuted(element(point, right, wrong))
    if expected.out_dims != got.out_dims:
        return Refuted(_outside(expected.out_dims, got.out_dims, "out_dim"))
    return Proved(METHOD)


def element(point: Mapping[str, int], right: Any, wrong: Any) -> dict[str, Any]:
    """Return a counterexample: register, lane, warp, ... and both positions."""
    hardware = {name: point.get(name, 0) for name in HARDWARE_DIMS[:3]}
    return {**hardware, **point, "expected": right, "got": wrong}


def conversion_is_right(
    src: LinearLayout, dst: LinearLayout, conversion: LinearLayout
) -> Verdict:
    """Decide the laws of ``src.invert_and_compose(dst)``.

    It must lead to the same element. Dims on which both layouts agree must stay, and
    every other bit must take the smallest preimage that does without those dims; if one
    of them has none, every bit must take the smallest preimage of all.
    """
    try:
        landed = conversion.compose(dst)
    except LayoutError as error:
        return Refuted(element({}, list(dst.in_names), str(error)))
    same = [
        name
        for name in src.in_names
        if dst.has_in_dim(name) and _image(src, name) == _image(dst, name)
    ]
    for point in unit_points(src):
        right, wrong = src.apply(point), landed.apply(point)
        if any(wrong[name] != value for name, value in right.items()):
            return Refuted(element(point, right, wrong))
    units = unit_points(src)
    moving = [point for point in units if not any(point[name] for name in same)]
    near = all(
        not any(smallest_place(dst, src.apply(point), same)[name] for name in same)
        for point in moving
    )
    for point in units:
        place = conversion.apply(point)
        if near and point not in moving:
            wanted = {n: point[n] if n in same else 0 for n in dst.in_names}
        else:
            wanted = smallest_place(dst, src.apply(point), same if near else ())
        if place != wanted:
            return Refuted(element(point, wanted, place))
    return Proved(METHOD)


def smallest_place(
    layout: LinearLayout, target: Point, without: Sequence[str] = ()
) -> Point:
    """Return the numerically smallest input that holds an element, by search.

    Inputs are tried in order, first with the dims ``without`` at zero.
    """
    kernel = gauss.kernel(layout.columns)
    packed = shift = 0
    for name, bits in zip(layout.out_names, layout.out_bits, strict=True):
        packed |= target[name] << shift
        shift += bits
    found = gauss.solve(layout.columns, [packed])
    assert found is not None
    candidates = {found[0]}
    for vector in kernel:
        candidates |= {candidate ^ vector for candidate in candidates}
    places = [_spread(layout, index) for index in sorted(candidates)]
    for place in places:
        if not any(place[name] for name in without):
            return place
    return places[0]


def right_inverse_is_smallest(layout: LinearLayout, inverse: LinearLayout) -> Verdict:
    """Decide the laws of ``layout.pseudoinvert()``."""
    outs = dict(zip(layout.out_names, layout.out_bits, strict=True))
    identity = LinearLayout.from_columns(
        outs, outs, [1 << i for i in range(sum(layout.out_bits))]
    )
    return conversion_is_right(identity, layout, inverse)


def quotient_is_right(
    dividend: LinearLayout, divisor: LinearLayout, quotient: LinearLayout | None
) -> Verdict:
    """Decide ``dividend == divisor * quotient`` where the dividend is a product."""
    if quotient is None:
        return Refuted(
            element({}, f"{dividend!r} is {divisor!r} times something", "no quotient")
        )
    try:
        product = divisor * quotient
    except LayoutError as error:
        return Refuted(element({}, list(dividend.in_names), str(error)))
    return same_map(dividend, product)


def restriction_is_right(
    whole: LinearLayout, part: LinearLayout, ins: Sequence[str], outs: Sequence[str]
) -> Verdict:
    """Decide whether ``part`` is ``whole`` on some in-dims, seen in some out-dims.

    The out-dims are in the order of ``whole``, which numbers the positions.
    """
    zero = dict.fromkeys(whole.in_names, 0)
    for point in unit_points(part):
        image = whole.apply({**zero, **point})
        right = {name: image[name] for name in outs}
        if part.apply(point) != right:
            return Refuted(element(point, right, part.apply(point)))
    sizes = {name: whole.in_dims[name] for name in ins}
    if dict(part.in_dims) != sizes:
        return Refuted(_outside(sizes, part.in_dims, "in_dim"))
    sizes = {name: whole.out_dims[name] for name in outs}
    if part.out_dims != sizes:
        return Refuted(_outside(sizes, part.out_dims, "out_dim"))
    order = [name for name in whole.out_names if name in sizes]
    if list(part.out_names) != order:
        return Refuted(element({}, order, list(part.out_names)))
    return Proved(METHOD)


def transposition_is_right(
    source: LinearLayout, result: LinearLayout, order: Sequence[int]
) -> Verdict:
    """Decide whether dim i of the result is dim ``order[i]`` of the source."""
    for point in unit_points(source):
        image = source.apply(point)
        right = {f"dim{i}": image[f"dim{d}"] for i, d in enumerate(order)}
        if result.apply(point) != right:
            return Refuted(element(point, right, result.apply(point)))
    return Proved(METHOD)


def equality_is_right(left: LinearLayout, right: LinearLayout, said: bool) -> Verdict:
    """Decide whether an equality test saw names, bases and sizes."""
    if said and left.out_dims != right.out_dims:
        return Refuted(_outside(left.out_dims, right.out_dims, "out_dim"))
    return same_map(left, right) if said else Proved(METHOD)


def composition_is_right(
    inner: LinearLayout, outer: LinearLayout, composed: LinearLayout | None
) -> Verdict:
    """Decide whether a composition was refused exactly where it has no meaning."""
    for point in unit_points(inner):
        middle = inner.apply(point)
        fits = all(value < outer.in_dims[name] for name, value in middle.items())
        if not fits:
            if composed is None:
                return Proved(METHOD)
            return Refuted(
                element(point, f"no image: {middle} is outside", composed.apply(point))
            )
        if composed is not None and composed.apply(point) != outer.apply(middle):
            return Refuted(element(point, outer.apply(middle), composed.apply(point)))
    if composed is None:
        return Refuted(element({}, "a composition", "an error"))
    return Proved(METHOD)


def _outside(
    expected: Mapping[str, int], got: Mapping[str, int], what: str
) -> dict[str, Any]:
    """Return a coordinate that one side has and the other has not."""
    names = [*expected, *(name for name in got if name not in expected)]
    name = next(n for n in names if expected.get(n, 0) != got.get(n, 0))
    sizes = expected.get(name, 0), got.get(name, 0)
    sides = [f"a place of {size}" if size > min(sizes) else None for size in sizes]
    return {**element({name: min(sizes)}, *sides), what: name, "sizes": sizes}


def _image(layout: LinearLayout, in_dim: str) -> list[Point]:
    """Return the images of one in-dim's bits, by out-dim name."""
    part = layout.sublayout([in_dim], layout.out_names)
    return [part.apply(point) for point in unit_points(part)]


def _spread(layout: LinearLayout, index: int) -> Point:
    """Return a packed input as one index for each in-dim."""
    place = {}
    for name, bits in zip(layout.in_names, layout.in_bits, strict=True):
        place[name] = index & (1 << bits) - 1
        index >>= bits
    return place
