"""Two nests as one, or the reason why not.

Law: the merged nest does what the first did and then the second, and never reads at
one point what it writes at another.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from compiler.ir.expression import Expression, leaves
from compiler.ir.index import mul
from compiler.ir.kernel import Prefix, Reduction, Stage, Store
from compiler.ir.node import Axis
from compiler.ir.ranges import Ranges

from .nest import Nest, is_inner, loads_of, stage_loads, stage_values, with_stage
from .pairing import Pairing, Side
from .simplify import simplified

MOST_STAGES = 64
"""Stages of a nest."""

MOST_EQUATIONS = 6
"""Arrays read by both nests whose places are compared."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why two nests stay apart."""

    reason: str


Sizes = Mapping[str, int]
"""Array -> its size [bytes]."""


def merged(
    first: Nest,
    second: Nest,
    sizes: Sizes,
    least: Mapping[Expression, int],
    more: int = 1,
) -> Nest | Refusal:
    """Return one nest that does the first and then the second.

    Args:
        first: Runs first.
        second: Runs second; reads nothing that the first does not leave ready at the
            same point.
        sizes: Sizes of arrays; larger shared ones are matched first [bytes].
        least: Symbol -> the least that it can be.
        more: How many times the usual number of stages it may have.
    """
    most = more * MOST_STAGES
    if len(first.stages) + len(second.stages) > most:
        return Refusal(f"more than {most} stages")
    flipped = bool(second.inner) and not first.inner
    frame, other = (second, first) if flipped else (first, second)
    pairing = Pairing(_side(frame), _side(other), bool(other.inner))
    refusal = _equate(pairing, first, second, flipped, sizes)
    if refusal is not None:
        return refusal
    inner = _complete(pairing, frame, other)
    if isinstance(inner, Refusal):
        return inner
    return _joined(pairing, first, second, flipped, inner, least)


def _side(nest: Nest) -> Side:
    kind = {axis.digit: "outer" for axis in nest.outer}
    kind |= {axis.digit: "inner" for axis in nest.inner}
    scans = any(isinstance(stage, Prefix) for stage in nest.stages)
    fixed = frozenset(axis.digit for axis in nest.inner if scans)
    return Side({axis.digit: axis.extent for axis in nest.axes}, kind, fixed)


def _equate(
    pairing: Pairing, first: Nest, second: Nest, flipped: bool, sizes: Sizes
) -> Refusal | None:
    """Pair digits by the arrays that both touch."""
    stores = first.stores()
    mine: dict[str, list[tuple[Expression, ...]]] = {}
    for _, load in stage_loads(first.stages):
        mine.setdefault(str(load.data), []).append(load.args)
    shared: list[tuple[int, tuple[Expression, ...], tuple[Expression, ...]]] = []
    own = second.stores()
    for _, load in stage_loads(second.stages):
        name = str(load.data)
        if name in stores:
            store = stores[name]
            if store.mode != "set" or not store.injective or store.condition:
                return Refusal(f"{name} is written at computed places")
            pair = (store.target, load.args)
            if not pairing.equate(*(pair[::-1] if flipped else pair)):
                return Refusal(f"{name} is read at other places than it is written")
        elif name in mine:
            for args in mine[name][:2]:
                shared.append((sizes.get(name, 0), args, load.args))
    for name, store in own.items():
        if name in stores:
            return Refusal(f"both write {name}")
        for args in mine.get(name, ()):
            pair = (args, store.target)
            if not pairing.equate(*(pair[::-1] if flipped else pair)):
                return Refusal(f"{name} is written at other places than it is read")
    shared.sort(key=lambda item: -item[0])
    for _, left, right in shared[:MOST_EQUATIONS]:
        pair = (left, right)
        pairing.equate(*(pair[::-1] if flipped else pair))
    return None


def _complete(pairing: Pairing, frame: Nest, other: Nest) -> bool | Refusal:
    """Pair the digits that are left; returns whether the other runs at inner points."""
    left_outer = pairing.free(pairing.other, other.outer)
    left_inner = pairing.free(pairing.other, other.inner)
    free_outer = pairing.free(pairing.frame, frame.outer)
    free_inner = pairing.free(pairing.frame, frame.inner)
    if other.inner:
        for mine, theirs in ((free_outer, left_outer), (free_inner, left_inner)):
            if (mine or theirs) and not pairing.equate_axes(mine, theirs):
                return Refusal("their loops have other extents")
        return True
    all_inner = pairing.frame.leaves(frame.inner)
    inside = len(free_inner) < len(all_inner)
    if not left_outer:
        if free_outer or (inside and free_inner):
            return Refusal("one loops over what the other does not")
        return inside
    if not inside and _same_size(free_outer, left_outer):
        if pairing.equate_axes(free_outer, left_outer):
            return False
        return Refusal("their loops have other extents")
    if pairing.equate_axes([*free_outer, *free_inner], left_outer):
        return bool(frame.inner)
    return Refusal("their loops have other extents")


def _same_size(left: list[Axis], right: list[Axis]) -> bool:
    sizes = [mul(1, *(axis.extent for axis in axes)) for axes in (left, right)]
    return sizes[0] is sizes[1]


