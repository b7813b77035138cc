"""The corners of PyTorch that are not its public interface; used from here only.

Works with PyTorch 2.11 to 2.13. Import this module where it is used: it loads torch.
"""

import ctypes
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial, wraps
from typing import Any

import sympy
import torch
from torch import fx
from torch._C import _dynamo
from torch._decomp import core_aten_decompositions, get_decompositions
from torch._functorch import partitioners
from torch._functorch.aot_autograd import aot_module_simplified
from torch._guards import TracingContext, detect_fake_mode
from torch._ops import HigherOrderOperator, OpOverload
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx.experimental import symbolic_shapes
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils import _pytree as pytree
from torch.utils._sympy import functions as sizes

from .errors import CompileError
from .ir.expression import Expression
from .ir.index import Index, add, floordiv, index, maximum, minimum, mod, mul, symbol

GraphCompiler = Callable[[fx.GraphModule, Sequence[Any]], Callable[..., Any]]
"""Takes a graph and fake inputs, returns what runs it on a list of real ones."""

_FAST: Any = _dynamo.guards

empty_strided_cpu: Callable[..., torch.Tensor] = _FAST._empty_strided_cpu
"""``(shape, strides, dtype)`` -> fresh memory, in half the time of the public name."""

empty_strided_cuda: Callable[..., torch.Tensor] = _FAST._empty_strided_cuda
"""``(shape, strides, dtype)`` -> fresh memory on the current CUDA device."""

reinterpret_tensor: Callable[..., torch.Tensor] = _FAST._reinterpret_tensor
"""``(tensor, shape, strides, more)`` -> a view, ``more`` elements further on."""

assert_size_stride: Callable[..., None] = _FAST.assert_size_stride
"""``(tensor, shape, strides)``: AssertionError unless it has them."""


def differentiate(
    graph: fx.GraphModule,
    inputs: Sequence[Any],
    *,
    forward: GraphCompiler,
    backward: GraphCompiler,
    inference: GraphCompiler,
    decompositions: Mapping[OpOverload, Callable[..., Any]],
    joint: Sequence[Callable[[fx.GraphModule], None]] = (),
    fused: Iterable[Any] = (),
) -> Callable[..., Any]:
    """Run AOTAutograd over a graph of Dynamo's.

    Args:
        graph: What Dynamo captured.
        inputs: Its example inputs.
        forward: Compiles the forward half of a training graph.
        backward: Compiles the backward half, when it is first needed.
        inference: Compiles a graph that needs no gradients.
        decompositions: Operator -> function that calls simpler ones.
        joint: Change the graph of both halves, before it is cut.
        fused: Operators that share kernels with their neighbours, next to PyTorch's:
            what one of them reads need not be an array.

    Returns:
        What runs the graph on real inputs.
    """

    def lazily(module: fx.GraphModule, fakes: Sequence[Any]) -> Callable[..., Any]:
        compiled = unseen(backward)(module, fakes)
        return boxed(unseen(compiled))

    if any(isinstance(value, (list, tuple, dict)) for value in inputs):
        from torch._dynamo.utils import flatten_graph_inputs

        def again(module: fx.GraphModule, flat: Sequence[Any]) -> Callable[..., Any]:
            return differentiate(
                module,
                flat,
                forward=forward,
                backward=backward,
                inference=inference,
                decompositions=decompositions,
                joint=joint,
                fused=fused,
            )

        flattened: Callable[..., Any] = flatten_graph_inputs(graph, inputs, again)
        return flattened
    aot: Callable[..., Callable[..., Any]] = aot_module_simplified
    compiled = aot(
        graph,
        inputs,
        fw_compiler=forward,
        bw_compiler=lazily,
        inference_compiler=inference,
        partition_fn=_partition(joint, fused),
        decompositions=dict(decompositions),
        keep_inference_input_mutations=True,
    )
    for count in ("total", "ok"):  # how DDP's optimizer sees that this ran
        torch._dynamo.utils.counters["aot_autograd"][count] += 1
    return unseen(compiled)


