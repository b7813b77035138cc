"""Strides that eager mode gives where PyTorch's fake tensors have others.

A captured graph learns strides from fake tensors, whose kernels in Python nest the dims
of a broadcast in another order than the iterator of the real ones wherever dims of one
element, equal strides or missing dims leave a choice. What leaves the compiled graph
would then have other strides than in eager mode. Here the iterator's rule is written
down, and fake results are corrected by it. Source: ATen's ``TensorIteratorBase``
(``compute_fast_setup_type``, ``reorder_dimensions``).
"""

import operator
from collections.abc import Callable, Sequence
from functools import cache, wraps
from typing import Any

import torch
from torch import fx

from compiler.torch_api import (
    fake_mode,
    fake_parts_by,
    fake_results_by,
    is_symbolic,
    size_hint,
    suggested_format,
)

aten = torch.ops.aten

Layout = tuple[tuple[int, ...], tuple[int, ...]]
"""Shape and strides [elements]."""

_POINTWISE = (
    *("add.Tensor", "sub.Tensor", "mul.Tensor", "div.Tensor", "div.Tensor_mode"),
    *("floor_divide", "remainder.Tensor", "fmod.Tensor", "pow.Tensor_Tensor"),
    *("maximum", "minimum", "fmax", "fmin", "copysign.Tensor", "nextafter", "hypot"),
    *("atan2", "gcd", "xlogy.Tensor", "special_xlog1py"),
    *("eq.Tensor", "ne.Tensor", "lt.Tensor", "le.Tensor", "gt.Tensor", "ge.Tensor"),
    *("logical_and", "logical_or", "logical_xor"),
    *("bitwise_and.Tensor", "bitwise_or.Tensor", "bitwise_xor.Tensor"),
    *("bitwise_left_shift.Tensor", "bitwise_right_shift.Tensor"),
    *("where.self", "addcmul", "addcdiv"),
    *("clamp.Tensor", "clamp_min.Tensor", "clamp_max.Tensor"),
)
"""Operators that run by the iterator, with their operands in this order; those that
PyTorch takes apart before a fake kernel could be asked are not here."""

_BATCH_NORMS = (
    aten.native_batch_norm.default,
    aten._native_batch_norm_legit.default,
    aten._native_batch_norm_legit.no_stats,
    aten._native_batch_norm_legit_no_training.default,
    aten._native_batch_norm_legit_functional.default,
)


def broadcast_strides(operands: Sequence[Layout]) -> tuple[int, ...]:
    """Return the strides of the result of an operation on each element.

    Args:
        operands: What is broadcast together; one without dims has no say.

    Example:
        >>> broadcast_strides([((2, 3), (1, 2)), ((3,), (1,))])
        (1, 2)
        >>> x = ((1, 1, 2, 1), (3, 24, 1, 6))
        >>> broadcast_strides([x, ((1, 1, 2, 1, 1), (3, 24, 1, 6, 6))])
        (4, 4, 2, 1, 4)
    """
    shape = tuple(torch.broadcast_shapes(*(shape for shape, _ in operands)))
    if all(own == shape for own, _ in operands):
        found = _alike(shape, [strides for _, strides in operands])
        if found is not None:
            return found
    rows = [_aligned(shape, *operand) for operand in operands]
    order: list[int] = []  # innermost first
    for dim in reversed(range(len(shape))):
        order.append(dim)
        place = len(order) - 1
        for other in range(place - 1, -1, -1):
            goes = _goes_inside(order[other], order[place], shape, rows)
            if goes is False:
                break
            if goes:
                order[other], order[place] = order[place], order[other]
                place = other
    return _nested(shape, order)


def _goes_inside(
    inner: int, outer: int, shape: tuple[int, ...], rows: Sequence[Sequence[int]]
) -> bool | None:
    """Return whether the outer of two dims belongs inside, None for no preference."""
    for strides in rows:
        a, b = strides[inner], strides[outer]
        if a == 0 or b == 0:
            continue
        if a != b:
            return bool(a > b)
        if shape[inner] > shape[outer]:
            return True
    return None


