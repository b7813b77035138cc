"""A kernel with what its caller promises: the facts under which obligations are proved.

The setting holds the evaluated program, the extent of each buffer, the grid, and the
assumptions, all as terms; and it asks the solver.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from algebra.errors import ArgumentError
from verify.mlir import Operation, operations_of
from verify.symbolic.polynomial import Monomial
from verify.symbolic.question import Solver
from verify.symbolic.terms import (
    BOOL,
    FALSE,
    ONE,
    TRUE,
    ZERO,
    Term,
    add,
    at_most,
    choose,
    conjoin,
    constant,
    equal,
    less,
    mul,
    symbol,
)
from verify.symbolic.walk import nodes_of, substitute, symbols_of
from verify.ttir.machine import alternatives
from verify.ttir.program import Access, Program

from .arguments import Argument, Buffer, Scalar
from .expressions import parse_expression
from .lemmas import lemmas, size_monomials
from .programs import is_digit, limit

AXES = ("x", "y", "z")


@dataclass(frozen=True, slots=True)
class Memory:
    """A buffer in terms.

    Attributes:
        name: Parameter.
        shape: Extents.
        strides: Strides [elements].
        size: Number of elements from the first to the last, both included.
        writes: Whether each element must be written.
        low: Promise about the contents.
        high: Promise about the contents.
    """

    name: str
    shape: tuple[Term, ...]
    strides: tuple[Term, ...]
    size: Term
    writes: bool
    low: Term | None
    high: Term | None
    dense: bool


@dataclass(slots=True)
class Setting:
    """See the module.

    Attributes:
        program: The evaluated kernel.
        names: Name -> term, of scalars, sizes and constants.
        memories: Buffer -> what is known about it.
        assumptions: Facts about the scalars.
        texts: The assumptions in words.
        grid: Axis -> number of programs.
        limit: Limit of one question [seconds].
        deadline: When to stop asking, on the clock of ``time.perf_counter``.
        buffers: Pointer parameter -> the buffer that it shares with another.
        solver: Answers questions.
        lines: Line of the kernel's text -> operation.
        replaced: Symbol -> what stands for it in each question.
        floats: Buffers that hold floats.
    """

    program: Program
    names: Mapping[str, Term]
    memories: Mapping[str, Memory]
    assumptions: list[Term]
    texts: list[str]
    grid: Mapping[str, Term]
    limit: float
    deadline: float
    buffers: Mapping[str, str] = field(default_factory=dict)
    solver: Solver = field(default_factory=Solver)
    lines: dict[int, Operation] = field(default_factory=dict)
    replaced: Mapping[Term, Term] = field(default_factory=dict)
    floats: frozenset[str] = frozenset()

    def facts(self, formulas: Iterable[Term]) -> list[Term]:
        """Return the assumptions, and what holds of the symbols in ``formulas``."""
        found = list(self.assumptions)
        wanted: dict[Term, None] = {}
        for formula in (*found, *formulas):
            for node in symbols_of(formula):
                wanted[node] = None
        for node in sorted(wanted, key=lambda term: str(term.args[0])):
            found += self.facts_of(node)
        for formula in formulas:
            for node in nodes_of(formula):
                if node.kind == "read":
                    found += self.facts_of_read(node)
        return found

    def facts_of(self, node: Term) -> list[Term]:
        """Return what the launch says about a program id or a grid size."""
        name = str(node.args[0])
        kind, _, rest = name.partition("_")
        axis = rest[:1]
        if kind == "pid" and axis in AXES:
            if is_digit(name):
                return limit(node, self.program.pids[axis], self.grid[axis])
            return [less(node, self.grid[axis])]
        if kind == "grid" and axis in AXES:
            return [equal(node, self.grid[axis])]
        return []

    def facts_of_read(self, node: Term) -> list[Term]:
        """Return what is promised about the contents that a read sees."""
        memory = self.memories.get(node.args[0])
        if memory is None or node.args[1] != 0 or node.sort == BOOL:
            return []
        found = []
        if memory.low is not None:
            found.append(at_most(memory.low, node))
        if memory.high is not None:
            found.append(at_most(node, memory.high))
        return found

    def ask(
        self, formulas: Sequence[Term], limit: float | None = None
    ) -> dict[Term, int | bool] | bool | None:
        """Look for a launch, program and lanes with which all formulas hold."""
        if any(formula is FALSE for formula in formulas):
            return False
        left = self.deadline - time.perf_counter()
        if left <= 0:
            return None
        timeout = min(left, self.limit if limit is None else limit)
        parts = [f for f in (*self.facts(formulas), *formulas) if f is not TRUE]
        if self.replaced:
            memo: dict[Term, Term] = {}
            parts = [substitute(part, self.replaced, memo) for part in parts]
        parts += lemmas(parts, self.products(), self.shared)
        return self.solver.satisfy(parts, timeout)

    @property
    def shared(self) -> frozenset[Term]:
        """The symbols that all programs share."""
        found = {
            node
            for term in (
                *self.names.values(),
                *self.program.scalars.values(),
                *self.replaced.values(),
            )
            for node in symbols_of(term)
        }
        return frozenset(found) | frozenset(self.program.grid.values())

    def products(self) -> dict[Monomial, None]:
        """Return the products of sizes that buffers and assumptions mention."""
        return size_monomials(
            (*(m.size for m in self.memories.values()), *self.assumptions), self.shared
        )

    def reach(self, access: Access) -> Term:
        """Return the condition under which a lane takes part in an access."""
        return conjoin(access.guard, access.mask)

    def line(self, line: int) -> str:
        """Return the source line of a line of the kernel's text, where it is known."""
        if not self.lines:
            for function in self.program.module.functions.values():
                for operation in operations_of(function.body):
                    self.lines[operation.line] = operation
        found = self.lines.get(line)
        return self.program.source_of(found) if found is not None else ""


