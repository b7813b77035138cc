"""Whether an expression is well formed: types, leaves, reads, decided bounds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from .expression import INDEX, VALUE_TYPES, Expression, nodes
from .index import constant_value
from .node import Axis, Buffer
from .operations import OPERATIONS
from .ranges import Ranges
from .scalar import bits

_LEAVES = ("constant", "symbol", "digit", "local", "load")
_INDEX_OPERATIONS = ("add", "mul", "floordiv", "mod", "minimum", "maximum")


@dataclass
class Scope:
    """What an expression may mention.

    Attributes:
        buffers: Arrays that can be read, by name.
        axes: Loops around it.
        symbols: Known sizes.
        locals: Results of earlier stages: name -> type.
    """

    buffers: Mapping[str, Buffer]
    axes: Sequence[Axis]
    symbols: frozenset[Expression]
    locals: Mapping[str, str] = field(default_factory=dict)

    def faults(self, root: Expression) -> Iterator[str]:
        """Yield what is wrong with an expression, in words."""
        digits = {axis.digit for axis in self.axes}
        guarded = _guarded(root)
        for node in nodes(root):
            if node.op == "digit" and node not in digits:
                yield f"the digit {node} belongs to no loop around it"
            elif node.op == "symbol" and node not in self.symbols:
                yield f"the size {node} is not among the inputs"
            elif node.op == "local":
                known = self.locals.get(str(node.data))
                if known is None:
                    yield f"the local {node} is read before its stage"
                elif known != node.dtype:
                    yield f"the local {node} is {known}, read as {node.dtype}"
            elif node.op == "load":
                yield from self._read(node, node not in guarded)
            else:
                yield from _typed(node)

    def _read(self, node: Expression, always: bool) -> Iterator[str]:
        buffer = self.buffers.get(str(node.data))
        if buffer is None:
            yield f"{node} reads an array that is not there"
            return
        if buffer.dtype != node.dtype:
            yield f"{node} reads {buffer.dtype} as {node.dtype}"
        if len(node.args) != len(buffer.shape):
            yield f"{node} has {len(node.args)} indices, not {len(buffer.shape)}"
            return
        for place, extent in zip(node.args, buffer.shape, strict=True):
            if place.dtype != INDEX:
                yield f"{node} is read at a value of type {place.dtype}"
            elif always and self.leaves(place, extent):
                yield f"{node} leaves its array of shape {buffer.shape}"

    def leaves(self, place: Expression, extent: Expression) -> bool:
        """Return whether an index certainly leaves [0, extent) somewhere.

        Decided where all is constant and each digit occurs once; what is not decided
        here is an obligation for the solver.
        """
        extents = {axis.digit: axis.extent for axis in self.axes}
        digits = [node for node in nodes(place) if node.op == "digit"]
        if any(constant_value(extents.get(digit, 0)) == 0 for digit in digits):
            return False  # the loops run never
        if any(constant_value(axis.extent) in (0, None) for axis in self.axes):
            return False
        if any(
            node.op not in ("constant", "digit", "add", "mul") for node in nodes(place)
        ):
            return False
        low, high = Ranges(extents).bounds(place)
        if low is None or high is None:
            return False
        least, most = constant_value(low), constant_value(high)
        room = constant_value(extent)
        if least is None or most is None or room is None:
            return False
        return least < 0 or most >= room


def _guarded(root: Expression) -> set[Expression]:
    """Return the nodes that are evaluated under a condition only."""
    always: set[int] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if id(node) in always:
            continue
        always.add(id(node))
        stack += (node.args[0], node.args[2]) if node.op == "guard" else node.args
    return {node for node in nodes(root) if id(node) not in always}


def _typed(node: Expression) -> Iterator[str]:
    """Yield what is wrong with the types of an operation or a constant."""
    types = [arg.dtype for arg in node.args]
    if node.op in _LEAVES:
        good = node.dtype == INDEX if node.op != "constant" else True
        if not good:
            yield f"{node} has type {node.dtype}"
    elif node.dtype == INDEX and node.op in _INDEX_OPERATIONS:
        if any(kind != INDEX for kind in types):
            yield f"{node.op} of indices has operands {types}"
        divisor = constant_value(node.args[-1]) if node.op in ("floordiv", "mod") else 1
        if divisor is not None and divisor <= 0:
            yield f"{node} divides by {divisor}"
    elif node.op == "checked_index":
        if node.dtype != INDEX or types[1] != INDEX or "int" not in types[0]:
            yield f"{node} takes an integer and an extent, got {types}"
    elif node.op == "from_index":
        if types != [INDEX] or node.dtype not in VALUE_TYPES:
            yield f"{node} makes {node.dtype} of {types}"
    elif node.op in ("cast", "bitcast"):
        if types[0] not in VALUE_TYPES or node.dtype not in VALUE_TYPES:
            yield f"{node} casts {types[0]} to {node.dtype}"
        elif node.op == "bitcast" and bits(types[0]) != bits(node.dtype):
            yield f"{node} reads {types[0]} as the wider or narrower {node.dtype}"
    elif node.op == "random_bits":
        if types != ["int64", "int64"] or node.dtype != "int32":
            yield f"{node} takes two int64 and gives int32, got {types}"
    else:
        yield from _operation(node, types)


def _operation(node: Expression, types: Sequence[str]) -> Iterator[str]:
    row = OPERATIONS.get(node.op)
    if row is None or row.arity != len(types):
        yield f"no operation {node.op} of {len(types)} operands"
        return
    typed = types[1:] if node.op in ("where", "guard") else types
    if len(set(typed)) != 1 or typed[0] not in VALUE_TYPES:
        yield f"operands of {node.op} have types {list(types)}"
        return
    wanted = "bool" if row.result == "bool" else typed[0]
    if node.dtype != wanted:
        yield f"{node.op} of {typed[0]} gives {wanted}, not {node.dtype}"
    if node.op in ("where", "guard"):
        if types[0] != "bool":
            yield f"the condition of {node.op} is {types[0]}"
    elif typed[0] in ("float16", "bfloat16"):
        yield f"{node.op} computes in {typed[0]}; cast to float32 first"
