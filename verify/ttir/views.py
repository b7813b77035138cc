"""Operations that move elements: ranges, broadcasts, reshapes, joins, gathers."""

from collections.abc import Callable, Sequence

from verify.mlir import Operation, shape_of
from verify.symbolic.terms import (
    ZERO,
    Term,
    add,
    at_most,
    choose,
    conjoin,
    constant,
    div,
    equal,
    less,
    mod,
    mul,
    opaque,
)

from .machine import PROGRAM, Handler, Machine
from .tensor import (
    Coordinates,
    Tensor,
    Value,
    lanes_of,
    range_of,
    sort_of,
    typed,
)


def flattened(shape: Sequence[int], coordinates: Coordinates) -> Term:
    """Return the row-major index of coordinates."""
    total = ZERO
    for size, coordinate in zip(shape, coordinates, strict=True):
        total = add(mul(total, constant(size)), coordinate)
    return total


def unflattened(shape: Sequence[int], index: Term) -> Coordinates:
    """Return the coordinates of a row-major index."""
    found: list[Term] = []
    for size in reversed(shape):
        found.append(mod(index, constant(size)))
        index = div(index, constant(size))
    return tuple(reversed(found))


def _view(
    map_of: Callable[[Operation, Tensor], Callable[[Coordinates], Coordinates]],
) -> Handler:
    """Return the handler of an operation that reads one element for each."""

    def handler(
        machine: Machine, operation: Operation, operands: Sequence[Value]
    ) -> Sequence[Value]:
        tensor = machine.tensor(operands[0], operation)
        where = map_of(operation, tensor)
        kind = machine.result_kind(operation, 0)
        return [typed(kind, lambda at: tensor.at(where(at)))]

    return handler


def _broadcast(
    operation: Operation, tensor: Tensor
) -> Callable[[Coordinates], Coordinates]:
    def where(at: Coordinates) -> Coordinates:
        return tuple(
            ZERO if size == 1 else x for size, x in zip(tensor.shape, at, strict=True)
        )

    return where


def _expand(
    operation: Operation, tensor: Tensor
) -> Callable[[Coordinates], Coordinates]:
    axis = int(operation.attributes["axis"])
    return lambda at: at[:axis] + at[axis + 1 :]


def _transpose(
    operation: Operation, tensor: Tensor
) -> Callable[[Coordinates], Coordinates]:
    order = operation.attributes["order"]

    def where(at: Coordinates) -> Coordinates:
        found = [ZERO] * len(order)
        for result_dim, source_dim in enumerate(order):
            found[source_dim] = at[result_dim]
        return tuple(found)

    return where


def _make_range(
    machine: Machine, operation: Operation, operands: Sequence[Value]
) -> Sequence[Value]:
    start = constant(int(operation.attributes["start"]))
    return [typed(machine.result_kind(operation, 0), lambda at: add(at[0], start))]


def _splat(
    machine: Machine, operation: Operation, operands: Sequence[Value]
) -> Sequence[Value]:
    tensor = machine.tensor(operands[0], operation)
    kind = machine.result_kind(operation, 0)
    return [typed(kind, lambda _: tensor.at())]


def _unsplat(
    machine: Machine, operation: Operation, operands: Sequence[Value]
) -> Sequence[Value]:
    tensor = machine.tensor(operands[0], operation)
    zeros = (ZERO,) * len(tensor.shape)
    return [typed(tensor.element, lambda _: tensor.at(zeros))]


def _reshape(
    machine: Machine, operation: Operation, operands: Sequence[Value]
) -> Sequence[Value]:
    tensor = machine.tensor(operands[0], operation)
    kind = machine.result_kind(operation, 0)
    shape = shape_of(kind)
    if "allow_reorder" in operation.words or "allow_reorder" in operation.attributes:
        return [_reordered(machine, operation, tensor, shape)]
    return [
        typed(
            kind, lambda at: tensor.at(unflattened(tensor.shape, flattened(shape, at)))
        )
    ]


def _reordered(
    machine: Machine, operation: Operation, tensor: Tensor, shape: Sequence[int]
) -> Tensor:
    """Return the elements in an order that the compiler may choose.

    One unknown permutation: the place that an element comes from is an unknown index.
    """
    number = machine.number("reorder")
    size = 1
    for extent in tensor.shape:
        size *= extent

    def at(coordinates: Coordinates) -> Term:
        place = flattened(shape, coordinates)
        source = opaque("int", "permutation", (number, PROGRAM, place), 0, size - 1)
        return tensor.at(unflattened(tensor.shape, source))

    return typed(machine.result_kind(operation, 0), at)


