"""Which nodes share a kernel: greedy, in program order, by bytes saved.

Groups are the vertices of a graph of dependencies; two may become one if no path
leads from one to the other through a third. Ancestors are bit sets in integers, so the
test costs one machine word for each 64 groups.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from compiler.ir.expression import Expression
from compiler.ir.node import (
    Alias,
    Assign,
    Buffer,
    Extern,
    Node,
    Product,
    Program,
    Scatter,
    Tiling,
)

from .arrays import Storages, mutated, reads
from .merge import Refusal, Sizes, merged, splits_a_scan
from .nest import Nest, nest_of, scatter_nest, stage_loads
from .refine import refined
from .work import bytes_of, points

MOST_MEMBERS = 64
"""Nodes of one kernel."""

MOST_ARRAYS = 40
"""Arrays of one kernel."""

NEIGHBOURS = 6
"""Groups that read an array and are tried as partners without a dependency."""

SMALL = 1 << 14
"""Points of nests that share a kernel even if no byte is saved."""


@dataclass(slots=True, eq=False)
class Group:
    """A vertex: a nest, or a step that is no nest.

    Attributes:
        number: Bit in the sets of ancestors.
        nest: Loops; None for an extern call or an alias.
        step: The extern call or the alias.
        device: Where it runs.
        alone: Whether nothing may join it.
        reads: Arrays read.
        writes: Arrays written or made.
        ancestors: Bit set of all groups that must run before.
        before: Bit set of those that it depends on directly.
        reasons: Why nodes joined, and others did not.
        tiling: How it does a product of matrices, None where it is none.
    """

    number: int
    nest: Nest | None
    step: Extern | Alias | None
    device: str
    alone: bool
    reads: set[str]
    writes: set[str]
    ancestors: int = 0
    before: int = 0
    reasons: list[str] = field(default_factory=list)
    tiling: Tiling | None = None


class Graph:
    """The groups of a program while they grow."""

    def __init__(self, program: Program) -> None:
        """Start without a group."""
        self.program = program
        self.buffers = program.buffers()
        self.sizes = {name: bytes_of(b) for name, b in self.buffers.items()}
        self.groups: dict[int, Group] = {}
        self.count = 0
        self._storages = Storages(program)
        self._writer: dict[str, int] = {}
        self._since: dict[str, list[int]] = {}
        self._shown: dict[str, int] = {}
        self._readers: dict[str, list[int]] = {}
        self._moved: dict[int, int] = {}
        self._random: int | None = None

    def root(self, name: str) -> str:
        """Return the storage of an array."""
        return self._storages.root(name)

    def find(self, number: int) -> int:
        """Return the group that a former group is part of now."""
        while number in self._moved:
            number = self._moved[number]
        return number

    def add(self, group: Group) -> None:
        """Put a group after all that it depends on."""
        direct: set[int] = set()
        for name in group.reads | group.writes:
            root = self.root(name)
            if root in self._writer:
                direct.add(self.find(self._writer[root]))
            if name in self._shown:
                direct.add(self.find(self._shown[name]))
        shows = isinstance(group.step, Alias)
        for name in () if shows else group.writes:
            root = self.root(name)
            direct.update(self.find(n) for n in self._since.get(root, ()))
        if isinstance(group.step, Extern) and _keeps_order(group.step):
            if self._random is not None:
                direct.add(self.find(self._random))
            self._random = group.number
        direct.discard(group.number)
        for number in direct:
            group.before |= 1 << number
            group.ancestors |= self.groups[number].ancestors | 1 << number
        self.groups[group.number] = group
        for name in group.reads:
            self._since.setdefault(self.root(name), []).append(group.number)
        for name in group.writes:
            root = self.root(name)
            if shows:
                # no data moves: who reads the base need not wait for the view
                self._shown[name] = group.number
                continue
            self._writer[root] = group.number
            self._since[root] = []

    def fuse_with_neighbours(self, group: Group) -> None:
        """Let a new group join others as long as bytes are saved."""
        if group.nest is None or group.alone:
            self._note_reader(group)
            return
        current = group
        tried: set[int] = set()
        while True:
            partner = self._best(current, tried)
            if partner is None:
                break
            tried.add(partner.number)
            joined = self._fused(partner, current)
            if joined is not None:
                current = joined
        self._note_reader(current)

    def _note_reader(self, group: Group) -> None:
        if group.nest is None:
            return
        for name in group.reads:
            known = self._readers.setdefault(name, [])
            if group.number not in known:
                known.append(group.number)

    def _best(self, group: Group, tried: set[int]) -> Group | None:
        """Return the partner that shares most bytes."""
        found: dict[int, int] = {}
        for name in group.reads:
            root = self.root(name)
            if root in self._writer:
                number = self.find(self._writer[root])
                found[number] = found.get(number, 0) + 2 * self.sizes.get(name, 0) + 1
            near = self._readers.get(name, ())
            for number in {self.find(n) for n in near[-NEIGHBOURS:]}:
                found[number] = found.get(number, 0) + self.sizes.get(name, 0)
        best: Group | None = None
        score = 0
        for number, saved in found.items():
            other = self.groups[number]
            if number == group.number or number in tried or other.nest is None:
                continue
            if other.alone or other.device != group.device:
                continue
            if saved > score or (saved == score and best and number > best.number):
                best, score = other, saved
        return best

    def _fused(self, left: Group, right: Group) -> Group | None:
        """Return both as one group, or None and note the reason."""
        bit_left, bit_right = 1 << left.number, 1 << right.number
        if left.ancestors & bit_right:
            left, right = right, left
            bit_left, bit_right = bit_right, bit_left
        if self._path(right, left):
            self._refuse(left, right, "another step runs between them")
            return None
        reason = self._unwanted(left, right)
        if reason is not None:
            self._refuse(left, right, reason)
            return None
        assert left.nest is not None and right.nest is not None
        result = merged(left.nest, right.nest, self.sizes, self.program.least)
        if not isinstance(result, Refusal) and _passes_twice(left, result):
            result = Refusal("a scan's values are kept for one pass over a row")
        if isinstance(result, Refusal):
            self._refuse(left, right, result.reason)
            return None
        saved = self._saved(left, right, result)
        if not saved and max(points(left.nest.axes), points(right.nest.axes)) > SMALL:
            self._refuse(left, right, "no byte is saved")
            return None
        return self._joined(left, right, result, saved)

    def join(self, left: Group, right: Group, more: int = 1) -> bool:
        """Make one group of two independent ones, whatever that saves, if they can be.

        Args:
            left: Neither needs the other.
            right: The later one.
            more: How many times the usual nodes, stages and arrays they may have.
        """
        assert left.nest is not None and right.nest is not None
        if self._unwanted(left, right, more) is not None:
            return False
        result = merged(left.nest, right.nest, self.sizes, self.program.least, more)
        if isinstance(result, Refusal) or _passes_twice(left, result):
            return False
        self._joined(left, right, result, self._saved(left, right, result))
        return True

    def join_as(
        self,
        rows: Group,
        columns: Group,
        make: Callable[[Nest, Nest, Sizes], Nest | Refusal],
    ) -> bool:
        """Make one group of two in another way than by their loops, if bytes are saved.

        Args:
            rows: Whose loops stay.
            columns: The other one.
            make: Returns the nest that does the first and then the second.
        """
        left, right = rows, columns
        if left.ancestors >> right.number & 1:
            left, right = right, left
        if self._path(right, left):
            self._refuse(left, right, "another step runs between them")
            return False
        reason = self._unwanted(left, right)
        assert left.nest is not None and right.nest is not None
        result = (
            make(left.nest, right.nest, self.sizes)
            if reason is None
            else Refusal(reason)
        )
        if isinstance(result, Refusal):
            self._refuse(left, right, result.reason)
            return False
        saved = self._saved(left, right, result)
        if saved <= 0:
            self._refuse(left, right, "no byte is saved")
            return False
        self._joined(left, right, result, saved)
        return True

    def latest(self, group: Group) -> int:
        """Return the number of the last node that joined a group."""
        return max((n for n in self._moved if self.find(n) == group.number), default=0)

    def _path(self, late: Group, early: Group) -> bool:
        """Return whether a third group lies between."""
        bit = 1 << early.number
        rest = late.before & ~bit
        while rest:
            number = (rest & -rest).bit_length() - 1
            rest &= rest - 1
            if self.groups[self.find(number)].ancestors & bit:
                return True
        return False

    def _unwanted(self, left: Group, right: Group, more: int = 1) -> str | None:
        assert left.nest is not None and right.nest is not None
        nodes, arrays = more * MOST_MEMBERS, more * MOST_ARRAYS
        if left.nest.members + right.nest.members > nodes:
            return f"more than {nodes} nodes"
        if len(left.reads | left.writes | right.reads | right.writes) > arrays:
            return f"more than {arrays} arrays"
        for mine, theirs in (
            (left.writes, right.reads | right.writes),
            (right.writes, left.reads),
        ):
            roots = {self.root(name): name for name in mine}
            for name in theirs:
                if roots.get(self.root(name), name) != name:
                    return f"{name} shares memory with {roots[self.root(name)]}"
        return None

    def _saved(self, left: Group, right: Group, result: Nest) -> int:
        """Return the bytes that one kernel need not read again."""
        assert left.nest is not None and right.nest is not None
        before = self._traffic(left.nest) + self._traffic(right.nest)
        return before - self._traffic(result)

    def _traffic(self, nest: Nest) -> int:
        found = {load for _, load in stage_loads(nest.stages)}
        return sum(self.sizes.get(str(load.data), 1) for load in found)

    def _joined(self, left: Group, right: Group, nest: Nest, saved: int) -> Group:
        bit_left, bit_right = 1 << left.number, 1 << right.number
        left.nest = nest
        left.reads |= right.reads
        left.writes |= right.writes
        left.before = (left.before | right.before) & ~bit_left & ~bit_right
        gained = (right.ancestors | left.ancestors) & ~bit_left & ~bit_right
        left.ancestors = gained
        both = bit_left | bit_right
        for other in self.groups.values():
            if other.ancestors & both and other is not left:
                other.ancestors = (other.ancestors & ~bit_right) | gained | bit_left
                if other.before & bit_right:
                    other.before = (other.before & ~bit_right) | bit_left
        self._moved[right.number] = left.number
        del self.groups[right.number]
        left.reasons.extend(right.reasons)
        left.reasons.append(f"fused {self._label(right)}: saves {saved} bytes of reads")
        return left

    def _refuse(self, left: Group, right: Group, reason: str) -> None:
        right.reasons.append(f"not fused with {self._label(left)}: {reason}")

    def _label(self, group: Group) -> str:
        return ", ".join(sorted(group.writes)) or f"group {group.number}"


def _passes_twice(group: Group, nest: Nest) -> bool:
    """Return whether a CPU's loops would need a scan's values a second time."""
    return group.device == "cpu" and splits_a_scan(nest)


def _keeps_order(node: Extern) -> bool:
    """Return whether calls must keep their order: random ones and side effects."""
    tags = getattr(node.target, "tags", ())
    random = any("nondeterministic_seeded" in str(tag) for tag in tags)
    return random or not any(b is not None for b in node.outputs)


def grouped(program: Program) -> Graph:
    """Return the program's nodes in groups, one a kernel or another step."""
    graph = Graph(program)
    for node in program.nodes:
        for group in _groups_of(node, graph):
            graph.add(group)
            graph.fuse_with_neighbours(group)
    return graph


