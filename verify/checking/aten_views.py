"""ATen's views on stand-ins: each is a map of coordinates."""

from collections.abc import Callable, Sequence
from math import gcd
from typing import Any

from verify.symbolic.polynomial import same
from verify.symbolic.terms import (
    ONE,
    ZERO,
    Term,
    add,
    choose,
    constant,
    div,
    less,
    maximum,
    minimum,
    mod,
    mul,
    sub,
)

from .traced import Coordinates, NotTracedError, Stand


def term_of_extent(value: Any) -> Term:
    """Return an extent or a place as a term.

    Raises:
        NotTracedError: it is no integer.
    """
    if isinstance(value, Term):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return constant(value)
    raise NotTracedError(f"an extent {value!r}")


def extents_of(sizes: Any) -> list[Any]:
    """Return extents as terms; one of -1 stays as it is."""
    listed = sizes if isinstance(sizes, list | tuple) else [sizes]
    return [-1 if size == -1 else term_of_extent(size) for size in listed]


def _expand(x: Stand, sizes: Any, implicit: bool = False) -> Stand:
    wanted = extents_of(sizes)
    ahead = len(wanted) - x.ndim
    shape = [
        x.shape[dim - ahead] if isinstance(size, int) else size
        for dim, size in enumerate(wanted)
    ]

    def at(place: Coordinates) -> Term:
        own = place[ahead:]
        return x.at(
            tuple(
                ZERO if extent is ONE and size is not ONE else here
                for extent, size, here in zip(x.shape, shape[ahead:], own, strict=True)
            )
        )

    return Stand(shape, at)


def _with_rest(x: Stand, sizes: list[Any]) -> list[Term]:
    """Return the extents of a view, that of -1 worked out from the others."""
    unknown = [dim for dim, size in enumerate(sizes) if isinstance(size, int)]
    if not unknown:
        return sizes
    left = list(x.shape)
    number_of = 1
    for size in sizes:
        if isinstance(size, int):
            continue
        match = next((one for one in left if same(one, size)), None)
        if match is not None:
            left.remove(match)
        elif size.kind == "const":
            number_of *= size.args[0]
        else:
            raise NotTracedError("a view with an extent of -1")
    rest = ONE
    for extent in left:
        if extent.kind == "const" and number_of > 1:
            extent, number_of = _without(extent, number_of)
        rest = mul(rest, extent)
    if number_of != 1:
        raise NotTracedError("a view with an extent of -1")
    return [rest if isinstance(size, int) else size for size in sizes]


def _without(extent: Term, divisor: int) -> tuple[Term, int]:
    shared = gcd(extent.args[0], divisor)
    return constant(extent.args[0] // shared), divisor // shared


def _view(x: Stand, sizes: Any) -> Stand:
    shape: list[Term] = _with_rest(x, extents_of(sizes))
    # equal dims at both ends stay as they are
    front = 0
    while front < min(len(shape), x.ndim) and same(shape[front], x.shape[front]):
        front += 1
    back = 0
    while back < min(len(shape), x.ndim) - front and same(
        shape[-1 - back], x.shape[-1 - back]
    ):
        back += 1
    new = shape[front : len(shape) - back]
    old = x.shape[front : x.ndim - back]

    def at(place: Coordinates) -> Term:
        middle = place[front : len(shape) - back]
        flat = ZERO
        for here, extent in zip(middle, new, strict=True):
            flat = add(mul(flat, extent), here)
        found: list[Term] = []
        for extent in reversed(old[1:]):
            found.append(mod(flat, extent) if extent is not ONE else ZERO)
            flat = div(flat, extent) if extent is not ONE else flat
        if old:
            found.append(flat)
        after = place[len(shape) - back :] if back else ()
        return x.at((*place[:front], *reversed(found), *after))

    return Stand(shape, at)


def _unsqueeze(x: Stand, dim: int) -> Stand:
    dim %= x.ndim + 1
    shape = [*x.shape[:dim], ONE, *x.shape[dim:]]
    return Stand(shape, lambda place: x.at((*place[:dim], *place[dim + 1 :])))


def _squeeze(x: Stand, dims: Any = None) -> Stand:
    if dims is None:
        raise NotTracedError("aten.squeeze without a dim")
    chosen_dims = {d % x.ndim for d in (dims if isinstance(dims, list) else [dims])}
    gone = {d for d in chosen_dims if x.shape[d] is ONE}
    kept = [d for d in range(x.ndim) if d not in gone]

    def at(place: Coordinates) -> Term:
        source = [ZERO] * x.ndim
        for here, dim in zip(place, kept, strict=True):
            source[dim] = here
        return x.at(tuple(source))

    return Stand([x.shape[d] for d in kept], at)


def _slice(
    x: Stand, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Stand:
    dim %= x.ndim
    extent = x.shape[dim]
    first = _clipped(ZERO if start is None else term_of_extent(start), extent)
    last = _clipped(
        extent if end is None or end == 2**63 - 1 else term_of_extent(end), extent
    )
    span = maximum(sub(last, first), ZERO)
    size = span if step == 1 else div(add(span, constant(step - 1)), constant(step))
    shape = [*x.shape[:dim], size, *x.shape[dim + 1 :]]

    def at(place: Coordinates) -> Term:
        here = add(first, mul(place[dim], constant(step)))
        return x.at((*place[:dim], here, *place[dim + 1 :]))

    return Stand(shape, at)


def _clipped(place: Term, extent: Term) -> Term:
    if place is extent or place is ZERO:
        return place
    if place.high is not None and place.high < 0:
        place = add(place, extent)
    elif place.low is None or place.low < 0:
        raise NotTracedError("a slice from a place of unknown sign")
    return minimum(maximum(place, ZERO), extent)


def _select(x: Stand, dim: int, index: Any) -> Stand:
    dim %= x.ndim
    here = term_of_extent(index)
    if here.high is not None and here.high < 0:
        here = add(here, x.shape[dim])
    shape = [*x.shape[:dim], *x.shape[dim + 1 :]]
    return Stand(shape, lambda place: x.at((*place[:dim], here, *place[dim:])))


def _cat(parts: Sequence[Stand], dim: int = 0) -> Stand:
    dim %= parts[0].ndim
    starts = [ZERO]
    for part in parts:
        starts.append(add(starts[-1], part.shape[dim]))

    def at(place: Coordinates) -> Term:
        found = None
        for part, start in reversed(list(zip(parts, starts, strict=False))):
            inner = (*place[:dim], sub(place[dim], start), *place[dim + 1 :])
            value = part.at(inner)
            found = (
                value
                if found is None
                else choose(less(place[dim], add(start, part.shape[dim])), value, found)
            )
        assert found is not None
        return found

    shape = [*parts[0].shape[:dim], starts[-1], *parts[0].shape[dim + 1 :]]
    return Stand(shape, at)


VIEWS: dict[str, Callable[..., Any]] = {
    "expand": _expand,
    "view": _view,
    "_unsafe_view": _view,
    "reshape": _view,
    "unsqueeze": _unsqueeze,
    "squeeze": _squeeze,
    "slice": _slice,
    "select": _select,
    "cat": _cat,
    "permute": lambda x, dims: x.permute(*(d % x.ndim for d in dims)),
    "transpose": lambda x, a, b: x.transpose(a % x.ndim, b % x.ndim),
    "t": lambda x: x.T,
}
"""ATen operation, without its overload -> what it does to stand-ins."""