def _joined(
    pairing: Pairing,
    first: Nest,
    second: Nest,
    flipped: bool,
    inner: bool,
    least: Mapping[Expression, int],
) -> Nest | Refusal:
    frame, other = (second, first) if flipped else (first, second)
    joint = Nest(
        tuple(pairing.frame.leaves(frame.outer)),
        tuple(pairing.frame.leaves(frame.inner)),
        (),
        first.members + second.members,
        tuple(dict.fromkeys((*first.origins, *second.origins))),
    )
    kept = {leaf: pairing.frame.over_leaves(leaf) for leaf in pairing.frame.parts}
    moved: dict[Expression, Expression] = {}
    for axis in other.axes:
        value = pairing.other.over_leaves(axis.digit)
        ready = {leaf: pairing.pairs[leaf] for leaf in leaves("digit", value)}
        moved[axis.digit] = simplified(value, joint.ranges({}), ready)
    if not _in_order(other, moved, joint, frame, kept):
        return Refusal("positions along the reduced axes would change")
    ranges = joint.ranges(least)
    here, there = (moved, kept) if flipped else (kept, moved)
    level = inner and not other.inner
    stages = _moved(first, ranges, here, flipped and level)
    values = {s.buffer: s for s in stages if isinstance(s, Store)}
    forwarded = _Forward(values)
    done: dict[bool, dict[int, Expression]] = {True: {}, False: {}}
    changes = {old: new for old, new in there.items() if old is not new}
    for stage in second.stages:
        stage = _leveled(stage, not flipped and level)
        forwarded.level = is_inner(stage)
        stage = with_stage(
            stage,
            lambda value: simplified(
                value, ranges, changes, done[forwarded.level], forwarded.change
            ),
        )
        if forwarded.refusal is not None:
            return forwarded.refusal
        stages.append(stage)
    for index, stage in enumerate(stages):
        if isinstance(stage, Prefix) and len(joint.inner) != 1:
            return Refusal("a scan has one inner axis")
        once = isinstance(stage, Store) and not stage.inner
        if once and _uses_prefix(stage, stages[:index]):
            return Refusal("a scan's result is not one for each outer point")
    settled = _loads_first(stages)
    if settled is None:
        return Refusal("two arrays are each read after the other is written")
    return replace(joint, stages=settled)


def _loads_first(stages: list[Stage]) -> tuple[Stage, ...] | None:
    """Return the stages with each store after all loads of its array, if they can be.

    All loads mean the old content: those of the new one have become its value.
    """
    stores = {s.buffer: n for n, s in enumerate(stages) if isinstance(s, Store)}
    late: dict[int, list[int]] = {}  # a store -> stages that must come before it
    for number, stage in enumerate(stages):
        for name in {str(load.data) for load in loads_of(stage)}:
            place = stores.get(name)
            if place is not None and place != number:
                late.setdefault(place, []).append(number)
    if all(place > number for place, reads in late.items() for number in reads):
        return tuple(stages)
    out: list[Stage] = []
    placed: set[int] = set()
    waiting = list(range(len(stages)))
    while waiting:
        ready = [n for n in waiting if placed.issuperset(late.get(n, ()))]
        if not ready:
            return None
        out.append(stages[ready[0]])
        placed.add(ready[0])
        waiting.remove(ready[0])
    return tuple(out)


def _moved(
    nest: Nest, ranges: Ranges, moved: Mapping[Expression, Expression], inner: bool
) -> list[Stage]:
    changes = {old: new for old, new in moved.items() if old is not new}
    stages = [_leveled(stage, inner) for stage in nest.stages]
    if not changes:
        return stages
    done: dict[int, Expression] = {}
    return [
        with_stage(stage, lambda value: simplified(value, ranges, changes, done))
        for stage in stages
    ]


def _leveled(stage: Stage, inner: bool) -> Stage:
    return replace(stage, inner=True) if inner and isinstance(stage, Store) else stage


class _Forward:
    """Loads of what an earlier stage stores at the same point become the value."""

    def __init__(self, stores: Mapping[str, Store]) -> None:
        self.stores = stores
        self.level = False
        self.refusal: Refusal | None = None

    def change(self, node: Expression) -> Expression:
        if node.op != "load":
            return node
        store = self.stores.get(str(node.data))
        if store is None:
            return node
        same = len(store.target) == len(node.args) and all(
            a is b for a, b in zip(store.target, node.args, strict=True)
        )
        if not same:
            self.refusal = Refusal(f"{node.data} is read at another point")
        elif store.inner and not self.level:
            self.refusal = Refusal(f"{node.data} has a value for each inner point")
        return store.value


def _uses_prefix(stage: Stage, before: list[Stage]) -> bool:
    names = {name for s in before if isinstance(s, Prefix) for name in s.results}
    found = leaves("local", *stage_values(stage))
    return any(leaf.data in names for leaf in found)


def splits_a_scan(nest: Nest) -> bool:
    """Return whether running values of a scan are read by a pass after the scan's own.

    A reduction is a pass over the inner points of its own; so is what comes after it.
    """
    for place, stage in enumerate(nest.stages):
        if not isinstance(stage, Prefix):
            continue
        passed = False
        for later in nest.stages[place + 1 :]:
            passed |= isinstance(later, Reduction)
            if passed and _uses_prefix(later, [stage]):
                return True
    return False


def _in_order(
    other: Nest,
    moved: Mapping[Expression, Expression],
    joint: Nest,
    frame: Nest,
    kept: Mapping[Expression, Expression],
) -> bool:
    """Return whether positions along the inner axes keep their meaning."""
    if not any(
        isinstance(stage, Reduction) and stage.reducer.startswith("arg")
        for nest in (other, frame)
        for stage in nest.stages
    ):
        return True
    order = [axis.digit for axis in joint.inner]
    for nest, change in ((other, moved), (frame, kept)):
        if not nest.inner:
            continue
        found: list[Expression] = []
        for axis in nest.inner:
            value = change.get(axis.digit, axis.digit)
            inside = set(leaves("digit", value))
            found.extend(leaf for leaf in order if leaf in inside)
        if found != order:
            return False
    return True
