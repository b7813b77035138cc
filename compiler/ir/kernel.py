"""Kernels: what the scheduler makes of programs and the printers print.

A kernel is one loop nest: outer axes, whose points are independent, around inner axes,
over which it reduces or scans. Its stages run in order. In a stage all loads come
before all stores of the same point.

Some outer axes may be *folded*: column sums run across them. A normalisation's
gradient sums along each row and, over the rows of a chunk, along each column; one pass
over the rows does both.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from .expression import Expression, leaves
from .node import Alias, Axis, Buffer, Extern, Tiling


@dataclass(frozen=True, slots=True, eq=False)
class Reduction:
    """``results = reducer over the inner axes of values``, for each outer point.

    Later stages read a result as the leaf ``local`` of that name.

    Attributes:
        results: Names, one for each result of the reducer.
        reducer: A key of ``node.REDUCERS``.
        values: Over outer and inner digits.
        dtypes: Types of the results.
        folded: Whether it reduces over the folded axes instead (:func:`folded_axes`),
            for each point of the other outer axes and of the inner ones. Only folded
            stores read its result.
    """

    results: tuple[str, ...]
    reducer: str
    values: tuple[Expression, ...]
    dtypes: tuple[str, ...]
    folded: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Prefix:
    """``results = inclusive scan along the one inner axis of value``.

    Later stages read a result at the same point as the leaf ``local``.

    Attributes:
        results: Names.
        kind: One of ``node.SCANS``.
        value: Over outer and inner digits.
        dtypes: Types of the results.
    """

    results: tuple[str, ...]
    kind: str
    value: Expression
    dtypes: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Store:
    """``buffer[target] = value`` for all outer (and inner) digits.

    Attributes:
        buffer: Name.
        target: One index for each dim.
        value: Of the buffer's type.
        inner: Whether it runs over the inner axes too, or once an outer point.
        mode: ``"set"``, or a mode of ``node.SCATTERS`` for a read-modify-write that
            is atomic where points can meet.
        condition: Bool; nothing is written where it is false.
        injective: Whether different points are known to have different targets.
        folded: Whether it runs once for all points of the folded axes, after them.
    """

    buffer: str
    target: tuple[Expression, ...]
    value: Expression
    inner: bool
    mode: str = "set"
    condition: Expression | None = None
    injective: bool = True
    folded: bool = False


Stage: TypeAlias = Reduction | Prefix | Store


def folded_axes(outer: Iterable[Axis], stages: Iterable[Stage]) -> tuple[Axis, ...]:
    """Return the axes that folded reductions run over: no folded store has them.

    Args:
        outer: The outer axes.
        stages: With their targets; without a folded store there are no such axes.
    """
    folds = [s for s in stages if isinstance(s, Store) and s.folded]
    if not folds:
        return ()
    named = {leaf for store in folds for leaf in leaves("digit", *store.target)}
    return tuple(axis for axis in outer if axis.digit not in named)


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """A loop nest.

    Attributes:
        name: Unique, speaks of what it does, as a profiler will show it.
        outer: Independent axes, outermost first; what is adjacent in memory for most
            accesses comes last.
        inner: Axes of the reduction or scan, outermost first; () if there is none.
        stages: In order.
        buffers: Every array that it touches, as this kernel sees it: strides are
            decided, and dims that are contiguous with each other may be merged, so the
            shape may have fewer dims than the array's. The first element is the
            array's own first element (the address that a tensor's ``data_ptr``
            gives); as a tensor: ``array.as_strided(shape, strides,
            array.storage_offset())``.
        origins: The user's source lines.
        reasons: Why its nodes are together and others are not.
        tile: Digits that are each adjacent in memory for some large access, the one
            with most bytes last: two of them ask for tiles (a transpose), one or none
            for plain loops.
        product: How its one reduction, a sum of products of half-precision numbers,
            is done as a product of matrices; None: it is a kernel like others.
    """

    name: str
    outer: tuple[Axis, ...]
    inner: tuple[Axis, ...]
    stages: tuple[Stage, ...]
    buffers: dict[str, Buffer]
    origins: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    tile: tuple[Expression, ...] = ()
    product: Tiling | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Allocate:
    """Take memory for an array, or the memory of ``reuse``, which is dead.

    An array whose memory is reused has the same type and the same number of elements
    in memory, and no Free of its own; reuse in place is dead after the next kernel.
    """

    buffer: Buffer
    reuse: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Free:
    """Drop the last reference to an array."""

    name: str


Step: TypeAlias = Kernel | Extern | Alias | Allocate | Free


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """A program as steps.

    Attributes:
        inputs: As the program's.
        steps: In order.
        outputs: As the program's: array names, sizes, None.
        notes: Reasons of the scheduler, for the trace.
        least: Symbol -> the least that it can be.
        strides: Of the outputs that may have any [elements].
        parts: Result of a product of matrices that runs in parts -> rows, columns and
            terms of the sums that its largest part has [elements].
        donated: Inputs whose memory may be taken once they are dead.
        private: Outputs in memory that the steps made and that is no other output's.
    """

    inputs: tuple[Buffer | Expression, ...]
    steps: tuple[Step, ...]
    outputs: tuple[str | Expression | None, ...]
    notes: tuple[str, ...] = ()
    least: dict[Expression, int] = field(default_factory=dict)
    strides: dict[str, tuple[Expression, ...]] = field(default_factory=dict)
    parts: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    donated: frozenset[str] = frozenset()
    private: frozenset[str] = frozenset()