def _partition(
    joint: Sequence[Callable[[fx.GraphModule], None]], fused: Iterable[Any]
) -> Callable[..., Any]:
    plain = partitioners.get_default_op_list
    more = set(fused)

    def listed() -> Any:
        found = plain()
        return replace(found, fusible_ops=found.fusible_ops | more)

    def partition(graph: fx.GraphModule, *args: Any, **kwargs: Any) -> Any:
        for rewrite in joint:
            rewrite(graph)
        partitioners.get_default_op_list = listed
        try:
            return partitioners.min_cut_rematerialization_partition(
                graph, *args, **kwargs
            )
        finally:
            partitioners.get_default_op_list = plain

    return partition


def unseen(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function, into which Dynamo does not look."""
    hidden: Callable[..., Any] = torch._dynamo.disable(
        function, reason="already compiled"
    )
    return hidden


def boxed(function: Callable[[list[Any]], Any]) -> Callable[[list[Any]], Any]:
    """Mark a function that takes its arguments in one list and may clear it."""

    def call(args: list[Any]) -> Any:
        return function(args)

    try:
        function._boxed_call = True  # type: ignore[attr-defined]
    except AttributeError:
        call._boxed_call = True  # type: ignore[attr-defined]
        return call
    return function


def is_capture_control(error: Exception) -> bool:
    """Return whether an exception is one by which Dynamo steers its capture."""
    from torch._dynamo.exc import TorchDynamoException

    return isinstance(error, TorchDynamoException)


def core_decompositions() -> dict[OpOverload, Callable[..., Any]]:
    """Return PyTorch's table of decompositions into core ATen."""
    return dict(_core_table())


@cache
def _core_table() -> dict[Any, Callable[..., Any]]:
    return dict(core_aten_decompositions())


def operators_over_lists() -> dict[str, OpOverload]:
    """Return the ATen operators that do one thing to each tensor of a list.

    Returns:
        Name and overload, as in ``"add.List"``, -> the operator; without those that
        write into their arguments.
    """
    prefix, found = "aten::_foreach_", dict[str, OpOverload]()
    for qualified in torch._C._dispatch_get_all_op_names():
        name = qualified.removeprefix(prefix)
        packet, _, overload = name.partition(".")
        if name == qualified or packet.endswith("_") or overload.endswith("out"):
            continue
        whole = getattr(torch.ops.aten, f"_foreach_{packet}")
        found[name] = getattr(whole, overload or "default")
    return found


def decompositions_of(names: Sequence[Any]) -> dict[OpOverload, Callable[..., Any]]:
    """Return PyTorch's decompositions of some operators, those that it has."""
    found: dict[Any, Callable[..., Any]] = dict(get_decompositions(list(names)))
    return found


def reset() -> None:
    """Forget what Dynamo compiled."""
    torch._dynamo.reset()


def is_overload(target: object) -> bool:
    """Return whether a node's target is an operator of the dispatcher."""
    return isinstance(target, OpOverload)


def is_higher_order(target: object) -> bool:
    """Return whether a node's target takes graphs as arguments."""
    return isinstance(target, HigherOrderOperator)


def overload_name(target: OpOverload) -> str:
    """Return ``aten.add.Tensor`` and the like."""
    return str(target)


def overload_of(name: str) -> OpOverload:
    """Return the operator of a name; inverse of :func:`overload_name`.

    Raises:
        AttributeError: There is none.
    """
    found: Any = torch.ops
    for part in name.split("."):
        found = getattr(found, part)
    assert isinstance(found, OpOverload)
    return found


def returns_one_tensor(target: object) -> bool | None:
    """Return whether a call gives a tensor by itself, None where no schema says."""
    if not isinstance(target, OpOverload):
        return None
    returns = target._schema.returns
    return len(returns) == 1 and str(returns[0].type) == "Tensor"


def written_arguments(target: object) -> tuple[str, ...]:
    """Return names of the arguments that an operator writes."""
    if not isinstance(target, OpOverload):
        return ()
    return tuple(
        argument.name
        for argument in target._schema.arguments
        if argument.alias_info is not None and argument.alias_info.is_write
    )


def argument_names(target: object) -> tuple[str, ...]:
    """Return the names of an operator's arguments, () where no schema tells."""
    if not isinstance(target, OpOverload):
        return ()
    return tuple(argument.name for argument in target._schema.arguments)


def shared_arguments(target: object) -> tuple[tuple[str, ...], ...]:
    """Return for each result which arguments' memory it may share, as a schema tells.

    Example:
        >>> shared_arguments(torch.ops.aten.view.default)
        (('self',),)
    """
    if not isinstance(target, OpOverload):
        return ()
    schema = target._schema
    out = []
    for result in schema.returns:
        sets = set() if result.alias_info is None else result.alias_info.before_set
        out.append(
            tuple(
                argument.name
                for argument in schema.arguments
                if argument.alias_info is not None
                and set(argument.alias_info.before_set) & set(sets)
            )
        )
    return tuple(out)


def is_fake(value: object) -> bool:
    """Return whether a tensor has no memory, only shape, strides, type and device."""
    return isinstance(value, FakeTensor)


def fake_results_by(
    target: OpOverload, correct: Callable[[Sequence[Any], Any], Any]
) -> None:
    """Let a function correct an operator's fake results, in this process, from now on.

    Args:
        target: The operator; one that has a rule of its own keeps it.
        correct: Takes the arguments and the fake result, returns the right one.
    """
    from torch._subclasses import fake_impls, fake_tensor

    def result(mode: Any, func: Any, *args: Any, **kwargs: Any) -> Any:
        with fake_tensor.in_kernel_invocation_manager(mode):
            meta = func(*args, **kwargs)
        flat = pytree.tree_leaves((args, kwargs))
        wrap: Any = mode.wrap_meta_outputs_with_default_device_logic
        return correct(args, wrap(meta, func, flat, device=kwargs.get("device")))

    if target not in fake_impls.op_implementations_dict:
        fake_impls.register_op_impl(target)(result)
        FakeTensorMode.cache_clear()


def fake_parts_by(
    target: OpOverload, correct: Callable[[Sequence[Any], Any], Any]
) -> None:
    """Let a function correct what PyTorch's decomposition of an operator returns.

    For an operator whose fake results come from its decomposition, which no rule of
    :func:`fake_results_by` would be asked about; in this process, from now on.

    Args:
        target: The operator; one without decomposition is left alone.
        correct: Takes the arguments and the result, returns equal values.
    """
    from torch._decomp import decomposition_table

    plain = decomposition_table.get(target)
    if plain is None:
        return

    @wraps(plain)
    def run(*args: Any, **kwargs: Any) -> Any:
        return correct(args, plain(*args, **kwargs))

    decomposition_table[target] = run
    _core_table.cache_clear()
    FakeTensorMode.cache_clear()


def suggested_format(value: torch.Tensor) -> torch.memory_format:
    """Return the memory format that a tensor's strides are like, as ATen decides."""
    from torch._prims_common import suggest_memory_format

    found: torch.memory_format = suggest_memory_format(value)
    return found


def fake_mode(values: Sequence[Any]) -> FakeTensorMode | None:
    """Return the mode that the fake tensors among the values belong to."""
    found: FakeTensorMode | None = detect_fake_mode(values)
    return found


@contextmanager
def real_tensors() -> Iterator[None]:
    """Let operators make real tensors, whatever modes are active."""
    from torch.utils._python_dispatch import _disable_current_modes

    with _disable_current_modes():
        yield


def is_symbolic(value: object) -> bool:
    """Return whether a size is not known."""
    return isinstance(value, torch.SymInt)


def size_hint(value: int | torch.SymInt) -> int | None:
    """Return the size that the first call had, None for data-dependent sizes."""
    if not isinstance(value, torch.SymInt):
        return int(value)
    hint = value.node.hint
    return None if hint is None else int(hint)


def statically_true(condition: Any) -> bool:
    """Return whether a condition on sizes is known to hold, adding no guard."""
    return bool(symbolic_shapes.statically_known_true(condition))


def guarded(question: Callable[[], bool]) -> bool | None:
    """Return an answer about sizes and guard it, None if it depends on data.

    Args:
        question: Compares symbolic sizes.
    """
    try:
        return question()
    except symbolic_shapes.GuardOnDataDependentSymNode:
        return None


def is_one(value: Any) -> bool:
    """Return whether a size made of others is 1 by the guards that hold by now."""
    composite = isinstance(value, torch.SymInt) and value.node.expr.args
    return bool(composite) and statically_true(value == 1)


def symbolic_text(value: Any) -> str:
    """Return a number made of sizes as text over their symbols, others as they are."""
    symbolic = isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool))
    return str(value.node.expr) if symbolic else str(value)