def _aligned(
    shape: tuple[int, ...], own: tuple[int, ...], strides: tuple[int, ...]
) -> list[int]:
    """Return an operand's strides over the broadcast shape, 0 where it repeats."""
    missing = len(shape) - len(own)
    kept = [
        0 if size == 1 and extent != 1 else stride
        for size, stride, extent in zip(own, strides, shape[missing:], strict=True)
    ]
    return [0] * missing + kept


def _alike(
    shape: tuple[int, ...], rows: Sequence[tuple[int, ...]]
) -> tuple[int, ...] | None:
    """Return the strides where operands of one shape are laid out alike, else None."""
    row_major = _nested(shape, range(len(shape))[::-1])
    if all(_equal(shape, strides, row_major) for strides in rows):
        return row_major
    if len(shape) in (4, 5):
        last = _nested(shape, (1, *range(len(shape) - 1, 1, -1), 0))
        if all(_equal(shape, strides, last) for strides in rows):
            return last
    if all(row == rows[0] for row in rows) and _is_dense(shape, rows[0]):
        return rows[0]
    return None


def _nested(shape: tuple[int, ...], order: Sequence[int]) -> tuple[int, ...]:
    strides = [0] * len(shape)
    step = 1
    for dim in order:
        strides[dim] = step
        step *= shape[dim]
    return tuple(strides)


def _equal(
    shape: tuple[int, ...], left: tuple[int, ...], right: tuple[int, ...]
) -> bool:
    rows = zip(shape, left, right, strict=True)
    return all(size == 1 or a == b for size, a, b in rows)


