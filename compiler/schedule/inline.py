"""Taking maps into their readers: what need not be an array is none.

Two sweeps. The first takes in what costs no more to compute anew than to load: views,
casts, constants, masks, one cheap operation on one large operand. The second takes in
what is left with a single reader, unless the reader would compute it many times.
What stays an array can still share a kernel with its readers.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from compiler.ir.expression import INDEX, Expression, loads, nodes
from compiler.ir.index import constant_value, index
from compiler.ir.node import Alias, Extern, Map, Node, Program, Reduce, Scan, Scatter
from compiler.ir.operations import OPERATIONS

from .arrays import Storages, mutated, reads, space_of, values_of, with_values
from .simplify import ranges_of, simplified
from .work import elements, points, typical

CHEAP = 12
"""Instructions for an element that are free next to loading it [instructions]."""

TRIVIAL = 1
"""Instructions of a value without loads that loading it would not beat
[instructions]."""

AGAIN = 20
"""Instructions for an element that a reader may repeat, at most [instructions]."""

ONCE = 100
"""Instructions of a single number that each program on a GPU may repeat, at most
[instructions]."""

LARGEST = 240
"""Distinct nodes of an expression that is taken in."""

MOST_LOADS = 48
"""Loads of an expression that is taken in."""


@dataclass(frozen=True, slots=True)
class Effort:
    """What computing one element takes.

    Attributes:
        instructions: Rough number of instructions.
        size: Distinct nodes.
        loads: Distinct loads.
        large: Loads of which the array's elements need different ones.
    """

    instructions: int
    size: int
    loads: int
    large: int


def effort(node: Map) -> Effort:
    """Return what computing one element of a map takes."""
    instructions = size = count = large = 0
    total = elements(node.buffer.shape)
    extents = {axis.digit: typical(axis.extent) for axis in node.axes}
    for part in nodes(node.value):
        size += 1
        if part.op == "load":
            count += 1
            seen = 1
            for leaf in nodes(*part.args):
                if leaf.op == "digit":
                    seen *= extents.get(leaf, 1)
            large += 2 * seen > total
        elif part.dtype != INDEX and part.op in OPERATIONS:
            instructions += OPERATIONS[part.op].cost
    return Effort(instructions, size, count, large)


def pinned(program: Program) -> set[str]:
    """Return the arrays that must be in memory: outputs, externs' arguments, bases.

    So must an array that several outputs show: they share its memory.
    """
    names = {name for name in program.outputs if isinstance(name, str)}
    shown = Counter(
        node.shares
        for node in program.nodes
        if isinstance(node, Map) and node.shares and node.buffer.name in names
    )
    names.update(base for base, count in shown.items() if count > 1)
    for node in program.nodes:
        if isinstance(node, (Extern, Alias)):
            names.update(reads(node))
        elif isinstance(node, Scatter):
            names.add(node.base)
        names.update(mutated(node))
    return names


class Readers:
    """Where arrays are read and changed, by position in a program."""

    def __init__(self, program: Program) -> None:
        """Look through the program once."""
        storages = Storages(program)
        self._root = storages.root
        self.sites: dict[str, list[tuple[int, Expression]]] = {}
        self._changes: dict[str, list[int]] = {}
        self.spaces: list[int] = []
        self._nodes = program.nodes
        self._reduced: dict[str, int] = {}
        self._sizes = {n: elements(b.shape) for n, b in program.buffers().items()}
        for position, node in enumerate(program.nodes):
            self.spaces.append(points(space_of(node)))
            if isinstance(node, (Reduce, Scan)):
                for buffer in node.buffers:
                    self._reduced[buffer.name] = elements(buffer.shape)
            for load in loads(*values_of(node)):
                self.sites.setdefault(str(load.data), []).append((position, load))
            for name in mutated(node):
                self._changes.setdefault(self._root(name), []).append(position)

    def ends_reduction(self, node: Map) -> bool:
        """Return whether a map reads a reduction's results and a reduction reads it.

        Each of its elements is ready where the first reduction's loop ends; taken into
        the second one, it would need more arrays between the two.
        """
        total = elements(node.buffer.shape)
        ready = [
            load
            for load in loads(node.value)
            if self._reduced.get(str(load.data)) == total
        ]
        if not ready:
            return False
        (place, _), *_ = self.sites[node.buffer.name]
        return isinstance(self._nodes[place], (Reduce, Scan))

    def is_scalar(self, node: Map) -> bool:
        """Return whether a map makes a number of numbers, on a GPU.

        What reads it there computes it once for all elements of a program; a kernel for
        it alone would take longer. One that ends a reduction comes for free.
        """
        if not node.buffer.device.startswith("cuda") or elements(node.buffer.shape) > 1:
            return False
        return all(
            self._sizes[str(load.data)] == 1 and str(load.data) not in self._reduced
            for load in loads(node.value)
        )

    def changed(self, name: str, after: int, before: int) -> bool:
        """Return whether an array's memory changes between two positions."""
        where = self._changes.get(self._root(name))
        if not where:
            return False
        following = bisect_right(where, after)
        return following < len(where) and where[following] < before

    def repeats(self, node: Map) -> float:
        """Return how often each element would be computed, were the map taken in."""
        total = elements(node.buffer.shape)
        sites = self.sites.get(node.buffer.name, [])
        return sum(self.spaces[position] for position, _ in sites) / max(total, 1)