def guard_count(values: Sequence[Any]) -> int:
    """Return how much is assumed by now of the symbols in some values' sizes.

    The number grows with each guard, and with each symbol that is replaced.
    """
    for value in values:
        sizes = [*value.shape] if isinstance(value, torch.Tensor) else [value]
        for size in sizes:
            if isinstance(size, torch.SymInt):
                environment = size.node.shape_env
                return len(environment.guards) + len(environment.replacements)
    return 0


@contextmanager
def data_sizes_captured() -> Iterator[None]:
    """Let Dynamo capture sizes and numbers that depend on data, in the block."""
    from torch._dynamo import config

    with config.patch(
        capture_dynamic_output_shape_ops=True, capture_scalar_outputs=True
    ):
        yield


def symbols(values: Sequence[Any]) -> set[str]:
    """Return the names of the symbols in some values' sizes."""
    found = symbolic_shapes.free_symbols
    return {symbol.name for value in _parts(values) for symbol in found(value)}


def data_symbols(values: Sequence[Any]) -> set[str]:
    """Return the names of those symbols whose value depends on data."""
    found = symbolic_shapes.free_unbacked_symbols
    return {symbol.name for value in _parts(values) for symbol in found(value)}


def symbol_in(value: Any, name: str) -> Any:
    """Return the size in a value that is just the symbol of a name, None if none is."""
    for part in _parts([value]):
        for size in part.shape if isinstance(part, torch.Tensor) else (part,):
            if isinstance(size, torch.SymInt) and str(size.node.expr) == name:
                return size
    return None


