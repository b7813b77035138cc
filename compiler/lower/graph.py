"""From an FX graph of ATen operators to a program."""

import operator
import re
from dataclasses import replace
from typing import Any

import torch
from torch import fx

from compiler.errors import CompileError
from compiler.ir.expression import VALUE_TYPES, Expression
from compiler.ir.index import index
from compiler.ir.node import Assign, Buffer, Extern, Program
from compiler.ir.scalar import cast, constant
from compiler.torch_api import is_overload, least_sizes, real_tensors, stack_trace

from . import families
from .builder import Array, Builder, array_of, axes_of, digits_of, size
from .externs import Constant, extern, names, seeds
from .in_place import functional, written_array
from .liveness import alive
from .promotion import aligned
from .registry import LOWERINGS, NotLowered
from .storage import Storage

aten = torch.ops.aten


def lower(gm: fx.GraphModule, *, options: Any = None) -> Program:
    """Return a graph as a program.

    Law: evaluating the program on the graph's inputs gives the graph's outputs, with
    equal types and shapes: exactly for integers and truth values, up to the rounding
    of float32 arithmetic otherwise.

    Args:
        gm: Of ATen and prims operators, with a fake tensor or a size in each node's
            ``meta["val"]``; writes into inputs are assignments at their place. Results
            from number ``gm.meta["saved"]`` on may have any strides; an input has those
            of its ``meta["strides"]``, where it has some; nobody reads it afterwards
            where it has a ``meta["donated"]``: whether it is alone in its storage.
        options: The compilation's.

    Raises:
        CompileError: a size depends on data, an input is no dense array, or memory
            is written through a view.
    """
    return _Lowering(gm, options).run()


