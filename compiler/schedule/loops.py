"""The order of loops and the layout of arrays, by the strides of what is touched.

Accesses vote with their bytes: of two digits the one with the larger stride is the
outer loop. Arrays whose strides are free are laid out in the order of the loops that
write them, so channels-last stays channels-last.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cmp_to_key

from compiler.ir.expression import Expression
from compiler.ir.index import constant_value
from compiler.ir.kernel import Prefix, Reduction, Store
from compiler.ir.node import Axis, Buffer

from .nest import Nest, stage_loads
from .strides import affine, dense_strides, offset_of
from .work import BYTES, typical


@dataclass(frozen=True, slots=True)
class Access:
    """Where a nest touches an array.

    Attributes:
        buffer: The array.
        args: One index for each dim.
        steps: Digit -> stride [elements].
        bytes: What it moves [bytes].
        store: Whether it writes.
    """

    buffer: Buffer
    args: tuple[Expression, ...]
    steps: Mapping[Expression, Expression]
    bytes: int
    store: bool


def accesses(nest: Nest, buffers: Mapping[str, Buffer]) -> list[Access]:
    """Return the accesses to arrays with known strides, most bytes first."""
    extents = {axis.digit: typical(axis.extent) for axis in nest.axes}
    found: dict[tuple[str, tuple[Expression, ...], bool], Access] = {}
    places = [
        *((s.buffer, s.target, True) for s in nest.stages if isinstance(s, Store)),
        *((str(load.data), load.args, False) for _, load in stage_loads(nest.stages)),
    ]
    for name, args, store in places:
        buffer = buffers[name]
        if buffer.strides is None or (name, args, store) in found:
            continue
        reached, _ = affine(offset_of(args, buffer.strides))
        moved = BYTES[buffer.dtype]
        for leaf in reached:
            moved *= extents.get(leaf, 1)
        access = Access(buffer, args, reached, moved, store)
        found[name, args, store] = access
    return sorted(found.values(), key=lambda a: (-a.bytes, not a.store))


def loop_order(nest: Nest, touched: Iterable[Access]) -> list[Axis]:
    """Return all axes, those that are adjacent in memory last."""
    strides = [
        (access.bytes, {d: typical(s) for d, s in access.steps.items()})
        for access in touched
    ]
    place = {axis.digit: number for number, axis in enumerate(nest.axes)}

    def outer_first(left: Axis, right: Axis) -> int:
        votes = 0
        for weight, step in strides:
            a, b = step.get(left.digit, 0), step.get(right.digit, 0)
            if a and b and a != b:
                votes += weight if abs(a) > abs(b) else -weight
        if votes:
            return -1 if votes > 0 else 1
        return place[left.digit] - place[right.digit]

    return sorted(nest.axes, key=cmp_to_key(outer_first))


def reordered(nest: Nest, order: list[Axis]) -> Nest:
    """Return the nest with its loops in an order, outer and inner ones apart.

    Inner loops stay where their order means something: positions and scans.
    """
    outer = tuple(axis for axis in order if axis in nest.outer)
    fixed = any(
        isinstance(stage, Prefix)
        or (isinstance(stage, Reduction) and stage.reducer.startswith("arg"))
        for stage in nest.stages
    )
    inner = nest.inner if fixed else tuple(a for a in order if a in nest.inner)
    return replace(nest, outer=outer, inner=inner)


def laid_out(nest: Nest, order: list[Axis], buffers: dict[str, Buffer]) -> None:
    """Decide the strides of the arrays that a nest writes, where they are free."""
    depth = {axis.digit: number for number, axis in enumerate(order)}
    for stage in nest.stages:
        if not isinstance(stage, Store) or buffers[stage.buffer].strides is not None:
            continue
        buffer = buffers[stage.buffer]
        keys = []
        for dim, arg in enumerate(stage.target):
            found = [depth[d] for d in affine(arg)[0] if d in depth]
            keys.append((min(found, default=-1), dim))
        dims = [dim for _, dim in sorted(keys)]
        buffers[stage.buffer] = replace(
            buffer, strides=dense_strides(buffer.shape, dims)
        )


def tile_of(touched: Iterable[Access]) -> tuple[Expression, ...]:
    """Return the digits that are adjacent for large accesses, most bytes last."""
    weights: dict[Expression, int] = {}
    largest = 0
    for access in touched:
        largest = max(largest, access.bytes)
        for leaf, step in access.steps.items():
            if constant_value(step) == 1:
                weights[leaf] = weights.get(leaf, 0) + access.bytes
    picked = [leaf for leaf, weight in weights.items() if 8 * weight >= largest]
    return tuple(sorted(picked, key=lambda leaf: weights[leaf]))