def symbol_places(
    value: Any, names: set[str]
) -> list[tuple[str, Callable[[Any], int]]]:
    """Return for symbols how each is read off a real value, given the fake one."""
    found: dict[str, Callable[[Any], int]] = {}
    several = isinstance(value, (tuple, list))
    for number, part in enumerate(value if several else (value,)):
        sizes = part.shape if isinstance(part, torch.Tensor) else (part,)
        for dim, size in enumerate(sizes):
            name = symbolic_text(size)
            if name in names and name not in found:
                place = (number if several else None, dim)
                found[name] = partial(_read_size, place)
    return list(found.items())


def _read_size(place: tuple[int | None, int], value: Any) -> int:
    number, dim = place
    part = value if number is None else value[number]
    return int(part.shape[dim] if isinstance(part, torch.Tensor) else part)


def _parts(values: Sequence[Any]) -> list[Any]:
    """Return the tensors and symbolic numbers in nested values."""
    found = []
    for value in values:
        if isinstance(value, (tuple, list)):
            found += _parts(value)
        elif isinstance(
            value, (torch.Tensor, torch.SymInt, torch.SymFloat, torch.SymBool)
        ):
            found.append(value)
    return found


def higher_order_of(name: str) -> HigherOrderOperator:
    """Return the operator of a name that takes graphs as arguments.

    Raises:
        AttributeError: There is none.
    """
    found: HigherOrderOperator = getattr(torch.ops.higher_order, name)
    return found


