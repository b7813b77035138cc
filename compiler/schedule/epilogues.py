"""Products of matrices together with what reads them, as one kernel on a GPU.

The library's product writes its result, and a second kernel reads it again to add a
residual or to take an activation. Where a kernel of ours does both, these bytes do not
move; but the library multiplies faster than a kernel in Triton does. So only products
of classes that were measured to be faster become one, unless the user wants all.

A call and the map that reads it become a :class:`~compiler.ir.node.Product`, in the
map's place: nothing between the two may read the result or change what is multiplied.
The result is rounded as the call rounds it before the map computes on.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch

from compiler.cost.product import TEMPLATE, ShapeClass, Template
from compiler.ir.expression import Expression, leaves, loads, make, nodes, rewrite
from compiler.ir.index import (
    constant_value,
    contiguous_strides,
    digit,
    flatten,
    index,
)
from compiler.ir.node import (
    Alias,
    Axis,
    Buffer,
    Extern,
    Map,
    Node,
    Product,
    Program,
    Reference,
    Tiling,
)
from compiler.ir.operations import OPERATIONS
from compiler.ir.scalar import apply, cast
from compiler.options import Options

from .arrays import Storages, mutated, reads
from .products import Product as Call
from .products import product_of
from .rows import ALIGNMENT, layout_of
from .simplify import ranges_of, simplified
from .strides import affine
from .work import BYTES

LEAST = 32
"""Extents that a product must have: a smaller tile wastes most of a matrix unit."""

COSTLY = 8
"""Cost of an operation that takes longer than a few additions."""

WIDEST = 4
"""Bytes of a value, at most, in the epilogues that were measured."""

OTHERS = 1
"""Matrices, at most, that the measured epilogues read besides the product."""

_TERM = digit("term")
_BIAS = "aten.addmm.default"


def with_epilogues(
    program: Program,
    options: Options,
    notes: list[str],
    template: Template = TEMPLATE,
) -> Program:
    """Return the program with products that compute what reads them.

    Sums are added in another order than the library's: a deterministic compilation,
    whose results must not depend on the number of rows, has none.

    Args:
        program: Views are aliases already.
        options: Says where.
        notes: Gets which they are, and why others are not.
        template: What products by our kernel take.
    """
    if options.product_epilogues == "off" or options.deterministic:
        return program
    if options.product_epilogues == "measured" and not _is_measured(program, template):
        return program
    found = _Epilogues(program, options, notes, template)
    for place in reversed(range(len(program.nodes))):
        found.look(place)
    return replace(program, nodes=tuple(n for n in found.nodes if n is not None))


def _is_measured(program: Program, template: Template) -> bool:
    """Return whether a measurement says something about the program's GPUs.

    Where there is none, the program is for one like the measured one.
    """
    if not template.faster or not torch.cuda.is_available():
        return bool(template.faster)
    devices = {b.device for b in program.buffers().values()}
    return all(
        torch.cuda.get_device_capability(device) == template.capability
        for device in devices
        if device.startswith("cuda")
    )


@dataclass(frozen=True, slots=True)
class _Matrices:
    """A call's arguments: the factors, and what is added before rounding."""

    left: Buffer
    right: Buffer
    result: Buffer
    added: Buffer | None

    @property
    def shape(self) -> tuple[int, int, int]:
        """Rows, columns and terms."""
        rows, terms = (constant_value(e) or 0 for e in self.left.shape)
        return rows, constant_value(self.right.shape[1]) or 0, terms


