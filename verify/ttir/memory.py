"""Loads, stores, atomics; pointers, block pointers and tensor descriptors."""

from collections.abc import Sequence
from typing import Any

from verify.mlir import (
    Operation,
    OtherType,
    PointerType,
    ScalarType,
    TensorType,
    Type,
    element_of,
    shape_of,
)
from verify.symbolic.terms import (
    TRUE,
    ZERO,
    Term,
    add,
    at_most,
    choose,
    conjoin,
    less,
    mul,
    opaque,
    pointer,
    poison,
    read,
)

from .elementwise import constant_term
from .machine import (
    PROGRAM,
    Assertion,
    Handler,
    Machine,
    UnsupportedError,
    alternatives,
    pointee_of,
)
from .program import ATOMIC, LOAD, STORE
from .tensor import (
    Coordinates,
    Descriptor,
    Tensor,
    Value,
    pointwise,
    range_of,
    scalar,
    sort_of,
    typed,
)


def moved(term: Term, by: Term) -> Term:
    """Return a pointer ``by`` elements further."""
    if term.kind == "ite":
        test, then, other = term.args
        return choose(test, moved(then, by), moved(other, by))
    if term.kind == "pointer":
        return pointer(term.args[0], add(term.args[1], by))
    return term


def _addptr(
    machine: Machine, operation: Operation, operands: Sequence[Value]
) -> Sequence[Value]:
    base, offset = (machine.tensor(v, operation) for v in operands)
    return [pointwise(operation.types[0], moved, base, offset)]


def _load(
    machine: Machine, operation: Operation, operands: Sequence[Value]
) -> Sequence[Value]:
    if isinstance(operands[0], Descriptor):
        return _load_block(machine, operation, operands[0])
    tensors = [machine.tensor(v, operation) for v in operands]
    where = tensors[0]
    mask = tensors[1] if len(tensors) > 1 else None
    other = tensors[2] if len(tensors) > 2 else None
    element = pointee_of(where.element)
    machine.access(LOAD, operation, where, mask)
    # what memory holds is decided now, not when the element is asked for
    epochs = {b: machine.epoch(b) for b, _, _ in alternatives(where.term())}

    def at(coordinates: Coordinates) -> Term:
        value = _contents(element, where.at(coordinates), epochs)
        if mask is None:
            return value
        taken = mask.at(coordinates if mask.shape else ())
        rest = (
            poison(sort_of(element))
            if other is None
            else other.at(coordinates if other.shape else ())
        )
        return choose(taken, value, rest)

    return [Tensor(where.shape, element, at)]


def _contents(element: Type, place: Term, epochs: dict[str, Any]) -> Term:
    sort = sort_of(element)
    low, high = range_of(element)
    found: Term | None = None
    for buffer, offset, condition in reversed(alternatives(place)):
        value = read(sort, buffer, epochs.get(buffer, 0), offset, low, high)
        found = value if found is None else choose(condition, value, found)
    assert found is not None
    return found


def _store(
    machine: Machine, operation: Operation, operands: Sequence[Value]
) -> Sequence[Value]:
    if isinstance(operands[0], Descriptor):
        value = machine.tensor(operands[1], operation)
        _access_block(machine, operation, STORE, operands[0], None, value)
        return []
    tensors = [machine.tensor(v, operation) for v in operands]
    mask = tensors[2] if len(tensors) > 2 else None
    machine.access(STORE, operation, tensors[0], mask, tensors[1])
    return []


def _atomic(
    machine: Machine, operation: Operation, operands: Sequence[Value]
) -> Sequence[Value]:
    tensors = [machine.tensor(v, operation) for v in operands]
    mask = None
    if operation.name == "tt.atomic_rmw" and len(tensors) > 2:
        mask = tensors[2]
    machine.access(
        ATOMIC, operation, tensors[0], mask, tensors[-1 if mask is None else 1]
    )
    if not operation.results:
        return []
    kind = machine.result_kind(operation, 0)
    number = machine.number("atomic")
    loops = machine.loops

    def at(coordinates: Coordinates) -> Term:
        args = (number, PROGRAM, *loops, *coordinates)
        return opaque(sort_of(kind), "atomic", args, *range_of(kind))

    return [typed(kind, at)]


def _no_effect(
    machine: Machine, operation: Operation, operands: Sequence[Value]
) -> Sequence[Value]:
    return []


def _assert(
    machine: Machine, operation: Operation, operands: Sequence[Value]
) -> Sequence[Value]:
    """``tt.assert`` ends the program where a lane fails, before what comes after."""
    tested = machine.tensor(operands[0], operation)
    if machine.recording:
        machine.assertions.append(
            Assertion(tested.term(), machine.guard, machine.loops)
        )
    return []