def size_expression(value: int | torch.SymInt) -> Expression:
    """Return a size as an index expression over symbols.

    A composite size that guards hold at 1 is 1: such an extent broadcasts, and what
    reads along it must see that.

    Raises:
        NotImplementedError: The size has an operation that indices have not.

    Example:
        >>> size_expression(3)
        3
    """
    if isinstance(value, torch.SymInt):
        return index(1) if is_one(value) else _from_sympy(value.node.expr)
    return index(int(value))


def _from_sympy(expression: Any) -> Expression:
    if isinstance(expression, (int, sympy.Integer)):
        return index(int(expression))
    if isinstance(expression, sympy.Symbol):
        return symbol(expression.name)
    args = [_from_sympy(arg) for arg in expression.args]
    kind = type(expression)
    if kind is sympy.Add:
        return add(*args)
    if kind is sympy.Mul:
        return mul(*args)
    if kind is sympy.Pow and isinstance(expression.args[1], sympy.Integer):
        power = int(expression.args[1])
        if power >= 0:
            return mul(1, *([args[0]] * power))
    for classes, build in _SIZE_FUNCTIONS:
        if kind in classes:
            first, *rest = args
            for other in rest:
                first = build(first, other)
            return first
    if kind is sizes.ModularIndexing:
        return mod(floordiv(args[0], args[1]), args[2])
    raise NotImplementedError(
        f"a size made of +, *, //, %, min and max was needed, got {expression}"
    )


def _classes(*names: str) -> tuple[type, ...]:
    return tuple(getattr(sizes, name) for name in names if hasattr(sizes, name))


_SIZE_FUNCTIONS: tuple[
    tuple[tuple[type, ...], Callable[[Index, Index], Expression]], ...
] = (
    (_classes("FloorDiv", "CleanDiv"), floordiv),
    (_classes("Mod", "PythonMod"), mod),
    ((sympy.Max, *_classes("Max")), maximum),
    ((sympy.Min, *_classes("Min")), minimum),
)


def least_sizes(values: Sequence[Any]) -> dict[Expression, int]:
    """Return symbol -> the least that it can be, for the symbols in some sizes.

    Args:
        values: Fake tensors, sizes, anything.
    """
    found: dict[Expression, int] = {}
    for value in values:
        parts = [value]
        if isinstance(value, torch.Tensor):
            parts = [*value.shape, *value.stride(), value.storage_offset()]
        for part in parts:
            if isinstance(part, torch.SymInt):
                environment = part.node.shape_env
                for name in part.node.expr.free_symbols:
                    low = environment.bound_sympy(name).lower
                    if isinstance(low, sympy.Integer) or low == sympy.S.Zero:
                        found[symbol(name.name)] = max(int(low), 0)
    return found


def contradicts_guards(sizes: Mapping[str, int]) -> bool:
    """Return whether a guard of the graph under compilation excludes some sizes.

    A guard as ``5 <= s0*s1``, which a slice sets, says more than ranges of symbols.

    Args:
        sizes: Name of a symbol -> its value.
    """
    context = TracingContext.try_get()
    environment = getattr(getattr(context, "fake_mode", None), "shape_env", None)
    for guard in getattr(environment, "guards", ()):
        values = {one: sizes.get(one.name) for one in guard.expr.free_symbols}
        if None not in values.values() and guard.expr.subs(values) == sympy.false:
            return True
    return False


def mutated_arguments(inputs: Sequence[Any], given: Sequence[Any]) -> tuple[int, ...]:
    """Return the numbers of Dynamo's arguments that the graph under compilation writes.

    Where arguments share memory and one is written, PyTorch joins them to one input,
    and the inputs' numbers are not the arguments': then any may be written.

    Args:
        inputs: Of the graph under compilation.
        given: Dynamo's arguments.
    """
    if len(inputs) != len(given):
        return tuple(range(len(given)))
    return mutated_inputs()


