"""The tree that the reader makes of a text: modules, functions, regions, operations."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .locations import Location, described
from .types import Type


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a function or block.

    Attributes:
        name: With ``%``.
        type: Its type.
        attributes: E.g. ``{"tt.divisibility": 16}``.
        location: Where the source names it.
    """

    name: str
    type: Type
    attributes: Mapping[str, Any] = field(default_factory=dict)
    location: Location = field(default_factory=Location)


@dataclass(frozen=True, slots=True)
class Successor:
    """A block that a branch goes to, and the values that it hands over."""

    block: str
    operands: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation, of any dialect.

    Attributes:
        name: E.g. ``arith.addi``.
        results: Names of its results, ``%m#0`` and ``%m#1`` for ``%m:2``.
        operands: Names of the values that it uses, in the order of the text, outside
            its regions, without the left sides of ``bindings``.
        attributes: Its dictionary; ``value`` of a constant.
        words: Bare words, strings (without quotes), symbols and numbers, in order.
        bindings: ``(name, value)`` of each ``%name = %value`` within, as in
            ``iter_args``.
        types: Types before an arrow (or ``to``), or all where there is none.
        result_types: Types after the arrow.
        regions: Bodies.
        successors: Blocks that a branch goes to.
        line: Line of the text, from 1.
        location: Where the source has it.
    """

    name: str
    results: tuple[str, ...]
    operands: tuple[str, ...]
    attributes: Mapping[str, Any]
    words: tuple[str, ...]
    bindings: tuple[tuple[str, str], ...]
    types: tuple[Type, ...]
    result_types: tuple[Type, ...]
    regions: tuple["Region", ...]
    successors: tuple[Successor, ...]
    line: int
    location: Location

    def result_type(self, index: int = 0) -> Type:
        """Return the type of a result: after the arrow, or the only one there is."""
        if self.result_types:
            return self.result_types[index]
        return self.types[-1]


TERMINATORS = frozenset(
    {
        "cf.br",
        "cf.cond_br",
        "cf.switch",
        "func.return",
        "scf.condition",
        "scf.reduce",
        "scf.yield",
        "tt.map_elementwise.return",
        "tt.reduce.return",
        "tt.return",
        "tt.scan.return",
        "ttg.warp_return",
        "ttg.warp_yield",
        "llvm.unreachable",
        "ub.unreachable",
    }
)
"""Operations that end a block; a terminator without operands may be left out."""


@dataclass(frozen=True, slots=True)
class Block:
    """A straight line of operations.

    Attributes:
        label: With ``^``; empty for an entry block that has none.
        arguments: Its arguments.
        operations: In order; the last one may be a terminator.
    """

    label: str
    arguments: tuple[Argument, ...]
    operations: tuple[Operation, ...]

    @property
    def terminator(self) -> Operation | None:
        """The operation that ends the block; ``None`` where it is left out."""
        if self.operations and self.operations[-1].name in TERMINATORS:
            return self.operations[-1]
        return None

    @property
    def body(self) -> tuple[Operation, ...]:
        """The operations before the terminator."""
        return self.operations[: -1 if self.terminator is not None else None]


@dataclass(frozen=True, slots=True)
class Region:
    """Blocks, entry first."""

    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Function:
    """A ``tt.func``.

    Attributes:
        name: Without ``@``.
        arguments: Its arguments.
        results: Types of its results.
        body: Its blocks; a declaration has none.
        public: Whether it is an entry point.
        attributes: What ``attributes {...}`` holds.
        line: Line of the text, from 1.
    """

    name: str
    arguments: tuple[Argument, ...]
    results: tuple[Type, ...]
    body: Region
    public: bool
    attributes: Mapping[str, Any]
    line: int


@dataclass(frozen=True, slots=True)
class Module:
    """A text.

    Attributes:
        functions: By name, in the order of the text.
        attributes: Of the module, e.g. ``{"ttg.num-warps": 4}``.
        aliases: ``#blocked`` -> text of the attribute.
        locations: ``#loc7`` -> location.
    """

    functions: Mapping[str, Function]
    attributes: Mapping[str, Any]
    aliases: Mapping[str, str]
    locations: Mapping[str, Location]

    def source_of(self, operation: Operation) -> str:
        """Return ``file.py:line:column`` where the text says so, else its own line."""
        found = described(operation.location, self.locations)
        return found or f"line {operation.line}"


def operations_of(region: Region) -> Iterator[Operation]:
    """Yield each operation of a region and of the regions inside, outermost first."""
    for block in region.blocks:
        for operation in block.operations:
            yield operation
            for inner in operation.regions:
                yield from operations_of(inner)