def _assume(
    machine: Machine, operation: Operation, operands: Sequence[Value]
) -> Sequence[Value]:
    condition = machine.tensor(operands[0], operation).at()
    machine.claim("assume", operation, condition, "tl.assume")
    return []


def _make_pointer(
    machine: Machine, operation: Operation, operands: Sequence[Value]
) -> Sequence[Value]:
    """``tt.make_tensor_ptr base, [shape], [strides], [offsets]``."""
    kind = operation.result_types[-1] if operation.result_types else operation.types[-1]
    inner = kind.pointee if isinstance(kind, PointerType) else kind
    if not isinstance(inner, TensorType):
        raise UnsupportedError(f"tt.make_tensor_ptr of {kind}")
    tensors = [machine.tensor(v, operation) for v in operands]
    rank = len(inner.shape)
    if len(tensors) != 1 + 3 * rank:
        raise UnsupportedError(f"tt.make_tensor_ptr with {len(tensors)} operands")
    shape, strides, offsets = (
        tuple(tensors[1 + i * rank : 1 + (i + 1) * rank]) for i in range(3)
    )
    base = tensors[0]
    return [Descriptor(base, shape, strides, offsets, inner.shape, inner.element)]


def _make_descriptor(
    machine: Machine, operation: Operation, operands: Sequence[Value]
) -> Sequence[Value]:
    """``tt.make_tensor_descriptor base, [shape], [strides]``."""
    tensors = [machine.tensor(v, operation) for v in operands]
    rank = (len(tensors) - 1) // 2
    kind = next(
        (k for k in (*operation.result_types, *operation.types) if _block_of(k)), None
    )
    block = _block_of(kind)
    if kind is None or block is None or len(block.shape) != rank:
        raise UnsupportedError("tt.make_tensor_descriptor of another form")
    shape, strides = tuple(tensors[1 : 1 + rank]), tuple(tensors[1 + rank :])
    return [Descriptor(tensors[0], shape, strides, (), block.shape, block.element)]


def _block_of(kind: Type | None) -> TensorType | None:
    if isinstance(kind, OtherType) and isinstance(kind.inner, TensorType):
        return kind.inner
    if isinstance(kind, PointerType) and isinstance(kind.pointee, TensorType):
        return kind.pointee
    return kind if isinstance(kind, TensorType) else None


def _advance(
    machine: Machine, operation: Operation, operands: Sequence[Value]
) -> Sequence[Value]:
    found = operands[0]
    if not isinstance(found, Descriptor):
        raise UnsupportedError("tt.advance of something else than a block pointer")
    steps = [machine.tensor(v, operation) for v in operands[1:]]
    offsets = tuple(
        scalar(old.element, add(old.at(), step.at()))
        for old, step in zip(found.offsets, steps, strict=True)
    )
    return [
        Descriptor(
            found.base, found.shape, found.strides, offsets, found.block, found.element
        )
    ]


def _places(
    descriptor: Descriptor, offsets: Sequence[Tensor], checked: Sequence[int]
) -> tuple[Tensor, Tensor]:
    """Return the pointers of a window, and which of them are within the extents."""

    def indices(coordinates: Coordinates) -> list[Term]:
        return [
            add(start.at(), lane)
            for start, lane in zip(offsets, coordinates, strict=True)
        ]

    def place(coordinates: Coordinates) -> Term:
        total = ZERO
        for index, stride in zip(indices(coordinates), descriptor.strides, strict=True):
            total = add(total, mul(index, stride.at()))
        return moved(descriptor.base.at(), total)

    def inside(coordinates: Coordinates) -> Term:
        found = TRUE
        for dim, index in enumerate(indices(coordinates)):
            if dim in checked:
                extent = descriptor.shape[dim].at()
                found = conjoin(found, at_most(ZERO, index), less(index, extent))
        return found

    kind = PointerType(descriptor.element)
    return (
        Tensor(descriptor.block, kind, place),
        Tensor(descriptor.block, ScalarType("i1"), inside),
    )


