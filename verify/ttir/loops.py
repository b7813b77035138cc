"""Loops: one symbolic iteration, and a closed form for what it carries.

Iteration ``k`` of a loop starts with carried values. First they are placeholders, about
which only a range is known. After a run of the body, a value that comes out as it went
in is its initial value; one that grows by what no iteration changes is
``initial + k * step`` (pointers and counters); the others stay opaque, one value an
iteration. Closed forms are put in and the body runs again until no more are found:
each is proved with the others arbitrary, or by those found before it. The range of an
opaque integer starts as its initial range and is widened to its type where the body can
leave it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from verify.mlir import Operation
from verify.symbolic.polynomial import difference, same, term_of
from verify.symbolic.terms import (
    INT,
    POINTER,
    ZERO,
    Term,
    add,
    constant,
    mul,
    opaque,
)
from verify.symbolic.walk import nodes_of, symbols_of

from .arithmetic import fitted
from .machine import PROGRAM, Machine, UnsupportedError
from .memory import moved
from .program import LoopRecord
from .tensor import (
    Coordinates,
    Descriptor,
    Tensor,
    Value,
    lanes_of,
    range_of,
    scalar,
    sort_of,
)

MAX_PASSES = 8
UNCHANGED = "unchanged"
GROWS = "grows"
OPAQUE = "opaque"

Body = Callable[[Sequence[Value]], tuple[Value, ...]]


@dataclass(slots=True)
class Carried:
    """What is known about one carried value.

    Attributes:
        initial: Before the loop.
        form: ``unchanged``, ``grows`` or ``opaque``.
        step: By how much it grows: an integer, or elements of a pointer.
        low: Lower end of an opaque integer's range.
        high: Upper end of it.
    """

    initial: Tensor
    form: str = OPAQUE
    step: Tensor | None = None
    low: int | None = None
    high: int | None = None


@dataclass(slots=True)
class Loop:
    """A loop under evaluation.

    Attributes:
        number: Its number in the program.
        iteration: The iteration number ``k``.
        outer: Iteration numbers of the loops around it.
        carried: What it carries.
    """

    number: int
    iteration: Term
    outer: tuple[Term, ...]
    carried: list[Carried] = field(default_factory=list)

    def placeholder(self, index: int, name: str = "loop") -> Tensor:
        """Return a carried value at the start of iteration ``k``."""
        return self.value_at(index, self.iteration)

    def value_at(self, index: int, iteration: Term) -> Tensor:
        """Return a carried value at the start of an iteration, or after the last."""
        one = self.carried[index]
        if one.form == UNCHANGED:
            return one.initial
        if one.form == GROWS:
            return _grown(one, iteration)
        return self._opaque(index, iteration)

    def _opaque(self, index: int, iteration: Term) -> Tensor:
        one = self.carried[index]
        element = one.initial.element
        sort = sort_of(element)
        number, outer = self.number, self.outer

        def at(coordinates: Coordinates) -> Term:
            where = (number, index, iteration, PROGRAM, *outer, *coordinates)
            if sort == POINTER:
                delta = opaque(INT, "loop", where, -(2**63), 2**63 - 1)
                return moved(one.initial.at(coordinates), delta)
            return opaque(sort, "loop", where, one.low, one.high)

        return Tensor(one.initial.shape, element, at)


def _grown(one: Carried, iteration: Term) -> Tensor:
    step = one.step
    assert step is not None
    element = one.initial.element

    def at(coordinates: Coordinates) -> Term:
        start = one.initial.at(coordinates)
        growth = mul(iteration, step.at(coordinates))
        if start.sort == POINTER:
            return moved(start, growth)
        return fitted(element, add(start, growth), "")

    return Tensor(one.initial.shape, element, at)


def run_loop(
    machine: Machine,
    operation: Operation,
    initial: Sequence[Value],
    iteration: Term,
    body: Body,
) -> Loop:
    """Find the form of what a loop carries, then note the accesses of one iteration.

    Args:
        machine: Its guard and loops are those of the body.
        operation: The loop.
        initial: Carried values before the loop.
        iteration: The iteration number.
        body: Runs the body on carried values; returns those that go on.

    Returns:
        The loop; ``value_at(index, trips)`` is a carried value after it.

    Raises:
        UnsupportedError: it carries a descriptor that it moves.
    """
    loop = Loop(machine.number("loop"), iteration, machine.loops[:-1])
    for value in initial:
        tensor = value if isinstance(value, Tensor) else scalar_of(value)
        one = Carried(tensor)
        start = tensor.term() if sort_of(tensor.element) == INT else None
        if start is not None:
            one.low, one.high = start.low, start.high
            low, high = range_of(tensor.element)
            one.low = low if one.low is None else one.low
            one.high = high if one.high is None else one.high
        loop.carried.append(one)
    saved, machine.recording = machine.recording, False
    numbers = dict(machine.numbers)
    for _ in range(MAX_PASSES):
        machine.numbers = dict(numbers)
        carried = [loop.placeholder(i) for i in range(len(initial))]
        results = [machine.tensor(v, operation) for v in body(carried)]
        if not _improve(loop, carried, results):
            break
    else:
        for one in loop.carried:  # no fixed point in time: nothing is known
            if one.form == OPAQUE:
                one.low, one.high = range_of(one.initial.element)
        if any(one.form != OPAQUE for one in loop.carried):
            for one in loop.carried:
                one.form = OPAQUE
                one.low, one.high = range_of(one.initial.element)
    machine.recording = saved
    machine.numbers = dict(numbers)
    carried = [loop.placeholder(i) for i in range(len(initial))]
    results = [machine.tensor(v, operation) for v in body(carried)]
    if saved:
        _record(machine, loop, carried, results)
    return loop


def scalar_of(value: Value) -> Tensor:
    """Refuse what a loop cannot carry here."""
    if isinstance(value, Descriptor):
        raise UnsupportedError("a loop that carries a block pointer")
    return value


def _improve(loop: Loop, carried: Sequence[Tensor], results: Sequence[Tensor]) -> bool:
    """Find closed forms of values that are opaque so far, or widen their ranges."""
    changed = False
    for index, one in enumerate(loop.carried):
        if one.form != OPAQUE:
            continue
        before, after = carried[index].term(), results[index].term()
        growth = _growth(before, after)
        if growth is ZERO:
            one.form, changed = UNCHANGED, True
        elif growth is not None and _is_fixed(loop, growth):
            one.form, changed = GROWS, True
            one.step = _as_tensor(one, growth)
    if changed:
        return True
    for index, one in enumerate(loop.carried):
        if one.form == OPAQUE and one.low is not None and one.high is not None:
            after = results[index].term()
            low, high = range_of(one.initial.element)
            if one.low != low and (after.low is None or after.low < one.low):
                one.low, changed = low, True
            if one.high != high and (after.high is None or after.high > one.high):
                one.high, changed = high, True
    return changed


def _growth(before: Term, after: Term) -> Term | None:
    """Return ``after - before`` of integers or pointers into the same buffers."""
    if before is after:
        return ZERO
    if before.sort == INT:
        return term_of(difference(after, before))
    if before.sort != POINTER:
        return None
    if before.kind == after.kind == "pointer" and before.args[0] == after.args[0]:
        return term_of(difference(after.args[1], before.args[1]))
    if before.kind == after.kind == "ite" and before.args[0] is after.args[0]:
        first, second = (
            _growth(b, a) for b, a in zip(before.args[1:], after.args[1:], strict=True)
        )
        if first is not None and second is not None and same(first, second):
            return first
    return None


def _is_fixed(loop: Loop, growth: Term) -> bool:
    """Whether no iteration changes a term."""
    if loop.iteration in symbols_of(growth):
        return False
    return not any(
        node.kind == "opaque" and node.args[:2] == ("loop", loop.number)
        for node in nodes_of(growth)
    )


def _as_tensor(one: Carried, growth: Term) -> Tensor:
    """Return a term at the canonical lanes as a tensor of all coordinates."""
    from verify.mlir import ScalarType
    from verify.symbolic.walk import substitute

    lanes = lanes_of(one.initial.shape)

    def at(coordinates: Coordinates) -> Term:
        to = {
            lane: place
            for lane, place in zip(lanes, coordinates, strict=True)
            if lane.kind == "symbol" and lane is not place
        }
        return substitute(growth, to) if to else growth

    return Tensor(one.initial.shape, ScalarType("i64"), at)


def _record(
    machine: Machine, loop: Loop, carried: Sequence[Tensor], results: Sequence[Tensor]
) -> None:
    from verify.symbolic.terms import conjoin

    for index, one in enumerate(loop.carried):
        if one.form == OPAQUE:
            machine.program.loops[loop.number, index] = LoopRecord(
                index=index,
                initial=one.initial,
                placeholder=carried[index],
                carried=results[index],
                iteration=loop.iteration,
                guard=conjoin(*machine.guard),
                trips=loop.iteration,
            )


def trips_of(start: Term, stop: Term, step: Term) -> Term:
    """Return the number of iterations of ``range(start, stop, step)``, ``step > 0``."""
    from verify.symbolic.terms import choose, div, less, sub

    span = sub(stop, start)
    count = div(add(span, add(step, constant(-1))), step)
    return choose(less(start, stop), count, ZERO)


def counter(kind: object, start: Term, step: Term, iteration: Term) -> Tensor:
    """Return the induction variable of an iteration; the guard keeps it in range."""
    from verify.mlir import ScalarType

    term = add(start, mul(iteration, step))
    return scalar(kind if isinstance(kind, ScalarType) else ScalarType("i32"), term)