def _join(
    machine: Machine, operation: Operation, operands: Sequence[Value]
) -> Sequence[Value]:
    left, right = (machine.tensor(v, operation) for v in operands)

    def at(coordinates: Coordinates) -> Term:
        inner, which = coordinates[:-1], coordinates[-1]
        return choose(equal(which, ZERO), left.at(inner), right.at(inner))

    return [typed(machine.result_kind(operation, 0), at)]


def _split(
    machine: Machine, operation: Operation, operands: Sequence[Value]
) -> Sequence[Value]:
    tensor = machine.tensor(operands[0], operation)
    kind = machine.result_kind(operation, 0)

    def half(which: int) -> Tensor:
        return typed(kind, lambda at: tensor.at((*at, constant(which))))

    return [half(0), half(1)]


def _cat(
    machine: Machine, operation: Operation, operands: Sequence[Value]
) -> Sequence[Value]:
    """Return one behind the other, in an order that the compiler may choose."""
    left, right = (machine.tensor(v, operation) for v in operands)
    kind = machine.result_kind(operation, 0)
    middle = constant(left.shape[0])

    def at(coordinates: Coordinates) -> Term:
        first, rest = coordinates[0], coordinates[1:]
        second = right.at((add(first, constant(-left.shape[0])), *rest))
        return choose(less(first, middle), left.at(coordinates), second)

    joined = typed(kind, at)
    return [_reordered(machine, operation, joined, shape_of(kind))]


def _gather(
    machine: Machine, operation: Operation, operands: Sequence[Value]
) -> Sequence[Value]:
    source, indices = (machine.tensor(v, operation) for v in operands)
    axis = int(operation.attributes["axis"])
    size = constant(source.shape[axis])
    here = indices.at(lanes_of(indices.shape))
    inside = conjoin(at_most(ZERO, here), less(here, size))
    machine.claim("index", operation, inside, f"index of a gather within {size}")

    def at(coordinates: Coordinates) -> Term:
        index = indices.at(coordinates)
        return source.at((*coordinates[:axis], index, *coordinates[axis + 1 :]))

    return [typed(machine.result_kind(operation, 0), at)]


def _histogram(
    machine: Machine, operation: Operation, operands: Sequence[Value]
) -> Sequence[Value]:
    tensors = [machine.tensor(v, operation) for v in operands]
    kind = machine.result_kind(operation, 0)
    total = tensors[0].shape[0]

    def at(coordinates: Coordinates) -> Term:
        lanes = lanes_of(tensors[0].shape)
        parts = tuple(tensor.at(lanes) for tensor in tensors)
        return opaque(sort_of(kind), "histogram", (*parts, *coordinates), 0, total)

    return [typed(kind, at)]


def _program_id(
    machine: Machine, operation: Operation, operands: Sequence[Value]
) -> Sequence[Value]:
    axis = operation.words[0]
    named = operation.name == "tt.get_program_id"
    term = machine.program_id(axis) if named else machine.programs(axis)
    machine.programs(axis)
    return [typed(machine.result_kind(operation, 0), lambda _: term)]


def _poison(
    machine: Machine, operation: Operation, operands: Sequence[Value]
) -> Sequence[Value]:
    from verify.symbolic.terms import poison

    kind = machine.result_kind(operation, 0)
    if range_of(kind)[0] is None and sort_of(kind) == "pointer":
        return [machine.unknown(operation, kind)]
    return [typed(kind, lambda _: poison(sort_of(kind)))]


VIEWS: dict[str, Handler] = {
    "tt.make_range": _make_range,
    "tt.get_program_id": _program_id,
    "tt.get_num_programs": _program_id,
    "tt.splat": _splat,
    "tt.unsplat": _unsplat,
    "tt.broadcast": _view(_broadcast),
    "ttg.convert_layout": _view(lambda operation, tensor: lambda at: at),
    "tt.expand_dims": _view(_expand),
    "tt.trans": _view(_transpose),
    "tt.reshape": _reshape,
    "tt.join": _join,
    "tt.split": _split,
    "tt.cat": _cat,
    "tt.gather": _gather,
    "tt.histogram": _histogram,
    "ub.poison": _poison,
}
