"""Programs, kernels and schedules, evaluated in torch: what they mean.

This is the oracle that lowerings, the scheduler and the printers are tested against.
It is vectorised over all axes of a node and makes no attempt to be lean. It checks
what the IR promises: loads in bounds, nothing read before it is written, no element
written twice by stores that claim not to.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from .expression import Expression, loads
from .kernel import (
    Allocate,
    Free,
    Kernel,
    Prefix,
    Reduction,
    Schedule,
    Store,
    folded_axes,
)
from .node import (
    Alias,
    Assign,
    Axis,
    Buffer,
    Extern,
    Map,
    Node,
    Product,
    Program,
    Reduce,
    Reference,
    Scan,
    Scatter,
)
from .points import EvaluationError, Points, size
from .product import Factors, factors_of, multiplied, stages_of
from .reducers import reduce, scan, scatter
from .scalar import torch_type

Tensors = dict[str, torch.Tensor]
Symbols = Mapping[str, int]


def run_program(
    program: Program, inputs: Sequence[torch.Tensor | int]
) -> list[torch.Tensor | int | None]:
    """Return the outputs of a program; an :class:`Assign` changes the inputs.

    Args:
        program: What to evaluate.
        inputs: Tensors and sizes in the order of ``program.inputs``.

    Raises:
        EvaluationError: the program breaks a rule of the IR.
        IndexError: a checked index is out of range.
    """
    tensors, symbols = bind(program.inputs, inputs)
    buffers = program.buffers()
    for node in program.nodes:
        run_node(node, tensors, symbols, buffers)
    return [_output(output, tensors, symbols) for output in program.outputs]


def run_schedule(
    schedule: Schedule, inputs: Sequence[torch.Tensor | int]
) -> list[torch.Tensor | int | None]:
    """Return the outputs of a schedule, as :func:`run_program` does.

    Fresh memory is filled with NaN or a large number, so what is read before it is
    written shows.
    """
    tensors, symbols = bind(schedule.inputs, inputs)
    buffers = {b.name: b for b in schedule.inputs if isinstance(b, Buffer)}
    for step in schedule.steps:
        if isinstance(step, Kernel):
            run_kernel(step, tensors, symbols)
        elif isinstance(step, Allocate):
            buffers[step.buffer.name] = step.buffer
            tensors[step.buffer.name] = _allocated(step, tensors, symbols)
        elif isinstance(step, Free):
            del tensors[step.name]
        else:
            run_node(step, tensors, symbols, buffers)
            made = (step.buffer,) if isinstance(step, Alias) else step.outputs
            buffers.update({b.name: b for b in made if b is not None})
    return [_output(output, tensors, symbols) for output in schedule.outputs]


def bind(
    declared: Sequence[Buffer | Expression], given: Sequence[torch.Tensor | int]
) -> tuple[Tensors, dict[str, int]]:
    """Return the arrays and sizes by name."""
    if len(declared) != len(given):
        raise EvaluationError(f"needed {len(declared)} inputs, got {len(given)}")
    tensors: Tensors = {}
    symbols: dict[str, int] = {}
    for what, value in zip(declared, given, strict=True):
        if isinstance(what, Buffer):
            if not isinstance(value, torch.Tensor):
                raise EvaluationError(f"{what.name} is an array, got {value!r}")
            tensors[what.name] = value
            for extent, found in zip(what.shape, value.shape, strict=True):
                if extent.op == "symbol":
                    symbols.setdefault(str(extent.data), int(found))
        elif what.op == "symbol":
            symbols[str(what.data)] = int(value)
    for what in declared:
        if isinstance(what, Buffer):
            _check(what, tensors[what.name], symbols)
    return tensors, symbols


def run_node(
    node: Node, tensors: Tensors, symbols: Symbols, buffers: Mapping[str, Buffer]
) -> None:
    """Evaluate one node: add what it makes to ``tensors``."""
    if isinstance(node, Map):
        points = _points(node.axes, tensors, symbols, node.buffer.device)
        _write(node.buffer, points.tensor(node.value), tensors, symbols)
    elif isinstance(node, Reduce):
        axes = (*node.axes, *node.reduced)
        points = _points(axes, tensors, symbols, node.buffers[0].device)
        results = _reduced(node.reducer, points, node.values, len(node.axes))
        for buffer, result in zip(node.buffers, results, strict=True):
            _write(buffer, result, tensors, symbols)
    elif isinstance(node, Product):
        read = [str(load.data) for load in loads(node.left, node.right, *node.values)]
        arrays = {name: buffers[name] for name in read}
        for buffer in node.buffers:
            tensors[buffer.name] = _empty(buffer, symbols)
            arrays[buffer.name] = buffer
        stages = stages_of(node)
        run_kernel(
            Kernel("product", node.axes, (node.term,), stages, arrays), tensors, symbols
        )
    elif isinstance(node, Scan):
        points = _points(node.axes, tensors, symbols, node.buffers[0].device)
        results = scan(node.kind, points.tensor(node.value), node.along)
        for buffer, result in zip(node.buffers, results, strict=True):
            _write(buffer, result, tensors, symbols)
    elif isinstance(node, Scatter):
        base = tensors[node.base]
        points = _points(node.axes, tensors, symbols, node.buffer.device)
        result = base.clone(memory_format=torch.contiguous_format)
        _scattered(result, points, node)
        _write(node.buffer, result, tensors, symbols)
    elif isinstance(node, Assign):
        target = tensors[node.target]
        points = _points(node.axes, tensors, symbols, str(target.device))
        value = points.tensor(node.value)
        if value.dtype != target.dtype or value.shape != target.shape:
            raise EvaluationError(f"{node.target} is assigned another type or shape")
        target.copy_(value.clone())
    elif isinstance(node, Alias):
        base, known = tensors[node.base], buffers[node.base]
        offset = _offset(node.buffer, symbols) - _offset(known, symbols)
        view = base.view(torch_type(node.buffer.dtype))
        tensors[node.buffer.name] = view.as_strided(
            [size(extent, symbols) for extent in node.buffer.shape],
            [size(stride, symbols) for stride in node.buffer.strides or ()],
            view.storage_offset() + offset,
        )
    else:
        _call(node, tensors, symbols)


def run_kernel(kernel: Kernel, tensors: Tensors, symbols: Symbols) -> None:
    """Evaluate a kernel: its stores change the arrays in ``tensors``.

    Raises:
        EvaluationError: it breaks a rule: an index out of bounds, a store that claims
            to be injective and is not, a read of what no stage made.
        IndexError: a checked index is out of range.
    """
    arrays = dict(tensors)
    for name, buffer in kernel.buffers.items():
        if name in tensors:
            arrays[name] = _seen(buffer, tensors[name], symbols)
    device = next((b.device for b in kernel.buffers.values()), "cpu")
    outer = _points(kernel.outer, arrays, symbols, device)
    full = _points((*kernel.outer, *kernel.inner), arrays, symbols, device)
    ones = (1,) * len(kernel.inner)
    folds = [kernel.outer.index(a) for a in folded_axes(kernel.outer, kernel.stages)]
    kept = [axis for n, axis in enumerate(kernel.outer) if n not in folds]
    across = _points((*kept, *kernel.inner), arrays, symbols, device)
    for stage in kernel.stages:
        if isinstance(stage, Store):
            points = across if stage.folded else full if stage.inner else outer
            if stage.buffer not in kernel.buffers:
                raise EvaluationError(
                    f"{kernel.name} stores to {stage.buffer}, unlisted"
                )
            _stored(arrays[stage.buffer], points, stage)
            outer.forget()
            full.forget()
            continue
        if isinstance(stage, Reduction) and stage.folded:
            folded = _folded(stage, full, folds)
            across.locals.update(zip(stage.results, folded, strict=True))
            continue
        if isinstance(stage, Reduction):
            factors = None if kernel.product is None else factors_of(kernel)
            if factors is not None:
                made = _multiplied(factors, kernel, arrays, symbols, device)
                results: tuple[torch.Tensor, ...] = (made,)
            else:
                results = _reduced(stage.reducer, full, stage.values, len(kernel.outer))
        else:
            results = _prefix(stage, full, len(kernel.outer))
        for name, dtype, result in zip(
            stage.results, stage.dtypes, results, strict=True
        ):
            if result.dtype != torch_type(dtype):
                raise EvaluationError(f"{name} is {result.dtype}, declared {dtype}")
            if isinstance(stage, Reduction):
                outer.locals[name] = result
                result = result.reshape(result.shape + ones)
            full.locals[name] = result


def _folded(
    stage: Reduction, full: Points, folds: Sequence[int]
) -> tuple[torch.Tensor, ...]:
    """Return a reduction over some of the outer axes."""
    (value,) = (full.tensor(v) for v in stage.values)
    kept = [n for n in range(value.dim()) if n not in folds]
    moved = value.permute(*kept, *folds)
    results = reduce(stage.reducer, moved.flatten(len(kept)))
    for name, dtype, result in zip(stage.results, stage.dtypes, results, strict=True):
        if result.dtype != torch_type(dtype):
            raise EvaluationError(f"{name} is {result.dtype}, declared {dtype}")
    return results


def _multiplied(
    factors: Factors, kernel: Kernel, tensors: Tensors, symbols: Symbols, device: str
) -> torch.Tensor:
    """Return a product at the outer points, without all points of the term at once."""
    left = _points((*factors.rows, factors.term), tensors, symbols, device)
    right = _points((factors.term, *factors.columns), tensors, symbols, device)
    return multiplied(factors, kernel.outer, left, right)


def _prefix(stage: Prefix, full: Points, along: int) -> tuple[torch.Tensor, ...]:
    if along != len(full.extents) - 1:
        raise EvaluationError(f"a scan needs one inner axis: {stage.results}")
    return scan(stage.kind, full.tensor(stage.value), along)


def _points(
    axes: Sequence[Axis], tensors: Tensors, symbols: Symbols, device: str
) -> Points:
    extents = [size(axis.extent, symbols) for axis in axes]
    return Points([axis.digit for axis in axes], extents, tensors, symbols, device)


def _reduced(
    reducer: str, points: Points, values: Sequence[Expression], outer: int
) -> tuple[torch.Tensor, ...]:
    (value,) = (points.tensor(v) for v in values)
    count = 1
    for extent in value.shape[outer:]:
        count *= extent
    return reduce(reducer, value.reshape(*value.shape[:outer], count))


def _scattered(target: torch.Tensor, points: Points, node: Scatter | Store) -> None:
    """Combine the value of a node into a contiguous array."""
    kept = None if node.condition is None else points.tensor(node.condition)
    position = torch.zeros((), dtype=torch.int64, device=target.device)
    inside = torch.ones((), dtype=torch.bool, device=target.device)
    for index, extent in zip(node.target, target.shape, strict=True):
        place = points.tensor(index, kept)
        inside = inside & (place >= 0) & (place < extent)
        position = position * extent + place
    value = points.tensor(node.value, kept)
    if value.dtype != target.dtype:
        raise EvaluationError(f"a store of {value.dtype} into {target.dtype}")
    position, inside = position.expand(value.shape), inside.expand(value.shape)
    if kept is not None:
        position, inside, value = position[kept], inside[kept], value[kept]
    if not bool(inside.all()):
        raise EvaluationError(f"a store leaves its buffer: {node.target}")
    distinct = node.unique if isinstance(node, Scatter) else node.injective
    if distinct and position.unique().numel() != position.numel():
        raise EvaluationError(f"a store writes an element twice: {node.target}")
    scatter(target.view(-1), position.reshape(-1), value.reshape(-1), node.mode)


def _stored(array: torch.Tensor, points: Points, stage: Store) -> None:
    changed = array.clone(memory_format=torch.contiguous_format)
    _scattered(changed, points, stage)
    array.copy_(changed)


def _seen(buffer: Buffer, tensor: torch.Tensor, symbols: Symbols) -> torch.Tensor:
    """Return an array as a kernel sees it: the scheduler may have split its dims."""
    shape = [size(extent, symbols) for extent in buffer.shape]
    if list(tensor.shape) == shape:
        return tensor
    if buffer.strides is None:
        return tensor.view(shape)
    strides = [size(stride, symbols) for stride in buffer.strides]
    return tensor.as_strided(shape, strides, tensor.storage_offset())


def _write(
    buffer: Buffer, value: torch.Tensor, tensors: Tensors, symbols: Symbols
) -> None:
    _check(buffer, value, symbols)
    made = _empty(buffer, symbols)
    tensors[buffer.name] = made.copy_(value)


def _empty(buffer: Buffer, symbols: Symbols) -> torch.Tensor:
    shape = [size(extent, symbols) for extent in buffer.shape]
    dtype = torch_type(buffer.dtype)
    if buffer.strides is None:
        return torch.empty(shape, dtype=dtype, device=buffer.device)
    strides = [size(stride, symbols) for stride in buffer.strides]
    return torch.empty_strided(shape, strides, dtype=dtype, device=buffer.device)


def _allocated(step: Allocate, tensors: Tensors, symbols: Symbols) -> torch.Tensor:
    made = _empty(step.buffer, symbols)
    if step.reuse is not None:
        old = tensors[step.reuse].untyped_storage()
        offset = _offset(step.buffer, symbols)
        return made.new_empty(0).set_(old, offset, made.shape, made.stride())
    return made.fill_(float("nan") if made.is_floating_point() else 113)


def _offset(buffer: Buffer, symbols: Symbols) -> int:
    return 0 if buffer.offset is None else size(buffer.offset, symbols)


def _check(buffer: Buffer, value: torch.Tensor, symbols: Symbols) -> None:
    shape = tuple(size(extent, symbols) for extent in buffer.shape)
    if tuple(value.shape) != shape or value.dtype != torch_type(buffer.dtype):
        raise EvaluationError(
            f"{buffer.name} is {buffer.dtype} {shape}, got {value.dtype} "
            f"{tuple(value.shape)}"
        )


def _output(
    output: str | Expression | None, tensors: Tensors, symbols: Symbols
) -> torch.Tensor | int | None:
    if isinstance(output, Expression):
        return size(output, symbols)
    if output is not None and output not in tensors:
        raise EvaluationError(f"the output {output} is never written")
    return None if output is None else tensors[output]


def _call(node: Extern, tensors: Tensors, symbols: Symbols) -> None:
    args = argument(node.args, tensors, symbols)
    result = node.target(*args, **argument(node.kwargs, tensors, symbols))
    if isinstance(result, Mapping):
        result = tuple(result.values())
    results = result if isinstance(result, (tuple, list)) else (result,)
    if len(node.outputs) != len(results):
        if node.outputs:
            raise EvaluationError(
                f"{node.target} returned {len(results)} values, declared "
                f"{len(node.outputs)}"
            )
        return
    for buffer, value in zip(node.outputs, results, strict=True):
        if buffer is not None:
            _check(buffer, value, symbols)
            shared = node.mutates or node.aliases.get(buffer.name)
            tensors[buffer.name] = value if shared else _settled(buffer, value, symbols)


def _settled(buffer: Buffer, value: torch.Tensor, symbols: Symbols) -> torch.Tensor:
    """Return the result of a call with the strides that its buffer has."""
    if buffer.strides is None:
        return value
    made = _empty(buffer, symbols)
    dims = zip(made.shape, made.stride(), value.stride(), strict=True)
    if all(extent == 1 or mine == given for extent, mine, given in dims):
        return value
    return made.copy_(value)


def argument(value: Any, tensors: Tensors, symbols: Symbols) -> Any:
    """Return an argument of an extern call with references resolved."""
    if isinstance(value, Reference):
        return tensors[value.name] if value.name in tensors else symbols[value.name]
    if isinstance(value, Expression):
        return size(value, symbols)
    if isinstance(value, (tuple, list)):
        return type(value)(argument(item, tensors, symbols) for item in value)
    if isinstance(value, Mapping):
        return {key: argument(item, tensors, symbols) for key, item in value.items()}
    return value
