"""What a program must satisfy, checked between any two passes.

The checks are syntactic and cheap: types, names, shapes, an order that computes before
it reads, one writer for each array. What needs a solver (all indices in bounds, no
races) is an obligation of each kernel, not a rule here; an index that certainly leaves
its array is found here too.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from .expression import INDEX, VALUE_TYPES, Expression, leaves
from .index import constant_value
from .node import (
    REDUCERS,
    SCANS,
    SCATTERS,
    Alias,
    Assign,
    Axis,
    Buffer,
    Extern,
    Map,
    Node,
    Product,
    Program,
    Reduce,
    Reference,
    Scan,
    Scatter,
    written,
)
from .scalar import HALF_TYPES, bits
from .wellformed import Scope


class SpecError(Exception):
    """A program or a schedule breaks rules of the IR.

    Attributes:
        faults: Each in words.
    """

    def __init__(self, faults: Sequence[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(self.faults))


def check_program(program: Program) -> None:
    """Check a program.

    Raises:
        SpecError: it breaks rules; the message names all of them.
    """
    faults = list(program_faults(program))
    if faults:
        raise SpecError(faults)


def program_faults(program: Program) -> Iterator[str]:
    """Yield what is wrong with a program, in words."""
    symbols = known_symbols(program.inputs)
    buffers: dict[str, Buffer] = {}
    for value in program.inputs:
        if isinstance(value, Buffer):
            yield from _declared(value, buffers, symbols)
            buffers[value.name] = value
        elif value.dtype != INDEX:
            yield f"the input {value} is neither an array nor a size"
    inputs = frozenset(buffers)
    for number, node in enumerate(program.nodes):
        name = _title(node, number)
        found: dict[str, Buffer] = dict(buffers)
        for buffer in written(node):
            yield from (f"{name}: {f}" for f in _declared(buffer, found, symbols))
            found[buffer.name] = buffer
        yield from (
            f"{name}: {fault}" for fault in _node(node, buffers, inputs, symbols)
        )
        buffers = found
    for output in program.outputs:
        if isinstance(output, str) and output not in buffers:
            yield f"the output {output} is never computed"
        if isinstance(output, Expression):
            yield from Scope({}, (), symbols).faults(output)


def known_symbols(inputs: Sequence[Buffer | Expression]) -> frozenset[Expression]:
    """Return the sizes that inputs give a value: arguments, and shapes of arrays."""
    found: set[Expression] = set()
    for value in inputs:
        parts = value.shape if isinstance(value, Buffer) else (value,)
        found.update(leaves("symbol", *parts))
    return frozenset(found)


def _title(node: Node, number: int) -> str:
    names = [buffer.name for buffer in written(node)]
    if isinstance(node, Assign):
        names = [node.target]
    return f"{type(node).__name__} {', '.join(names) or number}"


def _declared(
    buffer: Buffer, known: Mapping[str, Buffer], symbols: frozenset[Expression]
) -> Iterator[str]:
    if buffer.name in known:
        yield f"the array {buffer.name} is written twice"
    scope = Scope({}, (), symbols)
    parts = [*buffer.shape, *(buffer.strides or ())]
    parts += [] if buffer.offset is None else [buffer.offset]
    for part in parts:
        if part.dtype != INDEX:
            yield f"an extent or stride of {buffer.name} is {part.dtype}"
        yield from scope.faults(part)
    for extent in buffer.shape:
        known_extent = constant_value(extent)
        if known_extent is not None and known_extent < 0:
            yield f"{buffer.name} has the extent {known_extent}"
    if buffer.strides is not None and len(buffer.strides) != len(buffer.shape):
        yield f"{buffer.name} has {len(buffer.strides)} strides"


def _node(
    node: Node,
    buffers: Mapping[str, Buffer],
    inputs: frozenset[str],
    symbols: frozenset[Expression],
) -> Iterator[str]:
    if isinstance(node, Extern):
        for name in references((node.args, dict(node.kwargs))):
            if name not in buffers:
                yield f"the argument {name} is not there"
        for name in node.mutates:
            if name not in buffers:
                yield f"it writes {name}, which is not there"
        return
    if isinstance(node, Alias):
        yield from _alias(node, buffers)
        return
    for buffer in written(node):
        if buffer.dtype not in VALUE_TYPES:
            yield f"{buffer.name} has the type {buffer.dtype}"
    axes = node.axes
    if isinstance(node, (Reduce, Product)):
        axes += node.reduced if isinstance(node, Reduce) else (node.term,)
    yield from axes_faults(axes, symbols)
    scope = Scope(buffers, axes, symbols)
    if isinstance(node, Product):
        yield from _product(node, scope)
        return
    if isinstance(node, Reduce):
        for value in node.values:
            yield from scope.faults(value)
        yield from reduction_faults(
            node.reducer, node.values, [b.dtype for b in node.buffers]
        )
        for buffer in node.buffers:
            yield from _shaped(buffer.shape, node.axes)
        return
    yield from scope.faults(node.value)
    if isinstance(node, Scan):
        yield from scan_faults(node.kind, node.value, [b.dtype for b in node.buffers])
        if not 0 <= node.along < len(node.axes):
            yield f"axis {node.along} of {len(node.axes)} is scanned"
        for buffer in node.buffers:
            yield from _shaped(buffer.shape, node.axes)
    elif isinstance(node, Scatter):
        yield from _scatter(node, buffers, scope)
    else:
        target = node.buffer if isinstance(node, Map) else buffers.get(node.target)
        if target is None or (isinstance(node, Assign) and node.target not in inputs):
            yield "it assigns to what is no input"
        else:
            yield from _shaped(target.shape, node.axes)
            if node.value.dtype != target.dtype:
                yield f"a value of {node.value.dtype} for {target.dtype}"


def _product(node: Product, scope: Scope) -> Iterator[str]:
    factors = node.left, node.right
    for factor in factors:
        if factor.op != "load" or factor.dtype not in HALF_TYPES:
            yield f"it multiplies {factor}, which is no load of a half type"
        yield from scope.faults(factor)
    if node.left.dtype != node.right.dtype:
        yield f"it multiplies {node.left.dtype} by {node.right.dtype}"
    outer = replace(scope, axes=node.axes, locals={node.sum: "float32"})
    results = zip(node.buffers, node.targets, node.values, strict=True)
    for buffer, target, value in results:
        yield from outer.faults(value)
        yield from store_faults(buffer, target, value, "set", None, _writing(outer))


def _writing(scope: Scope) -> Scope:
    """Return the scope of targets, which read nothing."""
    return replace(scope, buffers={}, locals={})


def _scatter(
    node: Scatter, buffers: Mapping[str, Buffer], scope: Scope
) -> Iterator[str]:
    base = buffers.get(node.base)
    if base is None:
        yield f"its base {node.base} is not there"
    elif (base.shape, base.dtype) != (node.buffer.shape, node.buffer.dtype):
        yield f"its base {node.base} has another shape or type"
    yield from store_faults(
        node.buffer, node.target, node.value, node.mode, node.condition, scope
    )


def store_faults(
    buffer: Buffer,
    target: Sequence[Expression],
    value: Expression,
    mode: str,
    condition: Expression | None,
    scope: Scope,
) -> Iterator[str]:
    """Yield what is wrong with a write of a value at a target."""
    if mode not in ("set", *SCATTERS):
        yield f"the mode {mode} is unknown"
    if value.dtype != buffer.dtype:
        yield f"a value of {value.dtype} for {buffer.name} of {buffer.dtype}"
    if len(target) != len(buffer.shape):
        yield f"{len(target)} indices into {buffer.name} of {len(buffer.shape)} dims"
        return
    for place, extent in zip(target, buffer.shape, strict=True):
        yield from scope.faults(place)
        if place.dtype != INDEX:
            yield f"{buffer.name} is written at a value of type {place.dtype}"
        elif condition is None and scope.leaves(place, extent):
            yield f"a write at {tuple(target)} leaves {buffer.name} of {buffer.shape}"
    if condition is not None:
        yield from scope.faults(condition)
        if condition.dtype != "bool":
            yield f"the condition of a write is {condition.dtype}"


def axes_faults(axes: Sequence[Axis], symbols: frozenset[Expression]) -> Iterator[str]:
    """Yield what is wrong with loops."""
    digits = [axis.digit for axis in axes]
    if any(digit.op != "digit" for digit in digits) or len(set(digits)) != len(digits):
        yield f"loops over {digits}, which are not distinct digits"
    for axis in axes:
        if axis.extent.dtype != INDEX or leaves("digit", axis.extent):
            yield f"the loop over {axis.digit} has the extent {axis.extent}"
        yield from Scope({}, (), symbols).faults(axis.extent)


def _shaped(shape: Sequence[Expression], axes: Sequence[Axis]) -> Iterator[str]:
    extents = tuple(axis.extent for axis in axes)
    if extents != tuple(shape):
        yield f"loops over {extents} fill an array of shape {tuple(shape)}"


def reduction_faults(
    reducer: str, values: Sequence[Expression], results: Sequence[str]
) -> Iterator[str]:
    """Yield what is wrong with a reduction's values and types of results."""
    if reducer not in REDUCERS:
        yield f"the reducer {reducer} is unknown"
        return
    takes, gives = REDUCERS[reducer]
    if (len(values), len(results)) != (takes, gives):
        yield f"{reducer} takes {takes} and gives {gives}"
        return
    kind = values[0].dtype
    wanted = "int64" if reducer.startswith("arg") else kind
    if reducer in ("any", "all") and kind != "bool":
        yield f"{reducer} of {kind}"
    elif kind == "bool" and reducer not in ("any", "all", "xor"):
        yield f"{reducer} of truth values"
    elif kind in ("float16", "bfloat16") and not reducer.startswith(("m", "arg")):
        yield f"{reducer} accumulates in {kind}"
    if any(result != wanted for result in results):
        yield f"{reducer} of {kind} gives {wanted}, not {list(results)}"


