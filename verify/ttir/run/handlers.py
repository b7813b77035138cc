"""What operations do in a run; the table is ``HANDLERS``."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from verify.mlir import (
    Dense,
    HexFloat,
    Operation,
    TensorType,
    Type,
    element_of,
    shape_of,
)

from . import numbers
from .interpreter import (
    Data,
    Interpreter,
    ProgramEndedError,
    RunError,
    Window,
    joined_poison,
)

Array = Any
Handler = Callable[[Interpreter, Operation, Sequence[Any]], Sequence[Any]]


def kind_of(operation: Operation, index: int = 0) -> Type:
    """Return the type of a result."""
    if operation.result_types:
        return operation.result_types[min(index, len(operation.result_types) - 1)]
    if operation.types:
        return operation.types[-1]
    raise RunError(f"{operation.name} without types")


def elementwise(
    run: Interpreter, operation: Operation, operands: Sequence[Any]
) -> Sequence[Any]:
    """Run an ``arith`` or ``math`` operation, or a conversion."""
    name = operation.name.partition(".")[2]
    kind = kind_of(operation)
    poison = joined_poison(*operands)
    arrays = [operand.values for operand in operands]
    if name == "cmpi":
        source = operation.types[0]
        values = numbers.compare_integers(source, operation.words[0], *arrays[:2])
    elif name == "cmpf":
        values = numbers.compare_floats(operation.words[0], *arrays)
    elif name in ("extsi", "extui", "trunci", "index_cast"):
        values = _cast(run, name, operation.types[0], kind, arrays[0])
    elif name in ("fptosi", "fptoui"):
        safe = np.nan_to_num(arrays[0], nan=0.0, posinf=2.0**31, neginf=-(2.0**31))
        values = numbers.wrapped(kind, run.integers(np.trunc(safe)), False)
    elif name == "absi":
        values = numbers.wrapped(kind, np.abs(arrays[0]), run.exact)
    elif numbers.integer_range(kind) is not None and len(arrays) == 2:
        try:
            values = numbers.binary_integer(name, kind, arrays[0], arrays[1], run.exact)
        except KeyError:
            raise RunError(f"{operation.name} cannot be run") from None
    else:
        if name == "extern_elementwise":
            name = str(operation.attributes.get("symbol", ""))
            name = name.removeprefix("__nv_").removesuffix("f")
        function = numbers.float_operation(name)
        if function is None:
            raise RunError(f"{operation.name} {name} cannot be run")
        values = function(*arrays)
    return [Data(np.asarray(values), poison)]


def _cast(run: Interpreter, name: str, source: Type, target: Type, a: Array) -> Array:
    if a.dtype == bool:
        values = run.integers(a.astype(np.int64))
        return -values if name == "extsi" else values
    if str(element_of(target)) == "i1":
        return np.asarray(a % 2 == 1).astype(bool)
    if name == "extui":
        return run.integers(numbers.unsigned(source, a))
    return numbers.wrapped(target, a, run.exact)


def _constant(
    run: Interpreter, operation: Operation, operands: Sequence[Any]
) -> Sequence[Any]:
    value = operation.attributes["value"]
    kind = operation.types[0] if operation.types else None
    inner = value.value if isinstance(value, Dense) else value
    shape = shape_of(kind) if kind is not None else ()
    flat = np.array(_numbers(inner, kind), dtype=object)
    if flat.shape != shape:
        flat = np.broadcast_to(flat.reshape((1,) * len(shape)), shape)
    return [Data(_of_kind(run, kind, flat))]


def _numbers(value: Any, kind: Type | None) -> Any:
    if isinstance(value, tuple):
        return [_numbers(one, kind) for one in value]
    if isinstance(value, HexFloat):
        return _float_of(value.bits, str(element_of(kind)) if kind else "")
    return value


def _float_of(bits: int, name: str) -> float:
    if name == "bf16":
        return float(np.array(bits << 16, np.uint32).view(np.float32))
    types = {
        "f32": (np.uint32, np.float32),
        "f16": (np.uint16, np.float16),
        "f64": (np.uint64, np.float64),
    }
    if name not in types:
        raise RunError(f"a constant of {name}")
    plain, real = types[name]
    return float(np.array(bits, plain).view(real))


def _of_kind(run: Interpreter, kind: Type | None, values: Array) -> Array:
    if kind is None or str(element_of(kind)) == "i1":
        return np.asarray(values).astype(bool)
    span = numbers.integer_range(kind)
    if span is None:
        return np.asarray(values).astype(float)
    low, high = span
    return run.integers((values - low) % (high - low + 1) + low)


def _select(
    run: Interpreter, operation: Operation, operands: Sequence[Any]
) -> Sequence[Any]:
    test, then, other = operands
    if not isinstance(then, Data):
        return [then if bool(test.values) else other]
    values = np.where(test.values, then.values, other.values)
    parts = [p.poison if p.poison is not None else False for p in (then, other)]
    poison = None
    if any(p.poison is not None for p in operands):
        chosen = np.where(test.values, *parts)
        own = test.poison if test.poison is not None else False
        poison = np.broadcast_to(chosen | own, values.shape)
    buffer = then.buffer
    if then.buffer is not None and then.buffer != other.buffer:
        names = [np.asarray(p.buffer, dtype=object) for p in (then, other)]
        buffer = np.broadcast_to(np.where(test.values, *names), values.shape)
    return [Data(values, poison, buffer)]


def _map(function: Callable[[Operation, Array], Array]) -> Handler:
    """Return the handler of an operation that moves elements."""

    def handler(
        run: Interpreter, operation: Operation, operands: Sequence[Any]
    ) -> Sequence[Any]:
        one = operands[0]
        poison, buffer = one.poison, one.buffer
        if poison is not None:
            poison = function(operation, np.broadcast_to(poison, one.values.shape))
        if isinstance(buffer, np.ndarray):
            buffer = function(operation, buffer)
        return [Data(function(operation, one.values), poison, buffer)]

    return handler


def _range(
    run: Interpreter, operation: Operation, operands: Sequence[Any]
) -> Sequence[Any]:
    start, end = operation.attributes["start"], operation.attributes["end"]
    return [Data(run.integers(np.arange(start, end)))]


def _program(
    run: Interpreter, operation: Operation, operands: Sequence[Any]
) -> Sequence[Any]:
    table = run.launch.program
    if operation.name == "tt.get_num_programs":
        table = run.launch.grid
    default = 0 if operation.name == "tt.get_program_id" else 1
    return [Data(run.integers(table.get(operation.words[0], default)))]


def _join(
    run: Interpreter, operation: Operation, operands: Sequence[Any]
) -> Sequence[Any]:
    parts = [operand.values for operand in operands]
    poison = None
    if joined_poison(*operands) is not None:
        shapes = parts[0].shape
        poison = np.stack(
            [
                np.broadcast_to(False if o.poison is None else o.poison, shapes)
                for o in operands
            ],
            -1,
        )
    return [Data(np.stack(parts, -1), poison, operands[0].buffer)]


def _split(
    run: Interpreter, operation: Operation, operands: Sequence[Any]
) -> Sequence[Any]:
    one = operands[0]
    return [
        Data(
            one.values[..., which],
            None if one.poison is None else one.poison[..., which],
            one.buffer,
        )
        for which in (0, 1)
    ]


def _cat(
    run: Interpreter, operation: Operation, operands: Sequence[Any]
) -> Sequence[Any]:
    if joined_poison(*operands) is not None:
        raise RunError("tt.cat of poison")
    values = np.concatenate([operand.values for operand in operands])
    return [Data(values, None, operands[0].buffer)]


def _gather(
    run: Interpreter, operation: Operation, operands: Sequence[Any]
) -> Sequence[Any]:
    source, index = operands
    axis = int(operation.attributes["axis"])
    size = source.values.shape[axis]
    places = np.clip(index.values.astype(np.int64), 0, size - 1)
    values = np.take_along_axis(source.values, places, axis)
    poison = index.poison
    if source.poison is not None:
        full = np.broadcast_to(source.poison, source.values.shape)
        taken = np.take_along_axis(full, places, axis)
        poison = taken if poison is None else taken | poison
    return [Data(values, poison)]


def _addptr(
    run: Interpreter, operation: Operation, operands: Sequence[Any]
) -> Sequence[Any]:
    base, offset = operands
    values = run.integers(base.values + offset.values)
    return [Data(values, joined_poison(base, offset), base.buffer)]


def _bitcast(
    run: Interpreter, operation: Operation, operands: Sequence[Any]
) -> Sequence[Any]:
    one = operands[0]
    if one.buffer is not None:
        return [one]
    values = numbers.bitcast(operation.types[0], kind_of(operation), one.values)
    return [
        Data(run.integers(values) if values.dtype == np.int64 else values, one.poison)
    ]


def _buffers(pointer: Data, shape: tuple[int, ...]) -> list[tuple[str, Array]]:
    """Return each buffer of a pointer with the lanes that are in it."""
    if isinstance(pointer.buffer, np.ndarray):
        names = np.broadcast_to(pointer.buffer, shape)
        return [(name, names == name) for name in sorted(set(names.flat))]
    return [(pointer.buffer, np.ones(shape, dtype=bool))]


def touched(
    run: Interpreter,
    access: str,
    operation: Operation,
    pointer: Data,
    live: Array,
    mask_poison: Array | None,
    value: Data | None = None,
) -> list[tuple[str, Array, Array]]:
    """Note an access; return buffer, offsets and lanes in bounds."""
    shape = np.broadcast_shapes(pointer.values.shape, live.shape)
    offsets = np.broadcast_to(pointer.values, shape)
    live = np.broadcast_to(live, shape)
    found = []
    for buffer, here in _buffers(pointer, shape):
        lanes = live & here
        bad = np.zeros(shape, dtype=bool)
        if mask_poison is not None:
            bad = bad | (mask_poison & here)
        for part in (pointer, value):
            if part is not None and part.poison is not None:
                bad = bad | (lanes & part.poison)
        if bad.any():
            run.memory.poisoned(access, buffer, offsets, bad, operation.line)
        inside = run.memory.check(access, buffer, offsets, lanes, operation.line)
        found.append((buffer, offsets, inside))
    return found


def _load(
    run: Interpreter, operation: Operation, operands: Sequence[Any]
) -> Sequence[Any]:
    if isinstance(operands[0], Window):
        window = operands[0]
        checked = operation.attributes.get("boundaryCheck", ())
        return [_window_load(run, operation, window, window.offsets, checked)]
    pointer = operands[0]
    mask = operands[1] if len(operands) > 1 else None
    other = operands[2] if len(operands) > 2 else None
    live = np.asarray(True) if mask is None else mask.values
    kind = operation.types[0]
    return [_read(run, operation, pointer, live, mask, other, kind)]


def _read(
    run: Interpreter,
    operation: Operation,
    pointer: Data,
    live: Array,
    mask: Data | None,
    other: Data | None,
    kind: Type,
) -> Data:
    from verify.mlir import PointerType

    element = element_of(kind)
    if isinstance(element, PointerType):
        element = element.pointee
    mask_poison = None if mask is None else mask.poison
    parts = touched(run, "load", operation, pointer, live, mask_poison)
    shape = parts[0][1].shape
    live = np.broadcast_to(live, shape)
    values = np.zeros(shape, dtype=float)
    if numbers.integer_range(element) is not None:
        values = run.integers(np.zeros(shape, dtype=np.int64))
    if str(element) == "i1":
        values = values.astype(bool)
    if other is not None:
        values = np.array(np.broadcast_to(other.values, shape))
    for buffer, offsets, inside in parts:
        held = run.memory.read(buffer, np.where(inside, offsets, 0))
        values = np.where(inside, held.astype(values.dtype), values)
    poison = joined_poison(pointer) if mask is None else joined_poison(pointer, mask)
    if mask is not None and other is None and not live.all():
        poison = ~live if poison is None else poison | ~live
    elif other is not None and other.poison is not None:
        extra = ~live & other.poison
        poison = extra if poison is None else poison | extra
    return Data(values, poison)


def _store(
    run: Interpreter, operation: Operation, operands: Sequence[Any]
) -> Sequence[Any]:
    pointer, value = operands[0], operands[1]
    mask_poison = None
    if isinstance(pointer, Window):
        checked = operation.attributes.get("boundaryCheck", ())
        pointer, live = window_places(run, pointer, pointer.offsets, checked)
    else:
        mask = operands[2] if len(operands) > 2 else None
        live = np.asarray(True) if mask is None else mask.values
        mask_poison = None if mask is None else mask.poison
    _write(run, "store", operation, pointer, live, value, mask_poison)
    return []


def _write(
    run: Interpreter,
    access: str,
    operation: Operation,
    pointer: Data,
    live: Array,
    value: Data,
    mask_poison: Array | None = None,
) -> None:
    parts = touched(run, access, operation, pointer, live, mask_poison, value)
    for buffer, offsets, inside in parts:
        values = np.broadcast_to(value.values, offsets.shape)
        run.memory.write(buffer, offsets, values, inside)


def _atomic(
    run: Interpreter, operation: Operation, operands: Sequence[Any]
) -> Sequence[Any]:
    pointer, value = operands[0], operands[1]
    mask = operands[2] if len(operands) > 2 and "cas" not in operation.name else None
    live = np.asarray(True) if mask is None else mask.values
    mask_poison = None if mask is None else mask.poison
    parts = touched(run, "atomic", operation, pointer, live, mask_poison, value)
    old = np.zeros(parts[0][1].shape, dtype=value.values.dtype)
    for buffer, offsets, inside in parts:
        before = run.memory.read(buffer, np.where(inside, offsets, 0))
        old = np.where(inside, before.astype(old.dtype), old)
        values = np.broadcast_to(value.values, offsets.shape)
        if operation.words and operation.words[0] in ("fadd", "add"):
            for place in np.argwhere(inside):
                cell = tuple(place)
                here = np.asarray([offsets[cell]], dtype=object)
                total = run.memory.read(buffer, here)[0] + values[cell]
                run.memory.write(buffer, here, np.asarray([total]), here == here)
        else:
            run.memory.write(buffer, offsets, values, inside)
    return [Data(old)] if operation.results else []


def window_places(
    run: Interpreter,
    window: Window,
    offsets: Sequence[int],
    checked: Sequence[int],
) -> tuple[Data, Array]:
    """Return the pointers of a window and which are within its extents."""
    total = run.integers(np.zeros(window.block, dtype=np.int64)) + window.base.values
    live = np.ones(window.block, dtype=bool)
    for dim, size in enumerate(window.block):
        index = run.integers(np.arange(size)) + int(offsets[dim])
        index = index.reshape([-1 if d == dim else 1 for d in range(len(window.block))])
        total = total + index * window.strides[dim]
        if dim in checked:
            live = live & ((index >= 0) & (index < window.shape[dim])).astype(bool)
    return Data(total, None, window.base.buffer), live


def _window_load(
    run: Interpreter,
    operation: Operation,
    window: Window,
    offsets: Sequence[int],
    checked: Sequence[int],
) -> Data:
    pointer, live = window_places(run, window, offsets, checked)
    other = Data(np.asarray(0))
    return _read(run, operation, pointer, live, Data(live), other, window.element)


def _window(
    run: Interpreter, operation: Operation, operands: Sequence[Any]
) -> Sequence[Any]:
    kinds = [*operation.result_types, *operation.types]
    inner: Any = None
    for kind in kinds:
        inner = getattr(kind, "inner", None) or getattr(kind, "pointee", None) or kind
        if isinstance(inner, TensorType):
            break
    if not isinstance(inner, TensorType):
        raise RunError(f"{operation.name} of another form")
    rank = len(inner.shape)
    rest = [int(operand.values) for operand in operands[1:]]
    shape, strides = tuple(rest[:rank]), tuple(rest[rank : 2 * rank])
    offsets = tuple(rest[2 * rank :]) or (0,) * rank
    return [Window(operands[0], shape, strides, offsets, inner.shape, inner.element)]


def _advance(
    run: Interpreter, operation: Operation, operands: Sequence[Any]
) -> Sequence[Any]:
    window = operands[0]
    steps = [int(operand.values) for operand in operands[1:]]
    offsets = tuple(a + b for a, b in zip(window.offsets, steps, strict=True))
    return [
        Window(
            window.base,
            window.shape,
            window.strides,
            offsets,
            window.block,
            window.element,
        )
    ]


def _descriptor(
    run: Interpreter, operation: Operation, operands: Sequence[Any]
) -> Sequence[Any]:
    window = operands[0]
    every = range(len(window.block))
    if operation.name == "tt.descriptor_load":
        offsets = [int(operand.values) for operand in operands[1:]]
        found = _window_load(run, operation, window, offsets, every)
        shape = shape_of(kind_of(operation))
        poison = None if found.poison is None else found.poison.reshape(shape)
        return [Data(found.values.reshape(shape), poison)]
    offsets = [int(operand.values) for operand in operands[1:-1]]
    pointer, live = window_places(run, window, offsets, every)
    value = operands[-1]
    access = "store" if operation.name == "tt.descriptor_store" else "atomic"
    _write(run, access, operation, pointer, live, value)
    return []


def _descriptor_rows(
    run: Interpreter, operation: Operation, operands: Sequence[Any]
) -> Sequence[Any]:
    window, rows, start, *values = operands
    columns = run.integers(np.arange(window.block[1])) + int(start.values)
    row, column = rows.values[:, None], columns[None, :]
    total = row * window.strides[0] + column * window.strides[1] + window.base.values
    inside = (row >= 0) & (row < window.shape[0]) & (column >= 0)
    live = (inside & (column < window.shape[1])).astype(bool)
    pointer = Data(total, None, window.base.buffer)
    if values:
        _write(run, "store", operation, pointer, live, values[0])
        return []
    other = Data(np.asarray(0))
    return [_read(run, operation, pointer, live, Data(live), other, window.element)]


def _nothing(
    run: Interpreter, operation: Operation, operands: Sequence[Any]
) -> Sequence[Any]:
    return []


def _assert(
    run: Interpreter, operation: Operation, operands: Sequence[Any]
) -> Sequence[Any]:
    if not np.all(operands[0].values):
        raise ProgramEndedError
    return []


def _dims(operation: Operation, a: Array) -> Array:
    return np.broadcast_to(a, shape_of(kind_of(operation)))


HANDLERS: dict[str, Handler] = {
    "arith.constant": _constant,
    "arith.select": _select,
    "arith.bitcast": _bitcast,
    "tt.bitcast": _bitcast,
    "tt.make_range": _range,
    "tt.get_program_id": _program,
    "tt.get_num_programs": _program,
    "tt.splat": _map(_dims),
    "tt.broadcast": _map(_dims),
    "tt.unsplat": _map(lambda operation, a: a.reshape(())),
    "tt.expand_dims": _map(
        lambda operation, a: np.expand_dims(a, int(operation.attributes["axis"]))
    ),
    "tt.trans": _map(
        lambda operation, a: np.transpose(a, operation.attributes["order"])
    ),
    "tt.reshape": _map(
        lambda operation, a: np.reshape(a, shape_of(kind_of(operation)))
    ),
    "tt.join": _join,
    "tt.split": _split,
    "tt.cat": _cat,
    "tt.gather": _gather,
    "tt.addptr": _addptr,
    "tt.load": _load,
    "tt.store": _store,
    "tt.atomic_rmw": _atomic,
    "tt.atomic_cas": _atomic,
    "tt.make_tensor_ptr": _window,
    "tt.make_tensor_descriptor": _window,
    "tt.advance": _advance,
    "tt.descriptor_load": _descriptor,
    "tt.descriptor_store": _descriptor,
    "tt.descriptor_gather": _descriptor_rows,
    "tt.descriptor_scatter": _descriptor_rows,
    "tt.descriptor_reduce": _descriptor,
    "tt.print": _nothing,
    "tt.assert": _assert,
    "gpu.barrier": _nothing,
    "ttg.barrier": _nothing,
    "tt.debug_barrier": _nothing,
    "llvm.intr.assume": _nothing,
}
