"""Evaluate a kernel lane-symbolically: one run stands for all programs and lanes.

The machine walks the operations of a function once (a loop's body a few times, see
``control``), keeps a ``Tensor`` for each SSA value, and notes every access to memory
with the condition under which it happens.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from verify.mlir import (
    Block,
    Function,
    Module,
    Operation,
    PointerType,
    Type,
    element_of,
    shape_of,
)
from verify.symbolic.terms import BOOL as BOOL_SORT
from verify.symbolic.terms import (
    TRUE,
    ZERO,
    Term,
    conjoin,
    opaque,
    pointer,
    symbol,
    truth_symbol,
)

from .program import Access, Buffers, Claim, Program, Unsupported
from .tensor import (
    Tensor,
    TooDeepError,
    Value,
    lanes_of,
    range_of,
    scalar,
    sort_of,
    typed,
)

Handler = Callable[["Machine", Operation, Sequence[Value]], Sequence[Value]]

PROGRAM = symbol("program")
"""Stands in what differs from program to program although no program id is in it."""

MAX_PROGRAMS = 2**31 - 1
"""Largest extent of a grid along an axis."""


class UnsupportedError(Exception):
    """An operation has no meaning here; carries what and where."""


@dataclass(frozen=True, slots=True)
class Assertion:
    """A condition on lanes; where it does not hold the program ends.

    Attributes:
        condition: What holds afterwards, for all values of its lanes.
        guard: Under which it was reached.
        loops: Iteration numbers of the loops around it.
    """

    condition: Term
    guard: tuple[Term, ...]
    loops: tuple[Term, ...]


class Machine:
    """State of an evaluation.

    Attributes:
        program: What has been found so far.
        environment: SSA name -> value.
        guard: Conditions under which the present statement is reached.
        loops: Iteration numbers of the loops around it.
        written: Buffers that have been stored to before.
        recording: Whether accesses are noted; not while a loop's form is sought.
        assertions: What was asserted so far.
    """

    def __init__(
        self,
        module: Module,
        function: Function,
        buffers: Buffers,
        scalars: Mapping[str, Term],
        programs: Mapping[str, Term] | None = None,
    ) -> None:
        self.module = module
        self.program_ids = programs or {}
        self.program = Program(module, function.name)
        self.buffers = buffers
        self.environment: dict[str, Value] = {}
        self.guard: tuple[Term, ...] = ()
        self.loops: tuple[Term, ...] = ()
        self.written: dict[str, int] = {}
        self.recording = True
        self.assertions: list[Assertion] = []
        self.calls = 0
        self.numbers: dict[str, int] = {}
        self._load_arguments(function, scalars)

    def _load_arguments(self, function: Function, scalars: Mapping[str, Term]) -> None:
        for argument in function.arguments:
            name = argument.name[1:]
            kind = argument.type
            divisor = argument.attributes.get("tt.divisibility")
            if isinstance(divisor, int):
                self.program.divisible[name] = divisor
            if isinstance(kind, PointerType):
                term = pointer(self.buffers.get(name, name), ZERO)
            elif sort_of(kind) == BOOL_SORT:
                term = truth_symbol(name)
                self.program.scalars[name] = term
            elif range_of(kind)[0] is not None:
                term = scalars.get(name) or symbol(name, *range_of(kind))
                self.program.scalars[name] = term
            else:
                term = opaque(sort_of(kind), "argument", (name, str(kind)))
            self.environment[argument.name] = scalar(kind, term)

    def number(self, what: str) -> int:
        """Return the next number of a kind of thing, from 0."""
        found = self.numbers.get(what, 0)
        self.numbers[what] = found + 1
        return found

    def value(self, name: str, operation: Operation) -> Value:
        """Return the value of an SSA name.

        Raises:
            UnsupportedError: it is used before it is defined.
        """
        try:
            return self.environment[name]
        except KeyError:
            message = f"{operation.name} uses {name}, which is not defined before it"
            raise UnsupportedError(message) from None

    def tensor(self, value: Value, operation: Operation) -> Tensor:
        """Return a value that must be a tensor or a scalar."""
        if isinstance(value, Tensor):
            return value
        raise UnsupportedError(f"{operation.name} of a descriptor")

    def run_block(self, block: Block) -> tuple[Operation | None, tuple[Value, ...]]:
        """Run a block; return its terminator and the terminator's operands."""
        for operation in block.body:
            self.run(operation)
        last = block.terminator
        if last is None:
            return None, ()
        return last, tuple(self.value(name, last) for name in last.operands)

    def run(self, operation: Operation) -> None:
        """Run one operation that is no terminator."""
        from .hints import HINTS, note_hints
        from .operations import handler_of

        handler = handler_of(operation.name)
        operands = [self.value(name, operation) for name in operation.operands]
        if handler is None:
            results = self.not_modelled(operation, operands)
        else:
            results = handler(self, operation, operands)
        for name, value in zip(operation.results, results, strict=True):
            self.environment[name] = value
        if self.recording and any(name in operation.attributes for name in HINTS):
            note_hints(self, operation, results)

    def not_modelled(
        self, operation: Operation, operands: Sequence[Value]
    ) -> Sequence[Value]:
        """Return results of which nothing is known; note it if memory may be touched.

        Nothing is known of what the operation does to pointers either: it must not
        give or take one without being noted.
        """
        pure = operation.name.partition(".")[0] in ("arith", "math", "ub")
        if not pure or operation.regions:
            self.unsupported(operation.name, operation)
        return [
            self.unknown(operation, self.result_kind(operation, i), index=i)
            for i in range(len(operation.results))
        ]

    def result_kind(self, operation: Operation, index: int) -> Type:
        """Return the type of a result, as far as the text says."""
        if operation.result_types:
            return operation.result_types[min(index, len(operation.result_types) - 1)]
        if operation.types:
            return operation.types[-1]
        raise UnsupportedError(f"{operation.name} without types")

    def unsupported(self, construct: str, operation: Operation) -> None:
        """Note a construct that may do anything to memory."""
        found = Unsupported(construct, self.program.source_of(operation))
        if found not in self.program.unsupported:
            self.program.unsupported.append(found)

    def unknown(
        self, operation: Operation, kind: Type, index: int = 0, why: str = ""
    ) -> Tensor:
        """Return a tensor whose elements are anything; they name the operation."""
        number = self.number("unknown")
        name = why or operation.name
        source = self.program.source_of(operation)
        loops = self.loops
        element = element_of(kind)

        def at(coordinates: tuple[Term, ...]) -> Term:
            where = (name, source, number, index, PROGRAM, *loops, *coordinates)
            if isinstance(element, PointerType):
                offset = opaque("int", "unsupported", where)
                return pointer(f"unknown:{name}", offset)
            return opaque(sort_of(element), "unsupported", where, *range_of(element))

        return typed(kind, at)

    def program_id(self, axis: str) -> Term:
        """Return a program id: a symbol, or what the caller has for it."""
        if axis not in self.program.pids:
            pid = self.program_ids.get(axis, symbol(f"pid_{axis}", 0, MAX_PROGRAMS))
            self.program.pids[axis] = pid
        return self.program.pids[axis]

    def programs(self, axis: str) -> Term:
        """Return the symbol of the number of programs along an axis."""
        if axis not in self.program.grid:
            self.program.grid[axis] = symbol(f"grid_{axis}", 0, MAX_PROGRAMS)
        return self.program.grid[axis]

    def epoch(self, buffer: str) -> tuple[int | Term, ...] | int:
        """Return when a read of a buffer happens: 0 before any store to it."""
        count = self.written.get(buffer)
        return 0 if count is None else (count, PROGRAM, *self.loops)

    def access(
        self,
        kind: str,
        operation: Operation,
        where: Tensor,
        mask: Tensor | None,
        value: Tensor | None = None,
        bounds: Term = TRUE,
    ) -> None:
        """Note an access to memory.

        Args:
            kind: ``load``, ``store`` or ``atomic``.
            operation: The operation.
            where: Pointers.
            mask: Which lanes take part; ``None`` = all.
            value: What is stored.
            bounds: A further condition on the lane, of a descriptor's window.
        """
        lanes = lanes_of(where.shape)
        term = where.term()
        if kind != "load":
            self.note_written(term)
        if not self.recording:
            return
        masked = TRUE
        if mask is not None:
            masked = mask.term()
        self.program.accesses.append(
            Access(
                kind=kind,
                pointer=term,
                mask=conjoin(bounds, masked),
                guard=conjoin(*self.guard),
                lanes=lanes,
                loops=self.loops,
                value=value,
                element=pointee_of(where.element),
                operation=operation,
                order=self.number("access"),
                asserted=self.asserted(),
            )
        )

    def asserted(self) -> Term:
        """Return what assertions that were passed say; it holds at all lanes."""
        return conjoin(
            *(
                one.condition
                for one in self.assertions
                if one.guard == self.guard[: len(one.guard)]
                and one.loops == self.loops[: len(one.loops)]
            )
        )

    def note_written(self, term: Term) -> None:
        """Note that the buffers behind a pointer are stored to."""
        for buffer, _, _ in alternatives(term):
            self.written[buffer] = self.written.get(buffer, 0) + 1

    def claim(
        self, kind: str, operation: Operation, condition: Term, text: str
    ) -> None:
        """Note a promise of the program, to be proved."""
        if self.recording and condition is not TRUE:
            guard = conjoin(*self.guard)
            self.program.claims.append(Claim(kind, condition, guard, text, operation))