def placed(access: Access) -> list[tuple[str, Term, Term]]:
    """Return the buffers that an access may touch: name, offset, condition."""
    return alternatives(access.pointer)


def memory_of(name: str, buffer: Buffer, names: Mapping[str, Term]) -> Memory:
    """Return a buffer in terms.

    Raises:
        ArgumentError: shape and strides differ in number, or have unknown names.
    """
    shape = tuple(parse_expression(extent, names) for extent in buffer.extents)
    if buffer.strides is None:
        strides: list[Term] = []
        step: Term = ONE
        for extent in reversed(shape):
            strides.append(step)
            step = mul(step, extent)
        return Memory(
            name,
            shape,
            tuple(reversed(strides)),
            step,
            buffer.writes,
            *_contents(buffer, names),
            dense=True,
        )
    given = tuple(parse_expression(stride, names) for stride in buffer.strides)
    if len(given) != len(shape):
        raise ArgumentError(
            f"needed a stride for each of the {len(shape)} dims of {name}, got "
            f"strides={buffer.strides!r}",
            argument="strides",
            value=buffer.strides,
        )
    size: Term = ONE
    empty: Term = FALSE
    for extent, stride in zip(shape, given, strict=True):
        size = add(size, mul(add(extent, constant(-1)), stride))
        empty = _either(empty, at_most(extent, ZERO))
    return Memory(
        name,
        shape,
        given,
        choose(empty, ZERO, size),
        buffer.writes,
        *_contents(buffer, names),
        dense=False,
    )


def _either(a: Term, b: Term) -> Term:
    from verify.symbolic.terms import disjoin

    return disjoin(a, b)


def _contents(
    buffer: Buffer, names: Mapping[str, Term]
) -> tuple[Term | None, Term | None]:
    low = None if buffer.low is None else parse_expression(buffer.low, names)
    high = None if buffer.high is None else parse_expression(buffer.high, names)
    return low, high