def _is_dense(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    step = 1
    for stride, size in sorted(zip(strides, shape, strict=True)):
        if size != 1:
            if stride != step:
                return False
            step *= size
    return True


@cache
def correct_fake_strides() -> None:
    """Let fake tensors have eager mode's strides, in this process, from now on.

    Dynamo reads strides off a graph as it captures it, so this comes before it.
    """
    for name in _POINTWISE:
        fake_results_by(_overload(name), _iterated)
        fake_parts_by(_overload(name), _iterated_symbols)
    for target in (aten.pow.Scalar, aten.poisson.default):
        fake_results_by(target, _row_major)
    if hasattr(aten, "_grouped_mm"):
        fake_results_by(aten._grouped_mm.default, _padded)
    fake_parts_by(aten.log_sigmoid_forward.default, _row_major_on_cpu)
    for target, correct in (
        (aten.index_fill.int_Scalar, _like_first),
        (aten.index_fill.int_Tensor, _like_first),
        (aten.constant_pad_nd.default, _copied_unless_padded),
    ):
        # which of the two is asked depends on PyTorch's release and on the sizes
        fake_results_by(target, correct)
        fake_parts_by(target, correct)
    fake_parts_by(aten.ldexp.Tensor, _scaled)
    for target in (aten.huber_loss.default, aten.binary_cross_entropy.default):
        fake_parts_by(target, _written_into_one_like_first)
    fake_parts_by(aten.native_dropout.default, _dropped)
    for target in _BATCH_NORMS:
        fake_parts_by(target, _normalised)


def correct_strides(graph: fx.GraphModule) -> None:
    """Give nodes of a graph eager mode's strides, where no fake kernel can.

    Args:
        graph: Of ATen operators; fake tensors in ``meta["val"]`` are replaced.
    """
    changed: set[fx.Node] = set()
    for node in graph.graph.nodes:
        if node.op != "call_function":
            continue
        before = node.meta.get("val")
        if not changed.isdisjoint(node.all_input_nodes):
            node.meta["val"] = _followed(node)
        if node.target is aten.as_strided_scatter.default:
            value = node.meta["val"]
            if _is_static(value) and 0 in value.stride():
                # memory that is shown twice is not copied so, but as it looks
                node.meta["val"] = torch.empty_like(value)
        after = node.meta.get("val")
        if after is not before and _layouts(after) != _layouts(before):
            changed.add(node)


def _parts(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (tuple, list)) else [value]


def _layouts(value: Any) -> list[Layout] | None:
    """Return the layouts of a node's tensors, None where sizes are symbols."""
    found = [one for one in _parts(value) if isinstance(one, torch.Tensor)]
    if not all(map(_is_static, found)):
        return None
    return [(tuple(one.shape), one.stride()) for one in found]


def _followed(node: fx.Node) -> Any:
    """Return a node's fake result for the strides that its operands have by now.

    What eager mode would not take, as a view of memory that cannot be viewed so, keeps
    what it has: the graph says which elements are meant.
    """
    before = node.meta.get("val")
    schema = getattr(node.target, "_schema", None)
    values = [inner.meta.get("val") for inner in node.all_input_nodes]
    leaves = [part for value in (before, *values) for part in _parts(value)]
    tensors = [one for one in leaves if isinstance(one, torch.Tensor)]
    mode = fake_mode(tensors)
    if any(one is None or is_symbolic(one) for one in leaves):
        return before
    if not all(map(_is_static, tensors)):
        return before
    given: Any = fx.map_arg((node.args, node.kwargs), lambda one: one.meta.get("val"))
    args, kwargs = given
    if node.target is operator.getitem:
        return args[0][args[1]]
    if schema is None or schema.is_mutable or mode is None:
        return before
    function: Any = node.target
    try:
        with mode:
            found = function(*args, **kwargs)
    except (RuntimeError, ValueError):
        return before
    old, new = _layouts(before), _layouts(found)
    if old is None or new is None or [o[0] for o in old] != [n[0] for n in new]:
        return before
    return found


def iterated(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a decomposition whose result has the strides that the iterator gives.

    Args:
        function: Of an operation on each element.
    """

    @wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        wanted = _wanted(args, result)
        if wanted is None:
            return result
        empty = result.new_empty_strided(tuple(result.shape), wanted)
        return aten.copy.default(empty, result)

    return run


def _normalised_format(x: torch.Tensor) -> torch.memory_format:
    """Return how batch normalisation lays out its result on a CPU."""
    if x.is_contiguous():
        return torch.contiguous_format
    last = {4: torch.channels_last, 5: torch.channels_last_3d}.get(x.dim())
    if last is not None and x.is_contiguous(memory_format=last):
        return last
    return suggested_format(x)


def _overload(name: str) -> Any:
    packet, _, overload = name.partition(".")
    return getattr(getattr(aten, packet), overload or "default")


def _iterated(args: Sequence[Any], result: Any) -> Any:
    """Return a fake result with the iterator's strides."""
    wanted = _wanted(args, result)
    return result if wanted is None else _restrided(result, wanted)


def _iterated_symbols(args: Sequence[Any], result: Any) -> Any:
    """Return the result of a decomposition, with the iterator's strides.

    Only sizes that are symbols come here from fake kernels; what is traced as it is
    decomposed keeps the strides that it has.
    """
    if all(map(_is_static, _tensors(args))):
        return result
    wanted = _wanted(args, result)
    if wanted is None:
        return result
    empty = result.new_empty_strided(tuple(result.shape), wanted)
    return aten.copy.default(empty, result)  # it may be traced: nothing in place


def _scaled(args: Sequence[Any], result: Any) -> Any:
    """Return ldexp's result as eager mode lays it out.

    Where it multiplies by powers of two, these are row-major: for integers, and for
    float32 with exponents that are none. Else the result begins as one like x.
    """
    x, exponent = args
    single = x.dtype == torch.float32 and exponent.is_floating_point()
    if single or not x.is_floating_point():
        return _iterated((x, exponent.new_empty(tuple(exponent.shape))), result)
    if tuple(x.shape) == tuple(result.shape):
        return torch.empty_like(x, dtype=result.dtype).copy_(result)
    return _iterated(args, result)


def _row_major(args: Sequence[Any], result: Any) -> Any:
    """Return the fake result of a kernel that looks at shapes only, symbols too."""
    return result.new_empty(tuple(result.shape))


def _row_major_on_cpu(args: Sequence[Any], result: Any) -> Any:
    """Return copies of the results of a kernel that looks at strides on a GPU only."""
    if args[0].device.type != "cpu":
        return result
    return tuple(one.clone(memory_format=torch.contiguous_format) for one in result)


def _like_first(args: Sequence[Any], result: Any) -> Any:
    """Return the result of a kernel that writes into a copy of its first argument."""
    return torch.empty_like(args[0]).copy_(result)


def _written_into_one_like_first(args: Sequence[Any], result: Any) -> Any:
    """Return the result of a kernel that writes into one like its first argument."""
    if result.dim() < 2 or tuple(result.shape) != tuple(args[0].shape):
        return result
    empty = torch.empty_like(args[0], dtype=result.dtype)
    if _hinted(empty) == _hinted(result):
        return result
    return aten.copy.default(empty, result)


def _dropped(args: Sequence[Any], result: Any) -> Any:
    """Return the results of dropout, which eager mode lays out as one like x."""
    return tuple(_written_into_one_like_first(args, one) for one in result)


def _normalised(args: Sequence[Any], result: Any) -> Any:
    """Return the results of a batch normalisation whose first has the CPU's strides."""
    x = args[0]
    if x.device.type != "cpu" or x.dim() < 2:
        return result
    out, *rest = result
    return (out.clone(memory_format=_normalised_format(x)), *rest)


def _copied_unless_padded(args: Sequence[Any], result: Any) -> Any:
    """Return a padding whose strides are those of a copy where nothing is added.

    Whether something is, a graph has to know then, also for sizes that are symbols.
    """
    x, pads = args[:2]
    if x.is_contiguous() or x.is_contiguous(memory_format=suggested_format(x)):
        return result
    if any(size_hint(pad) is None or pad > 0 for pad in pads):
        return result
    kept = x
    for place in range(0, len(pads), 2):
        dim, low, high = -1 - place // 2, pads[place], pads[place + 1]
        kept = kept.narrow(dim, -low, kept.shape[dim] + low + high)
    return torch.empty_like(kept).copy_(result)


def _padded(args: Sequence[Any], result: Any) -> Any:
    """Return the fake result of a kernel whose rows are whole units of 16 bytes."""
    *rest, width = result.shape
    unit = 16 // result.element_size()
    padded = (*rest, (width + unit - 1) // unit * unit)
    wanted = _nested(padded, range(result.dim())[::-1])
    return result.new_empty_strided(tuple(result.shape), wanted)


def _wanted(args: Sequence[Any], result: Any) -> tuple[int, ...] | None:
    """Return the iterator's strides where a result has others, else None.

    Of sizes that are symbols the first call's decide whether it has; the order of the
    dims is then guarded.
    """
    operands = _tensors(args)
    if len(operands) < 2 or result.dim() < 2:
        return None
    hints = [_hinted(one) for one in (*operands, result)]
    known = [hint for hint in hints if hint is not None]
    if len(known) < len(hints) or 0 in known[-1][0]:
        return None
    wanted = broadcast_strides(known[:-1])
    if known[-1][1] == wanted:
        return None
    if all(map(_is_static, operands)):
        return wanted
    return broadcast_strides([(tuple(o.shape), o.stride()) for o in operands])


def _tensors(args: Sequence[Any]) -> list[torch.Tensor]:
    return [arg for arg in args if isinstance(arg, torch.Tensor)]


def _hinted(value: torch.Tensor) -> Layout | None:
    """Return the layout of a tensor in the first call, None if it is not known."""
    shape = tuple(map(size_hint, value.shape))
    strides = tuple(map(size_hint, value.stride()))
    if any(number is None for number in (*shape, *strides)):
        return None
    return tuple(int(n or 0) for n in shape), tuple(int(n or 0) for n in strides)


def _is_static(value: torch.Tensor) -> bool:
    return all(type(number) is int for number in (*value.shape, *value.stride()))


def _restrided(result: torch.Tensor, wanted: tuple[int, ...]) -> torch.Tensor:
    if result.stride() == wanted or not result.numel():
        return result
    return result.new_empty_strided(tuple(result.shape), wanted)