class _Epilogues:
    def __init__(
        self,
        program: Program,
        options: Options,
        notes: list[str],
        template: Template,
    ) -> None:
        self.nodes: list[Node | None] = list(program.nodes)
        self._buffers = program.buffers()
        self._always = options.product_epilogues == "always"
        self._notes = notes
        self._template = template
        self._storages = Storages(program)
        self._kept = {name for name in program.outputs if isinstance(name, str)}

    def look(self, place: int) -> None:
        """Let the call at a place, if it is a product, compute what reads it."""
        node = self.nodes[place]
        call = product_of(node, self._buffers)
        if node is None or call is None:
            return
        matrices = self._matrices(call)
        if matrices is None:
            return
        name = call.result.name
        reason = self._joined(place, name, matrices)
        if reason:
            self._notes.append(f"{name} is multiplied by the library: {reason}")

    def _matrices(self, call: Call) -> _Matrices | None:
        """Return a product of two matrices, with a sum of a third or without."""
        if call.call.kwargs or len(call.result.shape) != 2:
            return None
        left, right = (self._buffers[name] for name in call.factors)
        added = None
        if str(call.call.target) == _BIAS:
            first = call.call.args[0]
            if not isinstance(first, Reference):
                return None
            added = self._buffers[first.name]
        return _Matrices(left, right, call.result, added)

    def _joined(self, place: int, name: str, matrices: _Matrices) -> str:
        """Make one node of a call and the first map that reads it, or say why not."""
        if min(matrices.shape) < LEAST:
            return f"an extent is below {LEAST}"
        for factor, terms in ((matrices.left, 1), (matrices.right, 0)):
            if not _is_stepped(factor, terms):
                return f"{factor.name} is repeated or has steps that only the run knows"
        readers = [
            at
            for at, node in enumerate(self.nodes)
            if node is not None and at > place and name in reads(node)
        ]
        if not readers:
            return "nothing else reads it"
        first, node = readers[0], self.nodes[readers[0]]
        if not isinstance(node, Map):
            kind = "a view" if isinstance(node, Alias) else "no map"
            return f"{kind} reads it first"
        at = self._position(node, name, matrices)
        if isinstance(at, str):
            return at
        changed = self._changed_between(place, first, matrices)
        if changed:
            return f"{changed} is changed before it is read"
        kept = len(readers) > 1 or name in self._kept
        tiling = self._tiling(matrices, node, kept)
        if tiling is None:
            return "no measurement says that the kernel is faster"
        self.nodes[first] = _product(node, at, matrices, kept, tiling)
        self.nodes[place] = None
        made = node.buffer.name
        self._notes.append(f"{name} is multiplied by the kernel that makes {made}")
        return ""

    def _position(
        self, node: Map, name: str, matrices: _Matrices
    ) -> tuple[Expression, Expression] | str:
        """Return the row and the column that a map reads, or why it reads others."""
        places = {load.args for load in loads(node.value) if load.data == name}
        if len(places) != 1:
            return "what reads it reads several elements at once"
        ranges = ranges_of(node.axes)
        units = _units(node.axes)
        row, column = (simplified(p, ranges, units) for p in next(iter(places)))
        if not _is_bijection((row, column), matrices.result, node.axes):
            return "what reads it does not read each element once"
        if set(leaves("digit", row)) & set(leaves("digit", column)):
            return "a loop runs over rows and columns"
        return row, column

    def _changed_between(self, place: int, first: int, matrices: _Matrices) -> str:
        """Return what is multiplied and changes in place before the map runs, or ""."""
        arrays = [matrices.left, matrices.right]
        if matrices.added is not None:
            arrays.append(matrices.added)
        roots = {self._storages.root(array.name) for array in arrays}
        for node in self.nodes[place + 1 : first]:
            for name in () if node is None else mutated(node):
                if self._storages.root(name) in roots:
                    return name
        return ""

    def _tiling(self, matrices: _Matrices, node: Map, kept: bool) -> Tiling | None:
        """Return how the product is done by us, None where the library does it."""
        if self._always:
            return self._template.best(matrices.shape)
        turned = _adjacent(matrices.left, 1), _adjacent(matrices.right, 0)
        name = node.buffer.name
        # a reader that is a product already needs the result in memory
        calls = [
            isinstance(other, (Alias, Extern, Product))
            for other in self.nodes
            if other is not None and name in reads(other)
        ]
        made = ShapeClass.of(
            matrices.shape,
            turned,
            is_costly(node.value),
            read=not all(calls),
            stays=any(calls) or name in self._kept,
            kept=kept,
        )
        tiling = self._template.faster.get(made)
        if tiling is None or not _is_aligned(matrices):
            return None
        if not is_light(node.value, matrices.result.name):
            return None
        waste = self._template.waste(matrices.shape, tiling)
        return tiling if waste <= self._template.most_waste else None


def _is_aligned(matrices: _Matrices) -> bool:
    """Return whether rows of both factors are aligned, as all measured ones are."""
    for factor in (matrices.left, matrices.right):
        strides = factor.strides or contiguous_strides(factor.shape)
        layout = layout_of(replace(factor, strides=strides))
        if layout is None or layout.alignment < ALIGNMENT:
            return False
    return True