def scalar_names(
    args: Mapping[str, Argument], constants: Mapping[str, object]
) -> dict[str, Term]:
    """Return what a name in an expression stands for."""
    names: dict[str, Term] = {}
    for name, value in constants.items():
        if isinstance(value, bool | int):
            names[name] = constant(int(value))
    for name, argument in args.items():
        if isinstance(argument, Scalar):
            span = argument.range()
            if span is not None:
                names[name] = symbol(name, *span)
    return names


def solved(
    names: Mapping[str, Term], assume: Sequence[str]
) -> tuple[dict[str, Term], list[Term]]:
    """Return the names with equations put in, and what the replaced names promised.

    ``"stride == N"`` lets ``stride`` stand for ``N`` everywhere: addresses become
    polynomials in the same symbols.
    """
    found = dict(names)
    ranges: list[Term] = []
    for text in assume:
        term = parse_expression(text, found)
        if term.kind != "eq":
            continue
        rest, zero = term.args
        if rest.kind == "mod" and zero is ZERO and rest.args[0].kind == "symbol":
            divided = rest.args[0]
            if rest.args[1].kind == "const":
                to = {divided: multiple_of(divided, rest.args[1].args[0])}
                found = {name: substitute(t, to) for name, t in found.items()}
                ranges = [substitute(t, to) for t in ranges]
            continue
        for one, other in (term.args, term.args[::-1]):
            if one.kind == "symbol" and one not in symbols_of(other):
                to = {one: other}
                found = {name: substitute(t, to) for name, t in found.items()}
                ranges = [substitute(t, to) for t in ranges]
                if one.low is not None:
                    ranges.append(at_most(constant(one.low), other))
                if one.high is not None:
                    ranges.append(at_most(other, constant(one.high)))
                break
    return found, ranges


def multiple_of(node: Term, divisor: int) -> Term:
    """Return a multiple of a divisor in the range of a symbol, as a term."""
    low = None if node.low is None else -(-node.low // divisor)
    high = None if node.high is None else node.high // divisor
    return mul(constant(divisor), symbol(f"{node.args[0]}/{divisor}", low, high))


def assumed(
    names: Mapping[str, Term],
    memories: Mapping[str, Memory],
    assume: Sequence[str],
) -> tuple[list[Term], list[str]]:
    """Return the facts about the scalars, and the ones that the caller gave in words.

    An extent of a tensor is not negative.
    """
    found: list[Term] = []
    texts = list(assume)
    for memory in memories.values():
        found += [at_most(ZERO, extent) for extent in memory.shape]
    for text in assume:
        term = parse_expression(text, names)
        if term.sort != BOOL:
            raise ArgumentError(
                f"needed a condition, got assume={text!r}; write a comparison",
                argument="assume",
                value=text,
            )
        found.append(term)
    return [fact for fact in dict.fromkeys(found) if fact is not TRUE], texts


def renamed(
    terms: Sequence[Term], keep: Iterable[Term], mark: str = "'"
) -> tuple[list[Term], dict[Term, Term]]:
    """Return a second copy of terms in which all symbols but some have new names.

    Args:
        terms: Any terms.
        keep: Symbols that both copies share, such as sizes.
        mark: What the names of the copy end in.
    """
    kept = frozenset(keep)
    to: dict[Term, Term] = {}
    for term in terms:
        for node in symbols_of(term):
            if node not in kept and node not in to:
                to[node] = _copy(node, mark)
    memo: dict[Term, Term] = {}
    return [substitute(term, to, memo) for term in terms], to


def _copy(node: Term, mark: str) -> Term:
    from verify.symbolic.terms import truth_symbol

    name, colon, rest = str(node.args[0]).partition(":")
    fresh = f"{name}{mark}{colon}{rest}"
    if node.sort == BOOL:
        return truth_symbol(fresh)
    return symbol(fresh, node.low, node.high)
