"""What evaluating a kernel gives: its accesses to memory, and what it claims."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from verify.mlir import Module, Operation, Type
from verify.symbolic.terms import TRUE, Term

from .tensor import Tensor

LOAD = "load"
STORE = "store"
ATOMIC = "atomic"


@dataclass(frozen=True, slots=True)
class Access:
    """One load, store or atomic, for all programs, iterations and lanes at once.

    Attributes:
        kind: ``load``, ``store`` or ``atomic``.
        pointer: Where, a pointer.
        mask: Whether a lane takes part.
        guard: Whether the statement is reached: branches and loops around it.
        lanes: Coordinates in the block that is accessed.
        loops: Iteration numbers of the loops around it, outermost first.
        value: What is stored.
        element: Type of an element.
        operation: The operation.
        order: Place in the program's order.
        asserted: What assertions before it say, at all lanes: where one fails, the
            program has ended.
    """

    kind: str
    pointer: Term
    mask: Term
    guard: Term
    lanes: tuple[Term, ...]
    loops: tuple[Term, ...]
    value: Tensor | None
    element: Type
    operation: Operation
    order: int
    asserted: Term = TRUE


@dataclass(frozen=True, slots=True)
class Claim:
    """Something that the program promises and nobody checks at run time.

    Attributes:
        kind: ``alignment``, ``assume`` or ``index``.
        condition: What has to hold.
        guard: Where it has to hold.
        text: For a person.
        operation: The operation that claims it.
    """

    kind: str
    condition: Term
    guard: Term
    text: str
    operation: Operation


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A construct without a meaning here, which may do anything to memory."""

    construct: str
    source: str


@dataclass(frozen=True, slots=True)
class LoopRecord:
    """A loop-carried value without a closed form.

    Attributes:
        index: Which of the loop's carried values.
        initial: Before the loop.
        placeholder: At the start of an iteration.
        carried: At its end, in terms of the placeholder.
        iteration: The iteration number.
        guard: Whether the iteration takes place.
        trips: Number of iterations.
    """

    index: int
    initial: Tensor
    placeholder: Tensor
    carried: Tensor
    iteration: Term
    guard: Term
    trips: Term


@dataclass(slots=True)
class Program:
    """A kernel, evaluated.

    Attributes:
        module: The text's tree.
        name: The function's name.
        scalars: Parameter -> its symbol.
        pids: Axis -> program id, of the axes that the kernel reads.
        grid: Axis -> symbol of the number of programs.
        accesses: In program order.
        claims: Promises.
        unsupported: Constructs that may touch memory and have no meaning here.
        loops: Loop -> what it carries; keyed by the loop's number and the place.
        divisible: Parameter -> number that the launcher promises to divide it.
    """

    module: Module
    name: str
    scalars: dict[str, Term] = field(default_factory=dict)
    pids: dict[str, Term] = field(default_factory=dict)
    grid: dict[str, Term] = field(default_factory=dict)
    accesses: list[Access] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    unsupported: list[Unsupported] = field(default_factory=list)
    loops: dict[tuple[int, int], LoopRecord] = field(default_factory=dict)
    divisible: dict[str, int] = field(default_factory=dict)

    def source_of(self, operation: Operation) -> str:
        """Return the source line of an operation."""
        return self.module.source_of(operation)


Buffers = Mapping[str, str]
"""Parameter that is a pointer -> name of the buffer behind it."""
