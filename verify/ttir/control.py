"""Branches, loops, calls: ``scf``, ``cf``, ``tt.call``, and the body of a function."""

from collections.abc import Sequence

from verify.mlir import Function, Operation, Region, ScalarType, Successor, Type
from verify.symbolic.terms import (
    FALSE,
    TRUE,
    Term,
    add,
    choose,
    conjoin,
    disjoin,
    invert,
    less,
    mul,
    symbol,
)

from .loops import Loop, run_loop, trips_of
from .machine import Handler, Machine, UnsupportedError
from .tensor import Descriptor, Tensor, Value, scalar

MAX_CALLS = 40


def _span(term_low: int | None, term_high: int | None, step: Term) -> int | None:
    """Return an upper end of the iteration number, where one is known."""
    if term_low is None or term_high is None or step.low is None or step.low < 1:
        return None
    return max(0, (term_high - term_low - 1) // step.low)


def _for(
    machine: Machine, operation: Operation, operands: Sequence[Value]
) -> Sequence[Value]:
    start, stop, step = (
        machine.tensor(value, operation).at() for value in operands[:3]
    )
    if not operation.bindings:
        raise UnsupportedError("scf.for of another form")
    induction, carried_names = operation.bindings[0][0], operation.bindings[1:]
    kind: Type = operation.types[-1] if operation.types else ScalarType("index")
    number = machine.numbers.get("loop", 0)
    high = _span(start.low, stop.high, step)
    iteration = symbol(f"iteration{number}", 0, high)
    index = add(start, mul(iteration, step))
    block = operation.regions[0].blocks[0]

    def body(values: Sequence[Value]) -> tuple[Value, ...]:
        machine.environment[induction] = scalar(kind, index)
        for (name, _), value in zip(carried_names, values, strict=True):
            machine.environment[name] = value
        return machine.run_block(block)[1]

    outer_guard, outer_loops = machine.guard, machine.loops
    machine.guard = (*outer_guard, less(index, stop))
    machine.loops = (*outer_loops, iteration)
    try:
        loop = run_loop(machine, operation, operands[3:], iteration, body)
    finally:
        machine.guard, machine.loops = outer_guard, outer_loops
    trips = trips_of(start, stop, step)
    return _after(loop, trips)


def _after(loop: Loop, trips: Term) -> list[Tensor]:
    return [loop.value_at(i, trips) for i in range(len(loop.carried))]


def _while(
    machine: Machine, operation: Operation, operands: Sequence[Value]
) -> Sequence[Value]:
    number = machine.numbers.get("loop", 0)
    iteration = symbol(f"iteration{number}", 0, None)
    before, after = (region.blocks[0] for region in operation.regions)
    names = [name for name, _ in operation.bindings] or [
        argument.name for argument in before.arguments
    ]
    outer_guard, outer_loops = machine.guard, machine.loops

    def test(values: Sequence[Value]) -> tuple[Term, tuple[Value, ...]]:
        for name, value in zip(names, values, strict=True):
            machine.environment[name] = value
        _, found = machine.run_block(before)
        return machine.tensor(found[0], operation).at(), found[1:]

    def body(values: Sequence[Value]) -> tuple[Value, ...]:
        condition, handed = test(values)
        machine.guard = (*outer_guard, condition)
        for argument, value in zip(after.arguments, handed, strict=True):
            machine.environment[argument.name] = value
        results = machine.run_block(after)[1]
        machine.guard = outer_guard
        return results

    machine.loops = (*outer_loops, iteration)
    try:
        loop = run_loop(machine, operation, operands, iteration, body)
    finally:
        machine.guard, machine.loops = outer_guard, outer_loops
    # after some number of iterations the condition fails for the first time
    trips = symbol(f"iterations{number}", 0, None)
    condition, handed = test(_after(loop, trips))
    machine.guard = (*machine.guard, invert(condition))
    return list(handed)


def _if(
    machine: Machine, operation: Operation, operands: Sequence[Value]
) -> Sequence[Value]:
    condition = machine.tensor(operands[0], operation).at()
    outer = machine.guard
    written = dict(machine.written)
    found: list[tuple[Value, ...]] = []
    after = dict(written)
    for region, test in zip(
        operation.regions, (condition, invert(condition)), strict=False
    ):
        machine.guard = (*outer, test)
        machine.written = dict(written)
        found.append(_yielded(machine, region))
        for buffer, count in machine.written.items():
            after[buffer] = max(after.get(buffer, 0), count)
    machine.guard, machine.written = outer, after
    if not operation.results:
        return []
    if len(found) != 2:
        raise UnsupportedError("scf.if with results and one branch")
    return [merged(condition, a, b) for a, b in zip(*found, strict=True)]


def _yielded(machine: Machine, region: Region) -> tuple[Value, ...]:
    if len(region.blocks) != 1:
        raise UnsupportedError("scf region with several blocks")
    return machine.run_block(region.blocks[0])[1]


def merged(condition: Term, then: Value, other: Value) -> Value:
    """Return one value where a condition holds, another elsewhere."""
    if isinstance(then, Descriptor) or isinstance(other, Descriptor):
        if then is other:
            return then
        raise UnsupportedError("a choice between descriptors")
    first, second = then, other
    return Tensor(
        first.shape,
        first.element,
        lambda at: choose(condition, first.at(at), second.at(at)),
    )


def _call(
    machine: Machine, operation: Operation, operands: Sequence[Value]
) -> Sequence[Value]:
    name = operation.words[0].lstrip("@").strip('"')
    function = machine.module.functions.get(name)
    if function is None or not function.body.blocks:
        raise UnsupportedError(f"tt.call @{name}, which has no body")
    machine.calls += 1
    if machine.calls > MAX_CALLS:
        raise UnsupportedError(f"tt.call @{name}: more than {MAX_CALLS} calls")
    saved, machine.environment = machine.environment, {}
    for argument, value in zip(function.arguments, operands, strict=True):
        machine.environment[argument.name] = value
    try:
        return run_function(machine, function)
    finally:
        machine.environment = saved


def _conjuncts(term: Term) -> tuple[Term, ...]:
    return term.args if term.kind == "and" else (term,)


def joined(conditions: Sequence[Term]) -> Term:
    """Return a disjunction; ``g and c`` or ``g and not c`` is ``g``."""
    found = list(conditions)
    changed = True
    while changed and len(found) > 1:
        changed = False
        for i in range(len(found)):
            for j in range(i):
                a, b = _conjuncts(found[i]), _conjuncts(found[j])
                if len(a) == len(b) and a[:-1] == b[:-1] and a[-1] is invert(b[-1]):
                    found[j] = conjoin(*a[:-1])
                    del found[i]
                    changed = True
                    break
            if changed:
                break
    return disjoin(*found) if found else FALSE


def run_function(machine: Machine, function: Function) -> Sequence[Value]:
    """Run the blocks of a function; return what it returns.

    Raises:
        UnsupportedError: a branch goes back.
    """
    outer = machine.guard
    entries: dict[str, list[tuple[Term, tuple[Value, ...]]]] = {}
    returns: list[tuple[Term, tuple[Value, ...]]] = []
    done: set[str] = set()
    blocks = function.body.blocks
    for position, block in enumerate(blocks):
        if position == 0:
            here = TRUE
        else:
            incoming = entries.get(block.label, [])
            here = joined([condition for condition, _ in incoming])
            if here is FALSE:
                done.add(block.label)
                continue
            for index, argument in enumerate(block.arguments):
                value = incoming[-1][1][index]
                for condition, values in reversed(incoming[:-1]):
                    value = merged(condition, values[index], value)
                machine.environment[argument.name] = value
        done.add(block.label)
        machine.guard = (*outer, *((here,) if here is not TRUE else ()))
        depth = len(machine.guard)
        last, operands = machine.run_block(block)
        # what a while loop leaves behind holds from there on
        here = conjoin(here, *machine.guard[depth:])
        if last is None:
            raise UnsupportedError(f"block {block.label} without a terminator")
        if last.name in ("tt.return", "func.return"):
            returns.append((here, operands))
            continue
        for condition, successor in _branches(machine, last, operands):
            if successor.block in done:
                raise UnsupportedError(f"{last.name} back to {successor.block}")
            values = tuple(machine.value(n, last) for n in successor.operands)
            entry = (conjoin(here, condition), values)
            entries.setdefault(successor.block, []).append(entry)
    machine.guard = outer
    if not returns:
        raise UnsupportedError("a function that does not return")
    result = list(returns[-1][1])
    for condition, values in reversed(returns[:-1]):
        result = [merged(condition, a, b) for a, b in zip(values, result, strict=True)]
    return result


def _branches(
    machine: Machine, last: Operation, operands: Sequence[Value]
) -> list[tuple[Term, Successor]]:
    if last.name == "cf.br":
        return [(TRUE, last.successors[0])]
    if last.name == "cf.cond_br" and len(last.successors) == 2:
        condition = machine.tensor(operands[0], last).at()
        then, other = last.successors
        return [(condition, then), (invert(condition), other)]
    raise UnsupportedError(f"{last.name} at the end of a block")


CONTROL: dict[str, Handler] = {
    "scf.for": _for,
    "scf.while": _while,
    "scf.if": _if,
    "tt.call": _call,
}