def _groups_of(node: Node, graph: Graph) -> Iterable[Group]:
    def numbered(
        nest: Nest | None,
        step: Extern | Alias | None,
        made: Iterable[str],
        alone: bool,
    ) -> Group:
        writes = set(made)
        if nest is not None:
            names = {str(load.data) for _, load in stage_loads(nest.stages)}
        else:
            names = set(reads(node))
        device = next((graph.buffers[n].device for n in (*writes, *names)), "cpu")
        group = Group(graph.count, nest, step, device, alone, names, writes)
        graph.count += 1
        return group

    least: Mapping[Expression, int] = graph.program.least
    if isinstance(node, (Extern, Alias)):
        outputs: tuple[Buffer | None, ...] = (
            node.outputs if isinstance(node, Extern) else (node.buffer,)
        )
        made = [b.name for b in outputs if b is not None] + list(mutated(node))
        yield numbered(None, node, made, True)
        return
    if isinstance(node, Scatter):
        nest = refined(scatter_nest(node), least)
        yield numbered(nest, None, [node.buffer.name], True)
        return
    nest = refined(nest_of(node), least)
    if isinstance(node, Product):
        group = numbered(nest, None, nest.stores(), True)
        group.tiling = node.tiling
        yield group
        return
    if isinstance(node, Assign):
        hazard = any(
            load.data == node.target and load.args != nest.stores()[node.target].target
            for _, load in stage_loads(nest.stages)
        )
        assert not hazard, "an assignment that shifts needs a temporary"
    yield numbered(nest, None, nest.stores(), False)