def mutated_inputs() -> tuple[int, ...]:
    """Return the numbers of the inputs that the graph under compilation writes."""
    context = TracingContext.try_get()
    metadata = getattr(context, "fw_metadata", None)
    infos = getattr(metadata, "input_info", ())
    return tuple(number for number, info in enumerate(infos) if info.mutates_data)


def plain_outputs() -> dict[int, int]:
    """Return which results of the graph under compilation are the caller's.

    Returns:
        Place among the graph's results -> number among those of Dynamo's graph, for
        results that share no memory with arguments, as far as is known.
    """
    from torch._functorch._aot_autograd.schemas import OutputType

    context = TracingContext.try_get()
    metadata = getattr(context, "fw_metadata", None)
    if metadata is None or metadata.tokens:
        return {}
    before = metadata.num_mutated_inp_runtime_indices
    return {
        before + number: number
        for number, info in enumerate(metadata.output_info)
        if info.output_type is OutputType.non_alias
    }


def has_views_to_guess() -> bool:
    """Return whether a result shows a written argument by what AOTAutograd must guess.

    It repeats the views of such a result on the argument itself, but not those that
    take symbolic sizes; then it goes by the strides and offset that the compiled graph
    happens to return, which are those of other memory.
    """
    from torch._functorch._aot_autograd.schemas import OutputType

    context = TracingContext.try_get()
    metadata = getattr(context, "fw_metadata", None)
    if metadata is None:
        return False
    written = set(mutated_inputs())
    for info in metadata.output_info:
        if info.output_type is OutputType.alias_of_input and info.base_idx in written:
            views = getattr(info, "view_meta_sequence", None)
            if views is None or any(v.has_symbolic_inputs for v in views.sequence):
                return True
    return False


def first_saved() -> int | None:
    """Return the number of the first result that is kept for the backward pass.

    Returns:
        None where no forward graph of AOTAutograd's is under compilation.
    """
    context = TracingContext.try_get()
    if context is None or context.output_strides is None:
        return None
    found: int | None = getattr(context.fw_metadata, "num_forward", None)
    return found


def donated_inputs() -> tuple[int, ...]:
    """Return the numbers of a backward graph's inputs that nobody reads afterwards.

    They are arrays that the forward graph kept, on no storage that the caller has. A
    backward pass that is to run again is refused by AOTAutograd where there are some.
    """
    context = TracingContext.try_get()
    metadata = getattr(context, "fw_metadata", None)
    return tuple(getattr(metadata, "bw_donated_idxs", None) or ())


def report_strides(strides: Sequence[tuple[int, ...] | None]) -> None:
    """Tell AOTAutograd the strides of the results of the graph under compilation.

    Args:
        strides: Of each result [elements]; None where they are as captured.
    """
    context = TracingContext.try_get()
    if context is not None and context.output_strides is not None:
        context.output_strides[:] = strides


def static_inputs() -> tuple[int, ...]:
    """Return the numbers of inputs whose memory stays: parameters and buffers."""
    context = TracingContext.try_get()
    metadata = getattr(context, "fw_metadata", None)
    return tuple(getattr(metadata, "static_input_indices", ()))


def real_weights(graph: fx.GraphModule) -> dict[int, torch.Tensor]:
    """Return the parameters and buffers among the inputs of a graph of Dynamo's.

    Args:
        graph: As a backend gets it, while it is called.

    Returns:
        Number of the input -> the tensor itself.
    """
    found: dict[int, torch.Tensor] = {}
    placeholders = [node for node in graph.graph.nodes if node.op == "placeholder"]
    for number, node in enumerate(placeholders):
        value = getattr(node.meta.get("grapharg"), "example", None)
        kind = getattr(value, "_dynamo_static_input_type", None)
        static = kind is not None or isinstance(value, torch.nn.Parameter)
        if isinstance(value, torch.Tensor) and static and not is_fake(value):
            found[number] = value
    return found


