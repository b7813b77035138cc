"""Programs: what a graph computes, one node for each array.

A node that computes owns the dense arrays that it writes: the store map of a
:class:`Map`, :class:`Reduce` or :class:`Scan` is the identity on its axes, so each
element is written once by construction. What reads an old value or writes a part says
so (:class:`Scatter`, :class:`Assign`). Views are maps whose value is one load; they
vanish when the scheduler inlines them, or become an :class:`Alias`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from .expression import Expression


@dataclass(frozen=True, slots=True, eq=False)
class Buffer:
    """An array in memory.

    Attributes:
        name: Unique in a program.
        dtype: Value type.
        shape: Extents, index expressions over symbols [elements].
        device: ``"cpu"`` or ``"cuda:0"`` and the like.
        strides: What a caller or an extern call demands or gives; None where the
            scheduler may choose [elements].
        offset: Position of the first element in its storage [elements].
        origin: The user's source line, "" if unknown.
    """

    name: str
    dtype: str
    shape: tuple[Expression, ...]
    device: str
    strides: tuple[Expression, ...] | None = None
    offset: Expression | None = None
    origin: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """A loop: a digit that runs over [0, extent)."""

    digit: Expression
    extent: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Map:
    """``buffer[axes] = value`` for all digits.

    Attributes:
        buffer: What is written; its shape is the axes' extents.
        axes: One for each dim of the buffer.
        value: Of the buffer's type.
        shares: Name of the array whose memory it shows in eager mode, "" where it has
            memory of its own. A caller may get both, and see that they share.
    """

    buffer: Buffer
    axes: tuple[Axis, ...]
    value: Expression
    shares: str = ""


REDUCERS: Mapping[str, tuple[int, int]] = {
    "sum": (1, 1),
    "product": (1, 1),
    "maximum": (1, 1),
    "minimum": (1, 1),
    "any": (1, 1),
    "all": (1, 1),
    "xor": (1, 1),
    "argmax": (1, 1),
    "argmin": (1, 1),
    "welford": (1, 3),
    "online_softmax": (1, 2),
}
"""Reducer -> (values it takes, results it has).

``argmax``, ``argmin`` take a value and return the row-major position (int64) among the
reduced axes of the first greatest (smallest) element, NaN being greater (smaller) than
all. ``welford`` returns mean, sum of squared deviations, and count, in the value's
floating type. ``online_softmax`` returns the maximum m and the sum of exp(value - m).
``maximum`` and ``minimum`` return NaN if there is one. The empty result is the neutral
element: 0, 1, -inf or the type's least, inf or the type's greatest, False, True;
argmax of nothing is an error that the lowering raises.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Reduce:
    """``buffers[axes] = reducer over reduced axes of values``.

    Attributes:
        buffers: One for each result; their shape is the extents of ``axes``.
        axes: Outer axes.
        reduced: Axes that are reduced over.
        reducer: A key of :data:`REDUCERS`.
        values: Over axes and reduced, in the type that is accumulated in.
    """

    buffers: tuple[Buffer, ...]
    axes: tuple[Axis, ...]
    reduced: tuple[Axis, ...]
    reducer: str
    values: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Tiling:
    """How a GPU computes a product of matrices: a program has a tile of the result.

    Attributes:
        rows: Of a tile of the result [elements].
        columns: Of a tile of the result [elements].
        terms: Of the sums that are added at once [elements].
        warps: Of a program.
        stages: Tiles of the factors that are on their way at once.
        programs: Programs that share all tiles; 0: one for each tile.
        descriptors: Whether the factors come by the bulk copy engine.
    """

    rows: int
    columns: int
    terms: int
    warps: int
    stages: int
    programs: int = 0
    descriptors: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Product:
    """``sum = sum over term of left * right``, then ``buffers[targets] = values``.

    The factors are of a half type; their products and the sum are float32's. It stands
    for a call of the library's product together with a map that reads its result.

    Attributes:
        buffers: One for each result.
        axes: All independent axes. Each is one of the rows or one of the columns: it
            occurs in one of the factors, not in both.
        term: What is summed over.
        left: The load of a half type, over rows and the term.
        right: The load of the same type, over the term and columns.
        sum: Name by which values read the sum, a leaf ``local`` of float32.
        targets: Of each result, one index for each dim. Law: over the axes they are a
            bijection onto the buffer.
        values: Of each result, of its type.
        tiling: How a GPU does it.
    """

    buffers: tuple[Buffer, ...]
    axes: tuple[Axis, ...]
    term: Axis
    left: Expression
    right: Expression
    sum: str
    targets: tuple[tuple[Expression, ...], ...]
    values: tuple[Expression, ...]
    tiling: Tiling