class _Lowering:
    def __init__(self, gm: fx.GraphModule, options: Any) -> None:
        self.gm = gm
        self.builder = Builder(options)
        self.storage = Storage(self.builder)
        self.values = self.storage.values
        self.inputs: list[Buffer | Expression] = []
        self.outputs: tuple[str | Expression | None, ...] = ()
        self.turned: dict[str, Any] = {}  # input with other strides -> the graph's
        self.ending: dict[str, bool] = {}  # input that nobody reads later -> alone
        self.copies: dict[str, Array] = {}  # such an input -> its copy with those
        self.by_strides = any(
            str(node.target).startswith("aten.as_strided") for node in gm.graph.nodes
        )

    def run(self) -> Program:
        for node in self.gm.graph.nodes:
            self.builder.origin = _source(node)
            self.builder.prefix = re.sub(r"\W", "_", node.name)
            try:
                getattr(self, f"_{node.op}")(node)
            except Exception as error:
                if self.builder.origin:
                    error.add_note(f"from {self.builder.origin}")
                raise
        first = [seeds(*pair) for pair in self.builder.seeds.items()]
        program = Program(
            tuple(self.inputs),
            (*first, *self.builder.nodes),
            self.outputs,
            least_sizes([n.meta.get("val") for n in self.gm.graph.nodes]),
            self._free(),
            frozenset(self.ending),
            frozenset(name for name, alone in self.ending.items() if alone),
        )
        return alive(self.storage.fixed(program))

    # nodes of the graph

    def _placeholder(self, node: fx.Node) -> None:
        value = node.meta.get("val")
        name = self.builder.name(self.builder.prefix)
        if isinstance(value, torch.Tensor):
            buffer = self.storage.buffer(name, value, offset=True)
            if "strides" in node.meta:
                strides = tuple(map(index, node.meta["strides"]))
                buffer = replace(buffer, strides=strides)
                self.turned[name] = value
            if "donated" in node.meta:
                self.ending[name] = bool(node.meta["donated"])
            self.inputs.append(buffer)
            self.storage.bind(node, array_of(buffer))
            if self.by_strides:
                self.storage.bind(node, self._as_captured(array_of(buffer)))
        elif isinstance(value, (torch.SymInt, int)):
            extent = size(value)
            self.inputs.append(extent)
            self.values[node] = extent
        elif value is None:
            self.inputs.append(index(0))
            self.values[node] = None
        else:
            raise CompileError(
                f"inputs are dense tensors and sizes, got {name}={type(value).__name__}"
            )

    def _get_attr(self, node: fx.Node) -> None:
        value: Any = self.gm
        for part in str(node.target).split("."):
            value = getattr(value, part)
        if not isinstance(value, torch.Tensor):
            self.values[node] = value
            return
        fake: Any = node.meta.get("val", value)
        dtype = str(fake.dtype).removeprefix("torch.")
        if value.numel() == 1 and dtype in VALUE_TYPES:
            with real_tensors():
                number = constant(value.item(), dtype)
            self.storage.bind(node, self.builder.result_map(lambda i: number, fake))
            return
        buffer = self.storage.buffer(self.builder.name(self.builder.prefix), fake)
        self.builder.nodes.append(
            Extern((buffer,), Constant(value), (), {}, reason="a constant of the graph")
        )
        self.storage.bind(node, array_of(buffer))

    def _call_function(self, node: fx.Node) -> None:
        value = node.meta.get("val")
        if node.target is operator.getitem:
            self.values[node] = self._argument(node.args[0])[node.args[1]]
        elif isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            self.values[node] = self._size(node, value)
        elif node.target in _DROPPED:
            self.values[node] = None
        elif not self._in_place(node):
            self._operator(node)

    def _call_module(self, node: fx.Node) -> None:
        raise CompileError(f"the graph calls the module {node.target}")

    _call_method = _call_module

    def _output(self, node: fx.Node) -> None:
        (results,) = node.args
        listed = results if isinstance(results, (tuple, list)) else (results,)
        outputs: list[str | Expression | None] = []
        kept = listed[: self.gm.meta.get("saved")]  # others are for the backward pass
        roots = self.storage.roots(kept)
        for number, result in enumerate(listed):
            value = self._argument(result)
            if isinstance(value, Array):
                if number < len(kept):
                    value = self.storage.shown(result, value, roots)
                outputs.append(self.storage.demanded(value).name)
            elif isinstance(value, int) and not isinstance(value, bool):
                outputs.append(index(value))
            elif value is None or isinstance(value, Expression):
                outputs.append(value)
            else:
                raise CompileError(
                    f"outputs are tensors, sizes or None, got {type(value).__name__}"
                )
        self.outputs = tuple(outputs)

    def _free(self) -> frozenset[str]:
        """Return the results that whoever gets them takes with any strides."""
        first = self.gm.meta.get("saved", len(self.outputs))
        made = {buffer.name for buffer in self.inputs if isinstance(buffer, Buffer)}
        others = {*self.outputs[:first], *made}
        return frozenset(
            name
            for name in self.outputs[first:]
            if isinstance(name, str) and name not in others
        )

    def _as_captured(self, value: Any) -> Any:
        """Return arrays, nested as arguments are, with the strides of the graph's."""
        if isinstance(value, Array) and value.name in self.turned:
            if value.name not in self.copies:
                self.copies[value.name] = self.builder.result_map(
                    lambda i: value.at(i), self.turned[value.name]
                )
                self.storage.pin_as(
                    self.copies[value.name].name, self.turned[value.name]
                )
            return self.copies[value.name]
        if isinstance(value, tuple):
            return tuple(map(self._as_captured, value))
        if isinstance(value, dict):
            return {key: self._as_captured(item) for key, item in value.items()}
        return value

    # what a node becomes

    def _size(self, node: fx.Node, value: Any) -> Expression:
        data = any(isinstance(self.values[arg], Array) for arg in node.all_input_nodes)
        if data and not str(node.target).startswith("aten.sym_"):
            raise CompileError(f"a size depends on data: {node.target}")
        if isinstance(value, torch.SymInt):
            return size(value)
        found = families.scalar(node.target, self._argument(node.args))
        if found is None:
            raise CompileError(f"a number made of sizes: {node.target}")
        return found

    def _operator(self, node: fx.Node) -> None:
        try:
            self.storage.bind(node, self._lowered(node, node.target))
        except NotLowered as reason:
            self._extern(node, str(reason))

    def _lowered(self, node: fx.Node, target: Any, skip: int = 0) -> Any:
        """Emit what a node computes; nothing is emitted where NotLowered is raised."""
        builder = self.builder
        builder.result = node.meta.get("val")
        function = LOWERINGS.get(target)
        emitted, drawn = len(builder.nodes), dict(builder.seeds)
        try:
            if function is None:
                raise NotLowered(f"{target} has no lowering")
            _dense(builder.result)
            _dense([arg.meta.get("val") for arg in node.all_input_nodes])
            args, kwargs = self._argument(node.args), self._argument(node.kwargs)
            if target is aten.as_strided.default:
                result: Any = self.storage.restrided(node)
            elif target is aten.as_strided_scatter.default:
                result = self.storage.scattered(node, *args, **kwargs)
            elif target in families.VIEWS:
                if target is aten.view.dtype and _leaves(node):
                    root, _ = self.storage.root(node)
                    if _leaves(root, node):
                        raise NotLowered("the caller gets memory as two types")
                result = _view(builder, function, args, kwargs)
                self.storage.shared(node, result, emitted)
            else:
                result = function(builder, *args, **kwargs)
            _expected(result, node.meta.get("val"))
        except NotLowered:
            del builder.nodes[emitted:]
            builder.seeds = drawn
            raise
        return result

    def _in_place(self, node: fx.Node) -> bool:
        """Emit an operator that writes its first argument as one that does not."""
        target = functional(node.target)
        if target is None:
            return False
        found = written_array(node)
        array = self.values.get(found.root)
        if found.views:
            raise CompileError(
                f"{node.target} writes memory that {found.views[0]} shows; "
                "functionalise the graph first"
            )
        if not isinstance(array, Array):
            return False
        try:
            if target is aten.copy.default:
                result = self._copied(node, array)
            else:
                result = self._lowered(node, target)
        except NotLowered:
            return False
        if found.root.op != "placeholder":
            self.storage.bind(node, result)
            self.values.update(dict.fromkeys(found.whole, result))
            return True
        axes = axes_of(array.shape)
        value = result.at(digits_of(axes), array.dtype)
        self.builder.nodes.append(Assign(array.name, axes, value))
        self.storage.changed.add(array.name)
        self.values[node] = array
        return True

    def _copied(self, node: fx.Node, array: Array) -> Array:
        source = self._argument(node.args[1])
        value: Any = node.meta.get("val")
        if not isinstance(source, Array) or source.device != array.device:
            raise NotLowered("a copy between devices")
        _dense(value)
        return self.builder.result_map(
            lambda i: cast(source.at(aligned(i, source)), array.dtype), value
        )

    def _extern(self, node: fx.Node, reason: str) -> None:
        value: Any = node.meta.get("val")
        keys = tuple(value) if isinstance(value, dict) else None  # a user's kernel
        value = value if keys is None else tuple(value.values())
        several = isinstance(value, (tuple, list))
        buffers: list[Buffer | None] = []
        for number, part in enumerate(value if several else (value,)):
            made = None
            if isinstance(part, torch.Tensor):
                wish = self.builder.prefix + (f"_{number}" if several else "")
                made = self.storage.buffer(self.builder.name(wish), part)
            buffers.append(made)
        given = self._argument(node.args), self._argument(node.kwargs)
        if node.target not in _OF_ANY_STRIDES:
            given = self._as_captured(given)
        args, kwargs = self.storage.demanded(given)
        call = extern(
            node.target,
            args,
            kwargs,
            buffers if value is not None else (),
            reason,
            self.builder.origin,
        )
        self.builder.nodes.append(call)
        self.storage.changed.update(call.mutates)
        if call.mutates or not is_overload(node.target):
            self._forget(set(names((args, kwargs))))
        arrays = tuple(None if b is None else array_of(b) for b in buffers)
        self.storage.bind(node, arrays if several else arrays[0])
        if keys is not None:
            self.values[node] = dict(zip(keys, arrays, strict=True))

    def _forget(self, written: set[str]) -> None:
        """Read arrays that a call may have written from memory."""
        for node, value in self.values.items():
            if isinstance(value, Array) and value.name in written:
                self.values[node] = replace(value, constant=None)

    def _argument(self, value: Any) -> Any:
        if isinstance(value, fx.Node):
            return self.values[value]
        if isinstance(value, (tuple, list)):
            return tuple(self._argument(item) for item in value)
        if isinstance(value, dict):
            return {key: self._argument(item) for key, item in value.items()}
        if isinstance(value, slice):
            return slice(*map(self._argument, (value.start, value.stop, value.step)))
        return value