def fake_of(value: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """Return a fake tensor of a real one, of the mode of another and of fixed sizes."""
    mode = fake_mode([like])
    if mode is None:
        return value
    made: torch.Tensor = mode.from_tensor(value, static_shapes=True)
    return made


def stack_trace(node: fx.Node) -> str | None:
    """Return where the user's program called what the node came from."""
    return node.meta.get("stack_trace") or getattr(node, "stack_trace", None)


def is_getitem(node: fx.Node) -> bool:
    """Return whether a node picks one of several results."""
    return node.op == "call_function" and node.target is operator.getitem


def captured_graphs() -> int:
    """Return how many graphs Dynamo captured since :func:`reset`."""
    return int(torch._dynamo.utils.counters["stats"]["unique_graphs"])


def forget_counts() -> None:
    """Let :func:`captured_graphs` count from 0 again."""
    torch._dynamo.utils.counters.clear()


def storage_key(tensor: torch.Tensor) -> int:
    """Return a number that tensors on one storage share while it is alive."""
    key: int = tensor.untyped_storage()._cdata
    return key


def users_of(storages: Iterable[int]) -> list[int]:
    """Return how many tensors and storages hold the memory of each storage.

    Args:
        storages: Their ``_cdata``; somebody holds each.
    """
    return list(map(torch._C._storage_Use_Count, storages))


def gone(storage: torch.UntypedStorage) -> Callable[[], bool]:
    """Return what says whether nobody holds a storage any more, holding it not."""
    reference: Any = StorageWeakRef(storage)
    expired: Callable[[], bool] = reference.expired
    return expired


def keeps_pools(device: torch.device) -> bool:
    """Return whether memory of a graph's pool stays mapped while the graph lives."""
    return device.type != "cuda" or torch.cuda.get_allocator_backend() == "native"


def storage_at(address: int, nbytes: int, device: torch.device) -> torch.UntypedStorage:
    """Return a storage on memory that it does not own.

    Args:
        address: Of the first byte; the caller sees to it that the memory lasts.
        nbytes: At least 1 [bytes].
        device: Where the memory lies.
    """
    if device.type == "cpu":
        memory = (ctypes.c_char * nbytes).from_address(address)
        return torch.frombuffer(memory, dtype=torch.uint8).untyped_storage()
    made: Any = torch._C._construct_storage_from_data_pointer(address, device, nbytes)
    found: torch.UntypedStorage = made
    return found


@contextmanager
def fresh_workspaces() -> Iterator[None]:
    """Let products on a GPU allocate their workspaces anew within, and after."""
    torch._C._cuda_clearCublasWorkspaces()
    try:
        yield
    finally:
        torch._C._cuda_clearCublasWorkspaces()


def exported_graph(
    program: torch.export.ExportedProgram,
) -> tuple[fx.GraphModule, dict[str, torch.Tensor], list[int]]:
    """Return an exported program's graph, the values of its weights, its outputs.

    Returns:
        The graph, whose first placeholders are the weights; placeholder's name ->
        weight; and the numbers of the results that the caller gets.

    Raises:
        CompileError: The program changes a weight or an argument.
    """
    from torch.export.graph_signature import InputKind, OutputKind

    signature = program.graph_signature
    weights: dict[str, torch.Tensor] = {}
    for spec in signature.input_specs:
        if spec.kind == InputKind.USER_INPUT:
            continue
        value = program.state_dict.get(spec.target)
        if value is None:
            value = program.constants.get(spec.target)
        if isinstance(value, torch.Tensor):
            weights[spec.arg.name] = value.detach()
    outputs = []
    for number, result in enumerate(signature.output_specs):
        if result.kind != OutputKind.USER_OUTPUT:
            raise CompileError(
                f"a program that changes nothing was needed, it changes "
                f"{result.target!r}; export it in evaluation mode"
            )
        outputs.append(number)
    return program.graph_module, weights, outputs


def treespec_text(spec: Any) -> str:
    """Return a tree of arguments or results as text."""
    return str(pytree.treespec_dumps(spec))


def flattener(text: str) -> Callable[[Any, Any], list[Any]]:
    """Return the function from (args, kwargs) to a list, for a tree's text."""
    spec = pytree.treespec_loads(text)

    def flatten(args: Any, kwargs: Any) -> list[Any]:
        flat, found = pytree.tree_flatten((args, kwargs))
        if found != spec:
            raise TypeError(
                f"arguments of the exported form were needed: {spec}, got {found}"
            )
        return list(flat)

    return flatten


def unflattener(text: str) -> Callable[[list[Any]], Any]:
    """Return the function from a list of results to their tree."""
    spec = pytree.treespec_loads(text)
    return lambda results: pytree.tree_unflatten(results, spec)


def transforms_are_active() -> bool:
    """Tell whether the caller runs inside a transform of ``torch.func``."""
    return bool(torch._C._are_functorch_transforms_active())


def aten_graph(
    function: Callable[..., Any], shapes: Sequence[Sequence[Any]]
) -> tuple[fx.Graph, dict[str, Any], list[sympy.Basic]]:
    """Return the ATen operations that a function of float64 tensors runs.

    Nothing is computed: the tensors have no data, and symbols as extents.

    Args:
        function: Takes as many tensors as there are shapes.
        shapes: Numbers, or keys of any other kind: one symbol for each.

    Returns:
        The graph; name of a symbol -> its key; and what PyTorch took for granted of the
        symbols, beyond that they are not negative: the graph is right where it holds.
    """
    from torch.fx.experimental.proxy_tensor import make_fx

    environment = symbolic_shapes.ShapeEnv()
    extents: dict[Any, Any] = {}
    names: dict[str, Any] = {}
    for key in (one for shape in shapes for one in shape):
        if isinstance(key, int) or key in extents:
            continue
        with environment.ignore_fresh_unbacked_symbols():
            extents[key] = made = environment.create_unbacked_symint()
        symbolic_shapes._constrain_range_for_size(made)
        names[str(made.node.expr)] = key
    with FakeTensorMode(shape_env=environment):
        tensors = [
            torch.empty([extents.get(key, key) for key in shape], dtype=torch.float64)
            for shape in shapes
        ]
    aten = torch.ops.aten
    table = core_decompositions() | decompositions_of(
        [
            aten.native_layer_norm,
            aten.native_group_norm,
            aten._fused_rms_norm,
            aten.gelu,
            aten.silu,
            aten.leaky_relu,
            aten.mse_loss,
            aten.softplus,
            aten.tril,
            aten.triu,
        ]
    )
    whole = (aten._softmax, aten._log_softmax, aten.logsumexp, aten.var, aten.var_mean)
    for packet in whole:  # they branch on sizes
        for name in packet.overloads():
            table.pop(getattr(packet, name), None)
    traced = make_fx(function, decomposition_table=table, tracing_mode="symbolic")
    module = traced(*tensors)
    conditions = [guard.expr for guard in environment.guards]
    for group in environment.deferred_runtime_asserts.values():
        conditions += [one.expr for one in group]
    return module.graph, names, conditions


def forgo_guard_timing() -> bool:
    """Let TorchDynamo not time its guards, in this process, from now on.

    It times them once a compile, with the caches flushed, for a line of its log: a
    third of the time that a small program takes. Nothing else reads the figure.

    Returns:
        Whether this torch has the timing, and it is off now.
    """
    from torch._dynamo import guards

    if not hasattr(guards, "profile_guard_manager"):
        return False
    guards.profile_guard_manager = lambda *arguments: 0.0
    return True
