"""Operations with a body: loops, branches, calls, reductions, scans, products."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from verify.mlir import Operation

from .handlers import HANDLERS, Handler, kind_of
from .interpreter import Data, Interpreter, RunError, joined_poison

Array = Any
MAX_ITERATIONS = 4096


def _for(
    run: Interpreter, operation: Operation, operands: Sequence[Any]
) -> Sequence[Any]:
    start, stop, step = (int(operand.values) for operand in operands[:3])
    induction, names = operation.bindings[0][0], operation.bindings[1:]
    carried = list(operands[3:])
    block = operation.regions[0].blocks[0]
    if step <= 0:
        raise RunError(f"a loop with step {step}")
    if (stop - start) // step > MAX_ITERATIONS:
        raise RunError(f"a loop of more than {MAX_ITERATIONS} iterations")
    for index in range(start, stop, step):
        run.environment[induction] = Data(run.integers(index))
        for (name, _), value in zip(names, carried, strict=True):
            run.environment[name] = value
        _, carried = run.block(block)
    return carried


def _while(
    run: Interpreter, operation: Operation, operands: Sequence[Any]
) -> Sequence[Any]:
    before, after = (region.blocks[0] for region in operation.regions)
    names = [name for name, _ in operation.bindings] or [
        argument.name for argument in before.arguments
    ]
    carried = list(operands)
    for _ in range(MAX_ITERATIONS):
        for name, value in zip(names, carried, strict=True):
            run.environment[name] = value
        _, found = run.block(before)
        if not bool(found[0].values):
            return found[1:]
        for argument, value in zip(after.arguments, found[1:], strict=True):
            run.environment[argument.name] = value
        _, carried = run.block(after)
    raise RunError(f"a loop of more than {MAX_ITERATIONS} iterations")


def _if(
    run: Interpreter, operation: Operation, operands: Sequence[Any]
) -> Sequence[Any]:
    index = 0 if bool(operands[0].values) else 1
    if index >= len(operation.regions):
        return []
    return run.block(operation.regions[index].blocks[0])[1]


def _call(
    run: Interpreter, operation: Operation, operands: Sequence[Any]
) -> Sequence[Any]:
    name = operation.words[0].lstrip("@").strip('"')
    function = run.module.functions.get(name)
    if function is None:
        raise RunError(f"tt.call @{name}, which has no body")
    saved, run.environment = run.environment, {}
    for argument, value in zip(function.arguments, operands, strict=True):
        run.environment[argument.name] = value
    results = run.function(function)
    run.environment = saved
    return results


def _combined(
    run: Interpreter, operation: Operation, left: Sequence[Data], right: Sequence[Data]
) -> list[Data]:
    block = operation.regions[0].blocks[0]
    for argument, value in zip(block.arguments, (*left, *right), strict=True):
        run.environment[argument.name] = value
    return run.block(block)[1]


def _sliced(parts: Sequence[Data], axis: int, where: slice) -> list[Data]:
    found = []
    for part in parts:
        index = (slice(None),) * axis + (where,)
        poison = part.poison
        if poison is not None:
            poison = np.broadcast_to(poison, part.values.shape)[index]
        found.append(Data(part.values[index], poison))
    return found


def _reduce(
    run: Interpreter, operation: Operation, operands: Sequence[Any]
) -> Sequence[Any]:
    axis = int(operation.attributes["axis"])
    parts = list(operands)
    size = parts[0].values.shape[axis]
    while size > 1:
        half = size // 2
        left = _sliced(parts, axis, slice(0, half))
        right = _sliced(parts, axis, slice(half, 2 * half))
        joined = _combined(run, operation, left, right)
        if size % 2:
            raise RunError("a reduction over an odd size")
        parts, size = joined, half
    return [
        Data(
            part.values.take(0, axis),
            None if part.poison is None else part.poison.take(0, axis),
        )
        for part in parts
    ]


def _scan(
    run: Interpreter, operation: Operation, operands: Sequence[Any]
) -> Sequence[Any]:
    axis = int(operation.attributes["axis"])
    reverse = bool(operation.attributes.get("reverse", False))
    size = operands[0].values.shape[axis]
    order = range(size - 1, -1, -1) if reverse else range(size)
    state: list[Data] | None = None
    columns: dict[int, list[Data]] = {}
    for place in order:
        here = _sliced(operands, axis, slice(place, place + 1))
        state = here if state is None else _combined(run, operation, state, here)
        columns[place] = state
    results = []
    for which in range(len(operands)):
        values = [columns[place][which] for place in range(size)]
        poison = None
        if any(v.poison is not None for v in values):
            poison = np.concatenate(
                [
                    np.broadcast_to(
                        False if v.poison is None else v.poison, v.values.shape
                    )
                    for v in values
                ],
                axis,
            )
        results.append(Data(np.concatenate([v.values for v in values], axis), poison))
    return results


def _dot(
    run: Interpreter, operation: Operation, operands: Sequence[Any]
) -> Sequence[Any]:
    a, b, c = operands
    values = np.matmul(a.values, b.values) + c.values
    poison = None
    if joined_poison(a) is not None:
        bad = np.broadcast_to(a.poison, a.values.shape).any(-1, keepdims=True)
        poison = np.broadcast_to(bad, values.shape)
    if joined_poison(b) is not None:
        bad = np.broadcast_to(b.poison, b.values.shape).any(-2, keepdims=True)
        bad = np.broadcast_to(bad, values.shape)
        poison = bad if poison is None else poison | bad
    if c.poison is not None:
        poison = c.poison if poison is None else poison | c.poison
    return [Data(values, poison)]


def _histogram(
    run: Interpreter, operation: Operation, operands: Sequence[Any]
) -> Sequence[Any]:
    bins = getattr(kind_of(operation), "shape", (0,))[0]
    values = operands[0].values.astype(np.int64)
    live = (values >= 0) & (values < bins)
    if len(operands) > 1:
        live = live & operands[1].values
    return [Data(run.integers(np.bincount(values[live], minlength=bins)))]


TABLE: dict[str, Handler] = {
    **HANDLERS,
    "scf.for": _for,
    "scf.while": _while,
    "scf.if": _if,
    "tt.call": _call,
    "tt.reduce": _reduce,
    "tt.scan": _scan,
    "tt.dot": _dot,
    "tt.histogram": _histogram,
}
