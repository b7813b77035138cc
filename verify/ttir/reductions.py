"""Reductions, scans and matrix products: opaque values that keep what they combine.

``opaque("reduce", combiner, which, size, r, *elements)``: the combiner is the region
evaluated on symbols ``a0, a1, ...`` and ``b0, b1, ...``; ``r`` is the lane that is
reduced over, bound within the elements. The law that a checker may use is that a
reduction depends on the multiset of the elements alone.
"""

from collections.abc import Sequence

from verify.mlir import Operation, Type
from verify.symbolic.terms import (
    BOOL,
    INT,
    VALUE,
    Term,
    opaque,
    symbol,
    truth_symbol,
)
from verify.symbolic.walk import symbols_of

from .machine import Handler, Machine, UnsupportedError
from .tensor import Coordinates, Tensor, Value, range_of, scalar, sort_of, typed


def _argument(kind: Type, name: str) -> Term:
    sort = sort_of(kind)
    if sort == INT:
        return symbol(name, *range_of(kind))
    if sort == BOOL:
        return truth_symbol(name)
    if sort != VALUE:
        raise UnsupportedError(f"a reduction of {kind}")
    return opaque(VALUE, "argument", (name, str(kind)))


def combiner_of(
    machine: Machine, operation: Operation, kinds: Sequence[Type]
) -> tuple[tuple[Term, ...], tuple[Term, ...], tuple[Term, ...]]:
    """Evaluate the region of a reduction on symbols.

    Returns:
        Its results, and the symbols of its left and right arguments.

    Raises:
        UnsupportedError: the region has another form.
    """
    block = operation.regions[0].blocks[0]
    count = len(kinds)
    if len(block.arguments) != 2 * count or len(operation.regions[0].blocks) != 1:
        raise UnsupportedError(f"{operation.name} with a region of another form")
    left = tuple(_argument(kind, f"a{i}") for i, kind in enumerate(kinds))
    right = tuple(_argument(kind, f"b{i}") for i, kind in enumerate(kinds))
    for argument, term in zip(block.arguments, left + right, strict=True):
        machine.environment[argument.name] = scalar(argument.type, term)
    saved, machine.recording = machine.recording, False
    _, values = machine.run_block(block)
    machine.recording = saved
    terms = tuple(machine.tensor(v, operation).at() for v in values)
    return terms, left, right


def _range(
    results: tuple[Term, ...],
    which: int,
    left: tuple[Term, ...],
    right: tuple[Term, ...],
    element: Term,
    size: int,
    kind: Type,
) -> tuple[int | None, int | None]:
    """Return the range of a reduction: a choice keeps it, a sum multiplies it."""
    low, high = range_of(kind)
    if low is None or high is None or element.low is None or element.high is None:
        return low, high
    mine = {left[which], right[which]}

    def chooses(term: Term) -> bool:
        if term.kind == "ite":
            return chooses(term.args[1]) and chooses(term.args[2])
        return term in mine

    if chooses(results[which]):
        return element.low, element.high
    inner = results[which]
    sums = inner.kind == "fit" and inner.args[0].kind == "add"
    if sums and set(inner.args[0].args) == mine:
        return (
            max(low, min(element.low, size * element.low)),
            min(high, max(element.high, size * element.high)),
        )
    return low, high


def _reduce(
    machine: Machine, operation: Operation, operands: Sequence[Value]
) -> Sequence[Value]:
    tensors = [machine.tensor(v, operation) for v in operands]
    axis = int(operation.attributes["axis"])
    size = tensors[0].shape[axis]
    results, left, right = combiner_of(machine, operation, [t.element for t in tensors])
    bound = symbol(f"reduced{machine.number('reduced')}:{size}", 0, size - 1)

    def result(which: int) -> Tensor:
        kind = tensors[which].element

        def at(coordinates: Coordinates) -> Term:
            where = (*coordinates[:axis], bound, *coordinates[axis:])
            if size == 1:
                from verify.symbolic.terms import ZERO

                where = (*coordinates[:axis], ZERO, *coordinates[axis:])
                return tensors[which].at(where)
            elements = tuple(t.at(where) for t in tensors)
            low, high = _range(results, which, left, right, elements[which], size, kind)
            args = (results, which, size, bound, *elements)
            return opaque(sort_of(kind), "reduce", args, low, high)

        shape = tensors[which].shape
        return Tensor(shape[:axis] + shape[axis + 1 :], kind, at)

    return [result(which) for which in range(len(tensors))]


def _scan(
    machine: Machine, operation: Operation, operands: Sequence[Value]
) -> Sequence[Value]:
    tensors = [machine.tensor(v, operation) for v in operands]
    axis = int(operation.attributes["axis"])
    reverse = bool(operation.attributes.get("reverse", False))
    size = tensors[0].shape[axis]
    results, left, right = combiner_of(machine, operation, [t.element for t in tensors])
    bound = symbol(f"scanned{machine.number('scanned')}:{size}", 0, size - 1)

    def result(which: int) -> Tensor:
        kind = tensors[which].element

        def at(coordinates: Coordinates) -> Term:
            where = (*coordinates[:axis], bound, *coordinates[axis + 1 :])
            elements = tuple(t.at(where) for t in tensors)
            low, high = _range(results, which, left, right, elements[which], size, kind)
            args = (results, which, size, reverse, coordinates[axis], bound, *elements)
            return opaque(sort_of(kind), "scan", args, low, high)

        return Tensor(tensors[which].shape, kind, at)

    return [result(which) for which in range(len(tensors))]


def _dot(
    machine: Machine, operation: Operation, operands: Sequence[Value]
) -> Sequence[Value]:
    left, right, start = (machine.tensor(v, operation) for v in operands)
    size = left.shape[-1]
    bound = symbol(f"reduced{machine.number('reduced')}:{size}", 0, size - 1)
    kind = machine.result_kind(operation, 0)
    precision = str(operation.attributes.get("inputPrecision", ""))

    def at(coordinates: Coordinates) -> Term:
        *batch, row, column = coordinates
        a = left.at((*batch, row, bound))
        b = right.at((*batch, bound, column))
        args = (precision, size, bound, start.at(coordinates), a, b)
        return opaque(sort_of(kind), "dot", args, *range_of(kind))

    return [typed(kind, at)]


def _dot_scaled(
    machine: Machine, operation: Operation, operands: Sequence[Value]
) -> Sequence[Value]:
    """Return a product of which nothing is known but its operands' poison."""
    return [machine.unknown(operation, machine.result_kind(operation, 0))]


def _map_elementwise(
    machine: Machine, operation: Operation, operands: Sequence[Value]
) -> Sequence[Value]:
    kinds = [machine.result_kind(operation, i) for i in range(len(operation.results))]
    return [machine.unknown(operation, kind, i) for i, kind in enumerate(kinds)]


def bound_of(term: Term) -> Term | None:
    """Return the lane that a reduction, scan or product binds."""
    if term.kind != "opaque" or term.args[0] not in ("reduce", "scan", "dot"):
        return None
    position = {"reduce": 4, "scan": 6, "dot": 3}[term.args[0]]
    found: Term = term.args[position]
    return found


def free_symbols(term: Term) -> frozenset[Term]:
    """Return the symbols of a term; those of combiners and bound lanes too."""
    return symbols_of(term)


REDUCTIONS: dict[str, Handler] = {
    "tt.reduce": _reduce,
    "tt.scan": _scan,
    "tt.dot": _dot,
    "tt.dot_scaled": _dot_scaled,
    "tt.map_elementwise": _map_elementwise,
}