# operators whose results depend on no argument's strides, or are asked for theirs
_OF_ANY_STRIDES = frozenset(
    getattr(aten, name).default
    for name in (
        "mm",
        "addmm",
        "bmm",
        "baddbmm",
        "convolution",
        "convolution_backward",
    )
)


# checks of what holds by construction, and statements about sizes that have no data
_DROPPED = frozenset(
    getattr(aten, name).default
    for name in (
        "_assert_scalar",
        "sym_constrain_range",
        "sym_constrain_range_for_size",
        "_assert_tensor_metadata",
    )
    if hasattr(aten, name)
)


def _leaves(node: fx.Node, but: fx.Node | None = None) -> bool:
    """Return whether an array, or a view of it, is a result; ``but`` is left out."""
    return any(
        user.op == "output" or (user.target in families.VIEWS and _leaves(user, but))
        for user in node.users
        if user is not but
    )


def _view(builder: Builder, function: Any, args: Any, kwargs: Any) -> Any:
    """Emit a view as loads of what it shows, also where that is a constant.

    Who reads the view may take the constant; who gets both gets one memory.
    """
    base, *rest = args
    if base.constant is None:
        return function(builder, *args, **kwargs)
    result = function(builder, replace(base, constant=None), *rest, **kwargs)
    several = isinstance(result, tuple)
    made = [
        replace(array, constant=base.constant if array.dtype == base.dtype else None)
        for array in (result if several else (result,))
    ]
    return tuple(made) if several else made[0]


