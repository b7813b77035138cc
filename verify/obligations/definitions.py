"""What each array of a program is, element by element, before anything is fused.

Arrays that change in place are told apart by how often they were written: ``x@1`` is
``x`` after its first change. A definition reads the arrays as they are where its node
stands.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from compiler.ir.expression import Expression, make, rewrite
from compiler.ir.index import digit
from compiler.ir.kernel import Allocate, Kernel, Schedule, Store
from compiler.ir.node import (
    Alias,
    Assign,
    Axis,
    Buffer,
    Extern,
    Map,
    Node,
    Program,
    Reduce,
    Scan,
    Scatter,
    written,
)

from .multiplied import meaning


class Storage:
    """Which arrays are in one memory, and how often each memory was changed."""

    def __init__(self) -> None:
        self.roots: dict[str, str] = {}
        self.count: dict[str, int] = {}

    def root(self, name: str) -> str:
        """Return the array whose memory a name shows."""
        while name in self.roots:
            name = self.roots[name]
        return name

    def join(self, name: str, base: str) -> None:
        """Note that a name shows an array's memory."""
        mine, theirs = self.root(name), self.root(base)
        if mine != theirs:
            self.roots[mine] = theirs

    def changed(self, name: str) -> int:
        """Note a change in place; return how many there were before."""
        root = self.root(name)
        before = self.count.get(root, 0)
        self.count[root] = before + 1
        return before

    def now(self, name: str) -> str:
        """Return the name with its number of changes, if there were any."""
        count = self.count.get(self.root(name), 0)
        return f"{name}@{count}" if count else name


def versioned(
    root: Expression, storage: Storage, done: dict[int, Expression]
) -> Expression:
    """Return an expression whose loads name the arrays' present contents."""
    if not storage.count:
        return root

    def change(node: Expression) -> Expression:
        if node.op != "load":
            return node
        name = storage.now(str(node.data))
        return node if name == node.data else make("load", node.args, node.dtype, name)

    return rewrite(root, change, done)


Defining = Map | Reduce | Scan | Scatter


@dataclass(frozen=True, slots=True)
class Definition:
    """What an array is.

    Attributes:
        node: The node that makes it.
        values: Its expressions: the value, or the values of a reduction; then target
            and condition of a scatter.
        result: Which of the node's results it is.
    """

    node: Defining | Assign
    values: tuple[Expression, ...]
    result: int = 0

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes over which the array's coordinates run."""
        return self.node.axes


@dataclass
class Definitions:
    """Definitions of a program's arrays, and its changes in place.

    Attributes:
        arrays: Name -> array.
        of: Name -> definition; inputs and results of calls have none.
        writes: Root -> changes in place, in order; None is a call's.
    """

    arrays: dict[str, Buffer] = field(default_factory=dict)
    of: dict[str, Definition] = field(default_factory=dict)
    writes: dict[str, list[Definition | None]] = field(default_factory=dict)
    storage: Storage = field(default_factory=Storage)

    @classmethod
    def read(cls, program: Program, products: Collection[str] = ()) -> "Definitions":
        """Return the definitions of a program.

        Args:
            program: What is meant.
            products: Results of products of matrices that are to be defined as sums,
                because no call makes them.
        """
        found = cls(program.buffers())
        for node in program.nodes:
            for name, base in shared(node):
                found.storage.join(name, base)
        for node in program.nodes:
            if any(buffer.name in products for buffer in written(node)):
                assert isinstance(node, Extern)
                for inner in meaning(node, found.arrays):
                    found.arrays.update({b.name: b for b in written(inner)})
                    found._node(inner)
            found._node(node)
        return found

    def _node(self, node: Node) -> None:
        done: dict[int, Expression] = {}

        def here(*values: Expression | None) -> tuple[Expression, ...]:
            given = [value for value in values if value is not None]
            return tuple(versioned(value, self.storage, done) for value in given)

        if isinstance(node, Assign):
            made = Definition(node, here(node.value))
            root = self.storage.root(node.target)
            self.writes.setdefault(root, []).append(made)
            self.storage.changed(node.target)
        elif isinstance(node, Extern):
            for name in node.mutates:
                root = self.storage.root(name)
                self.writes.setdefault(root, []).append(None)
                self.storage.changed(name)
        elif isinstance(node, Scatter):
            values = here(node.value, *node.target, node.condition)
            self.of[node.buffer.name] = Definition(node, values)
        elif isinstance(node, Map | Scan):
            for number, buffer in enumerate(written(node)):
                self.of[buffer.name] = Definition(node, here(node.value), number)
        elif isinstance(node, Reduce):
            for number, buffer in enumerate(node.buffers):
                self.of[buffer.name] = Definition(node, here(*node.values), number)

    def base_of(self, scatter: Scatter, at: Sequence[Expression]) -> Expression:
        """Return the element that a scatter starts from."""
        return make("load", tuple(at), scatter.buffer.dtype, scatter.base)


def shared(node: Any) -> Iterator[tuple[str, str]]:
    """Yield the arrays of a node or step that show another one's memory."""
    if isinstance(node, Alias):
        yield node.buffer.name, node.base
    elif isinstance(node, Extern):
        for name, bases in node.aliases.items():
            for base in bases:
                yield name, base


def scheduled_arrays(schedule: Schedule) -> dict[str, Buffer]:
    """Return each array as the schedule has it, with strides."""
    found = {b.name: b for b in schedule.inputs if isinstance(b, Buffer)}
    for step in schedule.steps:
        if isinstance(step, Allocate | Alias):
            found[step.buffer.name] = step.buffer
        elif isinstance(step, Extern):
            found.update({b.name: b for b in step.outputs if b is not None})
    return found


def fresh_digits(
    axes: Sequence[Axis], mark: str
) -> tuple[dict[Expression, Expression], dict[Expression, Expression]]:
    """Return old digit -> new digit, and new digit -> extent."""
    renamed = {axis.digit: digit(f"{mark}{axis.digit.data}") for axis in axes}
    return renamed, {renamed[axis.digit]: axis.extent for axis in axes}


def kernel_stores(kernel: Kernel) -> Iterator[tuple[int, Store]]:
    """Yield the stores with the numbers of their stages."""
    for number, stage in enumerate(kernel.stages):
        if isinstance(stage, Store):
            yield number, stage