def pointee_of(kind: Type) -> Type:
    """Return what a pointer points to; of another type itself."""
    kind = element_of(kind)
    return element_of(kind.pointee) if isinstance(kind, PointerType) else kind


def alternatives(term: Term) -> list[tuple[str, Term, Term]]:
    """Return ``(buffer, offset, condition)`` for each buffer a pointer may be in."""
    found: list[tuple[str, Term, Term]] = []

    def visit(node: Term, condition: Term) -> None:
        from verify.symbolic.terms import invert

        if node.kind == "pointer":
            found.append((node.args[0], node.args[1], condition))
        elif node.kind == "ite":
            test, then, other = node.args
            visit(then, conjoin(condition, test))
            visit(other, conjoin(condition, invert(test)))
        elif node.kind == "beside":
            visit(node.args[0], condition)
        else:
            found.append((f"unknown:{node.args[0]}", ZERO, condition))

    visit(term, TRUE)
    return found


def evaluate(
    module: Module,
    name: str | None = None,
    buffers: Mapping[str, str] | None = None,
    scalars: Mapping[str, Term] | None = None,
    programs: Mapping[str, Term] | None = None,
) -> Program:
    """Evaluate a kernel of a module.

    Args:
        module: TTIR, as ``verify.mlir.read_module`` gives it.
        name: The function; default the only public one.
        buffers: Pointer parameter -> name of its buffer, where two parameters share
            one; default each has its own.
        scalars: Integer parameter -> its value; default a symbol of its type's range.
        programs: Axis -> program id; default a symbol.

    Returns:
        The program; what has no meaning here is in ``unsupported``, or stands in the
        terms as an opaque value that names it.

    Raises:
        ValueError: there is no such function, or several that could be meant.
    """
    from .control import run_function

    function = function_of(module, name)
    machine = Machine(module, function, buffers or {}, scalars or {}, programs)
    with deep_recursion():
        try:
            run_function(machine, function)
        except UnsupportedError as error:
            machine.program.unsupported.append(Unsupported(str(error), ""))
        except (TooDeepError, RecursionError):
            reason = "an address or a loop that depends on too many elements"
            machine.program.unsupported.append(Unsupported(reason, ""))
    return machine.program


MAX_FRAMES = 12_000
"""Python frames that the definition of an element may take: chains are long."""


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Allow deep definitions in the block."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, MAX_FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def function_of(module: Module, name: str | None) -> Function:
    """Return the function that is meant.

    Raises:
        ValueError: there is no such function, or several that could be meant.
    """
    public = [f.name for f in module.functions.values() if f.public and f.body.blocks]
    if name is None:
        if len(public) != 1:
            raise ValueError(
                f"needed a module with one public function, got {public}; name one"
            )
        name = public[0]
    if name not in module.functions:
        raise ValueError(
            f"needed a function of the module, got {name!r}; it has {public}"
        )
    return module.functions[name]


def shape_and_element(kind: Type) -> tuple[tuple[int, ...], Type]:
    """Return the shape and the element's type."""
    return shape_of(kind), element_of(kind)