def _access_block(
    machine: Machine,
    operation: Operation,
    kind: str,
    descriptor: Descriptor,
    offsets: Sequence[Tensor] | None,
    value: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """Note an access through a window; a descriptor checks all of its dims."""
    if offsets is None:
        offsets = descriptor.offsets
        checked = operation.attributes.get("boundaryCheck", ())
    else:
        checked = range(len(descriptor.block))
    if len(offsets) != len(descriptor.block):
        raise UnsupportedError(f"{operation.name} with {len(offsets)} offsets")
    where, inside = _places(descriptor, offsets, tuple(checked))
    machine.access(kind, operation, where, inside, value)
    return where, inside


def _window(
    machine: Machine,
    operation: Operation,
    where: Tensor,
    inside: Tensor,
    element: Type,
    shape: Sequence[int],
    defined: bool,
) -> Tensor:
    epochs = {b: machine.epoch(b) for b, _, _ in alternatives(where.term())}

    def at(coordinates: Coordinates) -> Term:
        full = coordinates
        if len(shape) != len(where.shape):  # dims of size 1 are dropped in front
            full = (ZERO,) * (len(where.shape) - len(shape)) + coordinates
        value = _contents(element, where.at(full), epochs)
        if defined and sort_of(element) != "pointer":
            rest = constant_term(element, 0)
        else:
            rest = poison(sort_of(element))
        return choose(inside.at(full), value, rest)

    return Tensor(shape, element, at)


def _load_block(
    machine: Machine, operation: Operation, descriptor: Descriptor
) -> Sequence[Value]:
    where, inside = _access_block(machine, operation, LOAD, descriptor, None, None)
    defined = "padding" in operation.attributes
    return [
        _window(
            machine,
            operation,
            where,
            inside,
            descriptor.element,
            descriptor.block,
            defined,
        )
    ]


def _descriptor_load(
    machine: Machine, operation: Operation, operands: Sequence[Value]
) -> Sequence[Value]:
    descriptor = _descriptor(operation, operands)
    offsets = [machine.tensor(v, operation) for v in operands[1:]]
    where, inside = _access_block(machine, operation, LOAD, descriptor, offsets, None)
    kind = machine.result_kind(operation, 0)
    shape, element = shape_of(kind), element_of(kind)
    return [_window(machine, operation, where, inside, element, shape, True)]


def _descriptor_store(
    machine: Machine, operation: Operation, operands: Sequence[Value]
) -> Sequence[Value]:
    descriptor = _descriptor(operation, operands)
    *offsets, value = (machine.tensor(v, operation) for v in operands[1:])
    kind = STORE if operation.name == "tt.descriptor_store" else ATOMIC
    _access_block(machine, operation, kind, descriptor, offsets, value)
    return []


def _descriptor_rows(
    machine: Machine, operation: Operation, operands: Sequence[Value]
) -> Sequence[Value]:
    """Gather or scatter: a row index for each row, one start of the columns."""
    descriptor = _descriptor(operation, operands)
    rows, start, *values = (machine.tensor(v, operation) for v in operands[1:])
    if len(rows.shape) != 1 or len(descriptor.block) != 2:
        raise UnsupportedError(f"{operation.name} of another form")

    def indices(coordinates: Coordinates) -> tuple[Term, Term]:
        return rows.at(coordinates[:1]), add(start.at(), coordinates[1])

    def place(coordinates: Coordinates) -> Term:
        total = ZERO
        for index, stride in zip(indices(coordinates), descriptor.strides, strict=True):
            total = add(total, mul(index, stride.at()))
        return moved(descriptor.base.at(), total)

    def within(coordinates: Coordinates) -> Term:
        found = TRUE
        for index, extent in zip(indices(coordinates), descriptor.shape, strict=True):
            found = conjoin(found, at_most(ZERO, index), less(index, extent.at()))
        return found

    block = (rows.shape[0], descriptor.block[1])
    where = Tensor(block, PointerType(descriptor.element), place)
    inside = Tensor(block, ScalarType("i1"), within)
    if values:
        machine.access(STORE, operation, where, inside, values[0])
        return []
    machine.access(LOAD, operation, where, inside, None)
    element = element_of(machine.result_kind(operation, 0))
    return [_window(machine, operation, where, inside, element, block, True)]


def _descriptor(operation: Operation, operands: Sequence[Value]) -> Descriptor:
    found = operands[0]
    if not isinstance(found, Descriptor):
        raise UnsupportedError(f"{operation.name} of a descriptor from the host")
    return found


MEMORY: dict[str, Handler] = {
    "tt.addptr": _addptr,
    "tt.load": _load,
    "tt.store": _store,
    "tt.atomic_rmw": _atomic,
    "tt.atomic_cas": _atomic,
    "tt.make_tensor_ptr": _make_pointer,
    "tt.advance": _advance,
    "tt.make_tensor_descriptor": _make_descriptor,
    "tt.descriptor_load": _descriptor_load,
    "tt.descriptor_store": _descriptor_store,
    "tt.descriptor_reduce": _descriptor_store,
    "tt.descriptor_gather": _descriptor_rows,
    "tt.descriptor_scatter": _descriptor_rows,
    "tt.print": _no_effect,
    "tt.assert": _assert,
    "gpu.barrier": _no_effect,
    "ttg.barrier": _no_effect,
    "tt.debug_barrier": _no_effect,
    "llvm.intr.assume": _assume,
}
