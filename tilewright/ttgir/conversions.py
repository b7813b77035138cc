"""Each ``ttg.convert_layout`` of a TTGIR dump: what it moves, what it costs, and why.

A conversion stands where two anchors want their elements in different places: a load
or store that is coalesced, a reduction whose result is a slice, a matrix instruction.
The anchors are found by following what moves nothing, up from the operand and down
from the result.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from algebra.encodings import Encoding
from algebra.errors import LayoutError
from algebra.layout import LinearLayout
from algebra.ttgir import parse_encoding
from compiler.convert import classify, plan
from compiler.convert.classify import Movement
from compiler.cost import device
from verify.mlir import Module, Operation, TensorType
from verify.mlir.locations import described

ANCHORS = (
    *("tt.load", "tt.store", "tt.reduce", "tt.scan", "tt.gather", "tt.dot"),
    *("ttng.warp_group_dot", "ttng.warp_group_dot_wait", "ttg.local_load"),
    *("ttg.local_alloc", "ttg.local_store", "tt.histogram", "tt.atomic_rmw"),
    *("tt.descriptor_load", "tt.descriptor_store", "ttg.async_copy_global_to_local"),
)
MOST_STEPS = 200


@dataclass(frozen=True, slots=True)
class Left:
    """A conversion that is left in a kernel.

    Attributes:
        line: Line of the dump.
        location: Line of the source, empty if unknown.
        shape: Of the tensor [elements].
        element_bits: Size of an element [bits].
        src: Encoding before.
        dst: Encoding after.
        movement: How far elements go, in words.
        moves: Whether elements change their thread.
        way: Steps of the cheapest plan; empty if there is none.
        cost: Of that plan [cycles of a multiprocessor for a warp].
        depth: Loops around it.
        sources: Anchors that the operand comes from.
        users: Anchors that the result goes to.
    """

    line: int
    location: str
    shape: tuple[int, ...]
    element_bits: int
    src: Encoding
    dst: Encoding
    movement: str
    moves: bool
    way: str
    cost: float
    depth: int
    sources: tuple[str, ...]
    users: tuple[str, ...]

    @property
    def why(self) -> str:
        """The anchors that disagree, in words."""
        before = ", ".join(self.sources) or "what is computed"
        after = ", ".join(self.users) or "what is computed"
        return f"{before} has it in one place, {after} wants it in another"


def conversions_left(module: Module, target: str = "sm_90") -> list[Left]:
    """Return the conversions of all functions, in order.

    Args:
        module: What ``verify.mlir.read_module`` returned for TTGIR.
        target: What costs are for; as in ``compiler.convert.plan``.

    Raises:
        LayoutError: an encoding, or the target, is unknown.
    """
    device(target)
    return [
        _left(module, operation, depth, links, target)
        for function in module.functions.values()
        for links in [Links(list(walk(function.body.blocks)))]
        for operation, depth in links.operations
        if operation.name == "ttg.convert_layout"
    ]


def walk(blocks: object, depth: int = 0) -> Iterator[tuple[Operation, int]]:
    """Yield all operations with the number of loops around them."""
    for block in blocks:  # type: ignore[attr-defined]
        for operation in block.operations:
            yield operation, depth
            inside = depth + operation.name.startswith("scf.")
            if operation.name not in ("tt.reduce", "tt.scan"):
                for region in operation.regions:
                    yield from walk(region.blocks, inside)


class Links:
    """Who makes and who uses each value.

    Attributes:
        operations: All, with the loops around them.
        maker: Value -> the operation that makes it.
        users: Value -> the operations that use it.
    """

    def __init__(self, operations: list[tuple[Operation, int]]) -> None:
        self.operations = operations
        self.maker: dict[str, Operation] = {}
        self.users: dict[str, list[Operation]] = {}
        for operation, _ in operations:
            for name in operation.results:
                self.maker[name] = operation
            for name in operation.operands:
                self.users.setdefault(name, []).append(operation)

    def sources(self, value: str) -> tuple[str, ...]:
        """Return the names of the anchors that a value comes from."""
        return self._follow(value, self._up)

    def ends(self, value: str) -> tuple[str, ...]:
        """Return the names of the anchors that a value goes to."""
        return self._follow(value, self._down)

    def _up(self, value: str) -> list[tuple[Operation, tuple[str, ...]]]:
        made = self.maker.get(value)
        return [] if made is None else [(made, made.operands)]

    def _down(self, value: str) -> list[tuple[Operation, tuple[str, ...]]]:
        return [(user, user.results) for user in self.users.get(value, [])]

    def _follow(self, value: str, way: object) -> tuple[str, ...]:
        found: dict[str, None] = {}
        seen = {value}
        stack = [value]
        while stack and len(seen) < MOST_STEPS:
            for operation, more in way(stack.pop()):  # type: ignore[operator]
                if operation.name in ANCHORS:
                    found[operation.name] = None
                    continue
                stack += [name for name in more if name not in seen]
                seen.update(more)
        return tuple(found)


def encoding_of(module: Module, kind: TensorType) -> Encoding:
    """Return the encoding of a tensor, aliases filled in.

    Raises:
        ParseError: it is unknown.
    """
    return parse_encoding(spelled(kind.encoding, module.aliases))


def spelled(text: str, aliases: Mapping[str, str]) -> str:
    """Return an attribute's text with its aliases replaced.

    Example:
        >>> spelled("#ttg.slice<{dim = 0, parent = #b}>", {"#b": "#ttg.blocked<{}>"})
        '#ttg.slice<{dim = 0, parent = #ttg.blocked<{}>}>'
    """
    for _ in range(len(aliases) + 1):
        new = re.sub(r"#[A-Za-z_]\w*(?![\w.])", lambda m: aliases.get(m[0], m[0]), text)
        if new == text:
            break
        text = new
    return text


def layout_of(module: Module, kind: TensorType) -> LinearLayout:
    """Return the linear layout of a tensor."""
    return encoding_of(module, kind).to_linear_layout(kind.shape)


def _left(
    module: Module, operation: Operation, depth: int, links: Links, target: str
) -> Left:
    before, after = operation.types[0], operation.result_type()
    assert isinstance(before, TensorType) and isinstance(after, TensorType)
    src, dst = layout_of(module, before), layout_of(module, after)
    width = max(8, getattr(before.element, "bits", 64) or 64)
    conversion = classify(src, dst)
    moves = conversion.movement not in (Movement.NOTHING, Movement.REGISTERS)
    try:
        found = plan(src, dst, width, target)
        way, cost = found.way, found.cost
    except LayoutError:
        way, cost = "", 0.0
    return Left(
        operation.line,
        described(operation.location, module.locations),
        before.shape,
        width,
        encoding_of(module, before),
        encoding_of(module, after),
        conversion.movement.value,
        moves,
        way,
        cost,
        depth,
        links.sources(operation.operands[0]),
        links.ends(operation.results[0]),
    )