def inlined(program: Program, notes: list[str]) -> Program:
    """Return the program with maps taken into their readers where that pays.

    Args:
        program: With canonical digits.
        notes: Gets a line for each map that stays an array, with the reason.
    """
    program = _sweep(program, False, [])
    return _sweep(program, True, notes)


def _sweep(program: Program, last: bool, notes: list[str]) -> Program:
    kept = pinned(program)
    readers = Readers(program)
    taken: dict[str, Map] = {}
    out: list[Node] = []
    for position, old in enumerate(program.nodes):
        node = with_taken(old, taken, program.least)
        if isinstance(node, Map):
            reason = _why_kept(node, position, kept, readers, last)
            if reason is None:
                taken[node.buffer.name] = node
                continue
            if last:
                notes.append(f"{node.buffer.name} is an array: {reason}")
        out.append(node)
    return replace(program, nodes=tuple(out))


def _why_kept(
    node: Map, position: int, kept: Iterable[str], readers: Readers, last: bool
) -> str | None:
    name = node.buffer.name
    if name in kept:
        return "it is an output, an extern call's argument or another array's base"
    sites = readers.sites.get(name, [])
    if not sites:
        return None
    furthest = max(place for place, _ in sites)
    for load in loads(node.value):
        if readers.changed(str(load.data), position, furthest):
            return f"{load.data} changes before it is read"
    needs = effort(node)
    if needs.size > LARGEST or needs.loads > MOST_LOADS:
        return f"its expression has {needs.size} nodes and {needs.loads} loads"
    if not needs.loads and needs.instructions <= TRIVIAL:
        return None
    repeats = readers.repeats(node)
    cheap = needs.large <= 1 and needs.instructions <= CHEAP
    if cheap and (
        repeats <= 1 or repeats * needs.instructions <= max(len(sites), 4) * CHEAP
    ):
        return None
    if not last:
        return "not cheap"
    if readers.is_scalar(node) and needs.instructions <= ONCE and needs.loads <= 4:
        return None
    single = len(sites) == 1
    if single and repeats <= 1:
        if readers.ends_reduction(node):
            return "it ends the kernel of a reduction, and its reader starts another"
        return None
    few = 8 if repeats <= 2 else 4
    if single and needs.instructions <= AGAIN and needs.loads <= few:
        return None
    if single:
        return (
            f"its reader would compute each element {repeats:.3g} times, "
            f"{needs.instructions} instructions each"
        )
    return (
        f"{len(sites)} places read it, and it takes {needs.instructions} instructions "
        f"and {needs.large} large loads an element"
    )


def with_taken(
    node: Node, taken: Mapping[str, Map], least: Mapping[Expression, int]
) -> Node:
    """Return the node with loads of maps replaced by the maps' values."""
    found = [load for load in loads(*values_of(node)) if load.data in taken]
    if not found:
        return node
    ranges = ranges_of(space_of(node), least)
    done: dict[int, Expression] = {}

    def change(part: Expression) -> Expression:
        if part.op != "load" or part.data not in taken:
            return part
        return value_at(taken[str(part.data)], part.args)

    def value_at(producer: Map, place: tuple[Expression, ...]) -> Expression:
        moved = {
            axis.digit: arg
            for axis, arg in zip(producer.axes, place, strict=True)
            if axis.digit is not arg
            and not (constant_value(axis.extent) == 1 and arg is index(0))
        }
        if not moved:
            return producer.value
        return simplified(producer.value, ranges, moved)

    return with_values(
        node, lambda value: simplified(value, ranges, None, done, change)
    )