SCANS = ("sum", "product", "maximum", "minimum", "logsumexp", "argmax", "argmin")
"""Kinds of inclusive scan; ``argmax`` and ``argmin`` have two results, the running
extreme and the position of its last occurrence (torch's cummax and cummin)."""


@dataclass(frozen=True, slots=True, eq=False)
class Scan:
    """``buffers[axes] = inclusive scan along one axis of value``.

    Attributes:
        buffers: One for each result; their shape is the extents of ``axes``.
        axes: All axes, in the buffer's order.
        along: Number of the axis that is scanned.
        kind: One of :data:`SCANS`.
        value: Over all axes, in the type that is accumulated in.
    """

    buffers: tuple[Buffer, ...]
    axes: tuple[Axis, ...]
    along: int
    kind: str
    value: Expression


SCATTERS = ("set", "add", "multiply", "maximum", "minimum")
"""How a scatter combines the old value with the new."""


@dataclass(frozen=True, slots=True, eq=False)
class Scatter:
    """A copy of ``base`` in which some elements are changed.

    Law: ``buffer = base``, then for all digits ``buffer[target] = old (mode) value``.
    Targets may repeat; with ``set`` the last digit in row-major order then wins on a
    CPU and any may on a GPU, as in eager mode.

    Attributes:
        buffer: The result, of base's shape and type.
        base: Name of the array it starts from.
        axes: Iteration space.
        target: One index for each dim of the buffer.
        value: Of the buffer's type.
        mode: One of :data:`SCATTERS`.
        condition: Bool; where it is false nothing is written. None: everywhere.
        unique: Whether the lowering knows that no target repeats.
    """

    buffer: Buffer
    base: str
    axes: tuple[Axis, ...]
    target: tuple[Expression, ...]
    value: Expression
    mode: str = "set"
    condition: Expression | None = None
    unique: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Assign:
    """Write into an input of the program: ``target[axes] = value``.

    All loads of the value see the memory before any write of this node; nodes before
    it in the program read the old content, nodes after it the new one.
    """

    target: str
    axes: tuple[Axis, ...]
    value: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Alias:
    """Another view of an array's storage: no data moves.

    Attributes:
        buffer: The view, with strides and offset.
        base: Name of the array whose storage it shows.
    """

    buffer: Buffer
    base: str


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """Stands for an array (or a symbol) among the arguments of an extern call."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Extern:
    """A call into PyTorch.

    Attributes:
        outputs: What it returns, None for outputs that are no tensors.
        target: The callable, an OpOverload as a rule.
        args: Positional arguments; arrays and sizes as :class:`Reference` or index
            expressions, in nested tuples, lists and dicts as the callable wants them.
        kwargs: Named arguments.
        mutates: Names of arrays that it writes.
        aliases: Output's name -> names of arguments whose storage it may share.
        reason: Why it was not lowered.
        origin: The user's source line.
    """

    outputs: tuple[Buffer | None, ...]
    target: Any
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    mutates: tuple[str, ...] = ()
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    reason: str = ""
    origin: str = ""


Node: TypeAlias = Map | Reduce | Product | Scan | Scatter | Assign | Alias | Extern


@dataclass(frozen=True, slots=True)
class Program:
    """A graph: inputs, nodes in an order that computes before it reads, outputs.

    Attributes:
        inputs: Arrays and symbols (index expressions of op ``symbol``) in the order of
            the caller's arguments.
        nodes: In order.
        outputs: Name of an array, an index expression (a size), or None.
        least: Symbol -> the least that it can be.
        free: Outputs that may have any strides, since whoever reads them is told.
        ending: Inputs that nobody reads afterwards.
        donated: Those of them that are alone in their storage: it may be taken.
    """

    inputs: tuple[Buffer | Expression, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[str | Expression | None, ...]
    least: Mapping[Expression, int] = field(default_factory=dict)
    free: frozenset[str] = frozenset()
    ending: frozenset[str] = frozenset()
    donated: frozenset[str] = frozenset()

    def leaving(self) -> set[str]:
        """Return the outputs that others get with the strides that they expect."""
        return {o for o in self.outputs if isinstance(o, str)} - self.free

    def buffers(self) -> dict[str, Buffer]:
        """Return all arrays by name."""
        found = {b.name: b for b in self.inputs if isinstance(b, Buffer)}
        for node in self.nodes:
            found.update({b.name: b for b in written(node)})
        return found


def written(node: Node) -> tuple[Buffer, ...]:
    """Return the arrays that a node makes (none for an Assign)."""
    if isinstance(node, (Map, Scatter, Alias)):
        return (node.buffer,)
    if isinstance(node, (Reduce, Product, Scan)):
        return node.buffers
    if isinstance(node, Extern):
        return tuple(b for b in node.outputs if b is not None)
    return ()