def scan_faults(kind: str, value: Expression, results: Sequence[str]) -> Iterator[str]:
    """Yield what is wrong with a scan's value and types of results."""
    if kind not in SCANS:
        yield f"the scan {kind} is unknown"
        return
    wanted = [value.dtype] + ["int64"] * kind.startswith("arg")
    if list(results) != wanted:
        yield f"a scan {kind} of {value.dtype} gives {wanted}, not {list(results)}"
    if value.dtype in ("float16", "bfloat16") and kind in ("sum", "product"):
        yield f"a scan accumulates in {value.dtype}"


def _alias(node: Alias, buffers: Mapping[str, Buffer]) -> Iterator[str]:
    base = buffers.get(node.base)
    if base is None:
        yield f"its base {node.base} is not there"
        return
    if node.buffer.strides is None:
        yield "a view has no strides"
    elif base.dtype in VALUE_TYPES and node.buffer.dtype in VALUE_TYPES:
        if bits(base.dtype) != bits(node.buffer.dtype):
            yield f"a view of {base.dtype} as {node.buffer.dtype}"
        if base.strides is not None and base.offset is None:
            room, reach = _reach(base), _reach(node.buffer)
            if room is not None and reach is not None and reach > room:
                yield f"a view reaches element {reach} of {room + 1} of {node.base}"


def _reach(buffer: Buffer) -> int | None:
    """Return the position of the last element in memory, None where not known."""
    total = 0 if buffer.offset is None else constant_value(buffer.offset)
    for extent, stride in zip(buffer.shape, buffer.strides or (), strict=True):
        size, step = constant_value(extent), constant_value(stride)
        if size is None or step is None or total is None or size == 0:
            return None
        total += (size - 1) * step
    return total


def references(value: Any) -> Iterator[str]:
    """Yield the names of arrays among nested arguments of an extern call."""
    if isinstance(value, Reference):
        yield value.name
    elif isinstance(value, Mapping):
        yield from references(tuple(value.values()))
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from references(item)