def is_light(value: Expression, result: str) -> bool:
    """Return whether an epilogue takes no more room than those that were measured.

    Wider values, further matrices and gathered elements need registers and shared
    memory that a measured tiling has not: the kernel would not be as fast, or none.

    Args:
        value: Of the map.
        result: Name of the product, which it reads.

    Example:
        >>> from compiler.ir.scalar import constant
        >>> is_light(constant(1.0, "float64"), "made")
        False
    """
    others: set[str] = set()
    for node in nodes(value):
        if node.op == "checked_index" or BYTES.get(node.dtype, 0) > WIDEST:
            return False
        if node.op == "load" and node.data != result:
            matrix = len(set(leaves("digit", *node.args))) > 1
            others.update({str(node.data)} if matrix else ())
    return len(others) <= OTHERS


def is_costly(value: Expression) -> bool:
    """Return whether an epilogue has an exponential or the like.

    Example:
        >>> from compiler.ir.scalar import constant
        >>> is_costly(constant(1.0, "float32"))
        False
    """
    return any(
        node.op in OPERATIONS and OPERATIONS[node.op].cost >= COSTLY
        for node in nodes(value)
        if node.dtype != "index"
    )


def _is_stepped(factor: Buffer, terms: int) -> bool:
    """Return whether neighbours are apart in memory, and by a known step in a sum.

    Args:
        factor: A matrix.
        terms: Its dim that is summed over.
    """
    if factor.strides is None:
        return True
    steps = [constant_value(stride) for stride in factor.strides]
    return 0 not in steps and steps[terms] is not None


def _adjacent(buffer: Buffer, dim: int) -> bool:
    return buffer.strides is None or constant_value(buffer.strides[dim]) == 1


def _units(axes: tuple[Axis, ...]) -> Mapping[Expression, Expression]:
    return {a.digit: index(0) for a in axes if constant_value(a.extent) == 1}


def _is_bijection(
    place: tuple[Expression, ...], buffer: Buffer, axes: tuple[Axis, ...]
) -> bool:
    """Return whether each element of an array belongs to exactly one point.

    Shown by mixed radix: the position's coefficients, ascending, are the products of
    the extents before, and all extents together are the number of elements.
    """
    position = simplified(flatten(place, buffer.shape), ranges_of(axes))
    steps, hidden = affine(position)
    real = [axis for axis in axes if constant_value(axis.extent) != 1]
    if hidden or leaves("load", position) or set(steps) != {a.digit for a in real}:
        return False
    size = 1
    extents = {axis.digit: constant_value(axis.extent) for axis in real}
    for leaf, step in sorted(steps.items(), key=lambda s: constant_value(s[1]) or 0):
        if constant_value(step) != size:
            return False
        size *= extents[leaf] or 0
    total = 1
    for extent in buffer.shape:
        total *= constant_value(extent) or 0
    rest = constant_value(
        simplified(position, ranges_of(()), dict.fromkeys(steps, index(0)))
    )
    return size == total and rest == 0


def _product(
    node: Map,
    at: tuple[Expression, Expression],
    matrices: _Matrices,
    kept: bool,
    tiling: Tiling,
) -> Product:
    """Return a call and the map that reads it as one node."""
    left, right, result = matrices.left, matrices.right, matrices.result
    row, column = at
    name = f"{result.name}_sum"
    total: Expression = make("local", (), "float32", name)
    if matrices.added is not None:
        total = apply("add", total, cast(_broadcast(matrices.added, at), "float32"))
    rounded = cast(total, result.dtype)
    units = _units(node.axes)

    def change(inner: Expression) -> Expression:
        if inner.op == "load" and inner.data == result.name:
            return rounded
        return units.get(inner, inner)

    buffers, values = [node.buffer], [rewrite(node.value, change)]
    target = tuple(units.get(axis.digit, axis.digit) for axis in node.axes)
    targets: list[tuple[Expression, ...]] = [target]
    if kept:
        buffers.insert(0, result)
        values.insert(0, rounded)
        targets.insert(0, at)
    term = Axis(_TERM, left.shape[1])
    return Product(
        tuple(buffers),
        node.axes,
        term,
        make("load", (row, _TERM), left.dtype, left.name),
        make("load", (_TERM, column), right.dtype, right.name),
        name,
        tuple(targets),
        tuple(values),
        tiling,
    )


def _broadcast(buffer: Buffer, at: tuple[Expression, ...]) -> Expression:
    """Return the element of an array that is added at a place of the result."""
    rank = len(buffer.shape)
    args = tuple(
        index(0) if constant_value(extent) == 1 else place
        for extent, place in zip(buffer.shape, at[len(at) - rank :], strict=True)
    )
    return make("load", args, buffer.dtype, buffer.name)