def _expected(result: Any, wanted: Any) -> None:
    """Refuse a lowering whose types or shapes are not eager mode's."""
    several = isinstance(wanted, (tuple, list))
    found = result if several else (result,)
    expected = wanted if several else (wanted,)
    if len(found) != len(expected):
        raise NotLowered(f"lowered to {len(found)} results, not {len(expected)}")
    for array, value in zip(found, expected, strict=True):
        if array is None or not isinstance(value, torch.Tensor):
            continue
        shape = tuple(map(size, value.shape))
        dtype = str(value.dtype).removeprefix("torch.")
        if array.dtype != dtype or array.shape != shape:
            raise NotLowered(
                f"lowered to {array.dtype} {array.shape}, eager mode gives "
                f"{dtype} {shape}"
            )


def _dense(result: Any) -> None:
    for value in result if isinstance(result, (tuple, list)) else (result,):
        if isinstance(value, torch.Tensor) and value.layout != torch.strided:
            raise NotLowered(f"the layout {value.layout}")
        if isinstance(value, torch.Tensor) and value.device.type == "meta":
            raise NotLowered("a tensor without memory")
        if isinstance(value, torch.Tensor):
            dtype = str(value.dtype).removeprefix("torch.")
            if dtype not in VALUE_TYPES:
                raise NotLowered(f"the type {dtype}")


def _source(node: fx.Node) -> str:
    """Return the user's line: the last frame of the node's stack trace."""
    frames = re.findall(
        r'File "([^"]+)", line (\d+), in (\S+)', stack_trace(node) or ""
    )
    return "{}:{} ({})".format(*frames[-1]) if frames else ""
