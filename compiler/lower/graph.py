"""From an FX graph of ATen operators to a program."""

import operator
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import fx

from compiler.errors import CompileError
from compiler.ir.expression import Expression, loads
from compiler.ir.index import index
from compiler.ir.node import (
    Alias,
    Assign,
    Buffer,
    Extern,
    Map,
    Node,
    Program,
    Reduce,
    Reference,
    Scan,
    Scatter,
    written,
)
from compiler.ir.scalar import cast
from compiler.torch_api import (
    argument_names,
    is_overload,
    least_sizes,
    shared_arguments,
    stack_trace,
    written_arguments,
)

from . import families as _families
from .builder import Array, Builder, array_of, axes_of, digits_of, seeds_name, size
from .promotion import ONE, aligned
from .registry import LOWERINGS, NotLowered

aten = torch.ops.aten

VIEWS = _families.VIEWS
"""Operators whose result shares its argument's storage in eager mode."""


@dataclass(frozen=True, slots=True, eq=False)
class Constant:
    """Returns a tensor of the graph's own: the target of an extern call."""

    value: torch.Tensor

    def __call__(self) -> torch.Tensor:
        """Return the tensor."""
        return self.value


def lower(gm: fx.GraphModule, *, options: Any = None) -> Program:
    """Return a graph as a program.

    Law: evaluating the program on the graph's inputs gives the graph's outputs, with
    equal types and shapes: exactly for integers and truth values, up to the rounding
    of float32 arithmetic otherwise.

    Args:
        gm: Functional, of ATen and prims operators, with a fake tensor or a size in
            each node's ``meta["val"]``; ``copy_`` into inputs may stand at its end.
        options: The compilation's.

    Raises:
        CompileError: a size depends on data, or an input is no dense array.
    """
    return _Lowering(gm, options).run()


class _Lowering:
    def __init__(self, gm: fx.GraphModule, options: Any) -> None:
        self.gm = gm
        self.builder = Builder(options)
        self.inputs: list[Buffer | Expression] = []
        self.outputs: tuple[str | Expression | None, ...] = ()
        self.values: dict[fx.Node, Any] = {}
        self.origin: dict[str, fx.Node] = {}  # array -> the node that made it
        self.pinned: dict[str, Any] = {}  # array -> fake tensor whose strides it has
        self.externs: dict[str, Buffer] = {}
        self.views: dict[str, Array] = {}  # array -> its view of shared memory

    def run(self) -> Program:
        for node in self.gm.graph.nodes:
            self.builder.origin = _source(node)
            self.builder.prefix = _identifier(node.name)
            getattr(self, f"_{node.op}")(node)
        nodes = self._with_seeds()
        values = [n.meta.get("val") for n in self.gm.graph.nodes]
        program = Program(
            tuple(self.inputs), tuple(nodes), self.outputs, least_sizes(values)
        )
        return _alive(_with_strides(program, self._strides()))

    # nodes of the graph

    def _placeholder(self, node: fx.Node) -> None:
        value = node.meta.get("val")
        name = self.builder.name(self.builder.prefix)
        if isinstance(value, torch.Tensor):
            buffer = self._buffer(name, value, inputs=True)
            self.inputs.append(buffer)
            self._bind(node, array_of(buffer))
            return
        if isinstance(value, (torch.SymInt, int)):
            extent = size(value)
            self.inputs.append(extent)
            self.values[node] = extent
            return
        if value is None:
            self.inputs.append(index(0))
            self.values[node] = None
            return
        raise CompileError(
            f"inputs are dense tensors and sizes, got {name}={type(value).__name__}"
        )

    def _get_attr(self, node: fx.Node) -> None:
        value = self.gm
        for part in str(node.target).split("."):
            value = getattr(value, part)
        if not isinstance(value, torch.Tensor):
            self.values[node] = value
            return
        fake = node.meta.get("val", value)
        buffer = self._buffer(self.builder.name(self.builder.prefix), fake)
        self.builder.nodes.append(
            Extern((buffer,), Constant(value), (), {}, reason="a constant of the graph")
        )
        self._bind(node, array_of(buffer))

    def _call_function(self, node: fx.Node) -> None:
        value = node.meta.get("val")
        if node.target is operator.getitem:
            self.values[node] = self._argument(node.args[0])[node.args[1]]
        elif isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            self.values[node] = self._size(node, value)
        elif node.target is aten.copy_.default:
            self._assign(node)
        elif node.target in _DROPPED:
            self.values[node] = None
        else:
            self._operator(node)

    def _call_module(self, node: fx.Node) -> None:
        raise CompileError(f"the graph calls the module {node.target}")

    _call_method = _call_module

    def _output(self, node: fx.Node) -> None:
        (results,) = node.args
        listed = results if isinstance(results, (tuple, list)) else (results,)
        outputs: list[str | Expression | None] = []
        for result in listed:
            value = self._argument(result)
            if isinstance(value, Array):
                outputs.append(self._demanded(value).name)
            elif isinstance(value, int) and not isinstance(value, bool):
                outputs.append(index(value))
            elif value is None or isinstance(value, Expression):
                outputs.append(value)
            else:
                raise CompileError(
                    f"outputs are tensors, sizes or None, got {type(value).__name__}"
                )
        self.outputs = tuple(outputs)

    # what a node becomes

    def _size(self, node: fx.Node, value: Any) -> Expression:
        data = any(isinstance(self.values[arg], Array) for arg in node.all_input_nodes)
        if data and not str(node.target).startswith("aten.sym_"):
            raise CompileError(f"a size depends on data: {node.target}")
        if isinstance(value, torch.SymInt):
            return size(value)
        found = _families.scalar(node.target, self._argument(node.args))
        if found is None:
            raise CompileError(f"a number made of sizes: {node.target}")
        return found

    def _operator(self, node: fx.Node) -> None:
        builder = self.builder
        builder.result = node.meta.get("val")
        function = LOWERINGS.get(node.target)
        emitted, seeds = len(builder.nodes), dict(builder.seeds)
        try:
            if function is None:
                raise NotLowered(f"{node.target} has no lowering")
            _dense(builder.result)
            args, kwargs = self._argument(node.args), self._argument(node.kwargs)
            if node.target in _families.STORAGE:
                result = self._restrided(node)
            else:
                result = function(builder, *args, **kwargs)
            self._expected(result, builder.result)
            self._bind(node, result)
        except NotLowered as reason:
            del builder.nodes[emitted:]
            builder.seeds = seeds
            self._extern(node, str(reason))

    def _extern(self, node: fx.Node, reason: str) -> None:
        value: Any = node.meta.get("val")
        several = isinstance(value, (tuple, list))
        buffers: list[Buffer | None] = []
        for number, part in enumerate(value if several else (value,)):
            if isinstance(part, torch.Tensor):
                wish = self.builder.prefix + (f"_{number}" if several else "")
                buffers.append(self._buffer(self.builder.name(wish), part))
            else:
                buffers.append(None)
        args, kwargs = self._argument(node.args), self._argument(node.kwargs)
        args, kwargs = self._all_demanded(args), self._all_demanded(kwargs)
        target: Any = node.target
        named = _by_name(target, args, kwargs)
        mutates = [
            name for key in written_arguments(target) for name in _names(named.get(key))
        ]
        shared = shared_arguments(target)
        aliases = {
            buffer.name: tuple(_names(tuple(named.get(key) for key in keys)))
            for buffer, keys in zip(buffers, shared, strict=False)
            if buffer is not None and keys
        }
        self.builder.nodes.append(
            Extern(
                tuple(buffers) if value is not None else (),
                target,
                _referred(args),
                _referred(kwargs),
                tuple(mutates),
                aliases,
                reason,
                self.builder.origin,
            )
        )
        arrays = tuple(None if b is None else array_of(b) for b in buffers)
        self._bind(node, arrays if several else arrays[0])

    def _assign(self, node: fx.Node) -> None:
        target, source = self._argument(node.args[:2])
        inputs = [b.name for b in self.inputs if isinstance(b, Buffer)]
        axes = axes_of(target.shape)
        if target.name not in inputs or (
            isinstance(source, Array) and source.device != target.device
        ):
            self._extern(node, "a copy into an array that is no input")
            self.values[node] = target
            return
        if isinstance(source, Array):
            _dense(node.args[0].meta["val"])  # type: ignore[union-attr]
            value = source.at(aligned(digits_of(axes), source), target.dtype)
        else:
            raise CompileError("copy_ takes a tensor")
        self.builder.nodes.append(Assign(target.name, axes, cast(value, target.dtype)))
        self.values[node] = target

    def _restrided(self, node: fx.Node) -> Array:
        """Emit a view by strides: of the storage that eager mode's array has."""
        root, base = self._root(node.args[0])
        if root.meta["val"].dtype != node.meta["val"].dtype or base is None:
            raise NotLowered("strides over the storage of another type")
        buffer = self._buffer(
            self.builder.name(self.builder.prefix), node.meta["val"], inputs=True
        )
        self._pin(base.name)
        self.builder.nodes.append(Alias(buffer, base.name))
        self.externs[buffer.name] = buffer
        return array_of(buffer)

    def _root(self, node: Any) -> tuple[fx.Node, Array | None]:
        """Return the node whose storage eager mode's views of it share."""
        while node.op == "call_function" and node.target in VIEWS:
            node = node.args[0]
        if node.target is operator.getitem and node.args[0].target in VIEWS:
            return self._root(node.args[0])
        found = self.values[node]
        return node, found if isinstance(found, Array) else None

    # arrays and arguments

    def _buffer(self, name: str, value: Any, inputs: bool = False) -> Buffer:
        device = str(value.device)
        self.builder.devices[name] = device
        dense = value.layout == torch.strided
        strides = tuple(map(size, value.stride())) if dense else None
        offset = size(value.storage_offset()) if inputs and dense else None
        buffer = Buffer(
            name,
            str(value.dtype).removeprefix("torch."),
            tuple(map(size, value.shape)),
            device,
            strides,
            offset,
            self.builder.origin,
        )
        self.externs[name] = buffer
        return buffer

    def _bind(self, node: fx.Node, value: Any) -> None:
        self.values[node] = value
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, Array):
                self.origin.setdefault(part.name, node)

    def _all_demanded(self, value: Any) -> Any:
        if isinstance(value, Array):
            return self._demanded(value)
        if isinstance(value, tuple):
            return tuple(self._all_demanded(item) for item in value)
        if isinstance(value, dict):
            return {key: self._all_demanded(item) for key, item in value.items()}
        return value

    def _demanded(self, array: Array) -> Array:
        """Return an array as an outsider gets it: with eager mode's strides.

        One whose elements share memory (an expanded one) is a view of what it shows.
        """
        node, value = self._eager(array.name)
        if node is None or not _overlaps(value):
            self._pin(array.name)
            return array
        if array.name not in self.views:
            _, base = self._root(node)
            if node.target not in VIEWS or base is None or base.dtype != array.dtype:
                return array
            self._pin(base.name)
            buffer = self._buffer(self.builder.name(array.name), value, inputs=True)
            self.builder.nodes.append(Alias(buffer, base.name))
            self.views[array.name] = array_of(buffer)
        return self.views[array.name]

    def _eager(self, name: str) -> tuple[fx.Node | None, Any]:
        """Return the node that made an array, and its fake tensor."""
        node = self.origin.get(name)
        if node is None or name in self.externs:
            return None, None
        value: Any = node.meta.get("val")
        made = self.values[node]
        if isinstance(made, tuple):
            value = value[[p is not None and p.name == name for p in made].index(True)]
        return node, value

    def _pin(self, name: str) -> None:
        """Give an array, and what it is a view of, eager mode's strides."""
        node, value = self._eager(name)
        if node is None or name in self.pinned:
            return
        self.pinned[name] = value
        if node.target in VIEWS:
            _, base = self._root(node)
            if base is not None:
                self._pin(base.name)

    def _strides(self) -> dict[str, tuple[Expression, ...]]:
        return {
            name: tuple(map(size, value.stride()))
            for name, value in self.pinned.items()
            if isinstance(value, torch.Tensor)
        }

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

    def _expected(self, result: Any, wanted: Any) -> None:
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

    def _with_seeds(self) -> list[Node]:
        """Return the nodes, before them one draw of all seeds for each device."""
        first: list[Node] = []
        for device, count in self.builder.seeds.items():
            buffer = Buffer(
                seeds_name(device), "int64", (index(count),), device, (index(1),)
            )
            first.append(
                Extern(
                    (buffer,),
                    aten.randint.low,
                    (-(2**63), 2**63 - 1, (count,)),
                    {"dtype": torch.int64, "device": torch.device(device)},
                    reason="seeds of this call, from torch's generator",
                )
            )
        return first + self.builder.nodes


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


def _overlaps(value: Any) -> bool:
    """Return whether dims of a fake tensor have stride 0."""
    pairs = zip(value.shape, value.stride(), strict=True)
    return any(
        isinstance(stride, int) and stride == 0 and extent is not ONE
        for extent, stride in ((size(e), s) for e, s in pairs)
    )


def _dense(result: Any) -> None:
    for value in result if isinstance(result, (tuple, list)) else (result,):
        if isinstance(value, torch.Tensor) and value.layout != torch.strided:
            raise NotLowered(f"the layout {value.layout}")
        if isinstance(value, torch.Tensor) and value.device.type == "meta":
            raise NotLowered("a tensor without memory")


def _names(value: Any) -> Iterable[str]:
    if isinstance(value, Array):
        yield value.name
    elif isinstance(value, dict):
        yield from _names(tuple(value.values()))
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _names(item)


def _by_name(target: Any, args: Sequence[Any], kwargs: Any) -> dict[str, Any]:
    return dict(zip(argument_names(target), args, strict=False)) | dict(kwargs)


def _referred(value: Any) -> Any:
    if isinstance(value, Array):
        return Reference(value.name)
    if isinstance(value, tuple):
        return tuple(map(_referred, value))
    if isinstance(value, dict):
        return {key: _referred(item) for key, item in value.items()}
    if isinstance(value, Expression) and value.dtype != "index":
        raise CompileError("an extern call with a number made of sizes")
    return value


def _identifier(name: str) -> str:
    return re.sub(r"\W", "_", name)


def _source(node: fx.Node) -> str:
    """Return the user's line: the last frame of the node's stack trace."""
    frames = re.findall(
        r'File "([^"]+)", line (\d+), in (\S+)', stack_trace(node) or ""
    )
    return "{}:{} ({})".format(*frames[-1]) if frames else ""


def _with_strides(
    program: Program, strides: dict[str, tuple[Expression, ...]]
) -> Program:
    def pinned(buffer: Buffer) -> Buffer:
        found = strides.get(buffer.name)
        return buffer if found is None else replace(buffer, strides=found)

    nodes: list[Node] = []
    for node in program.nodes:
        if isinstance(node, (Map, Scatter)):
            node = replace(node, buffer=pinned(node.buffer))
        elif isinstance(node, (Reduce, Scan)):
            node = replace(node, buffers=tuple(map(pinned, node.buffers)))
        nodes.append(node)
    return replace(program, nodes=tuple(nodes))


def read(node: Node) -> set[str]:
    """Return the names of the arrays that a node reads."""
    if isinstance(node, Extern):
        return set(_references((node.args, dict(node.kwargs))))
    if isinstance(node, Alias):
        return {node.base}
    roots: list[Expression] = []
    if isinstance(node, (Map, Scan, Assign, Scatter)):
        roots.append(node.value)
    if isinstance(node, Reduce):
        roots += node.values
    names = set()
    if isinstance(node, Scatter):
        names.add(node.base)
        roots += node.target
        if node.condition is not None:
            roots.append(node.condition)
    return names | {str(found.data) for found in loads(*roots)}


def _references(value: Any) -> Iterable[str]:
    if isinstance(value, Reference):
        yield value.name
    elif isinstance(value, dict):
        yield from _references(tuple(value.values()))
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _references(item)


def _alive(program: Program) -> Program:
    """Return the program without nodes that nothing needs."""
    needed = {name for name in program.outputs if isinstance(name, str)}
    kept: list[Node] = []
    for node in reversed(program.nodes):
        effect = isinstance(node, Assign) or (
            isinstance(node, Extern)
            and (bool(node.mutates) or not node.outputs or not _pure(node.target))
        )
        if effect or any(buffer.name in needed for buffer in written(node)):
            needed |= read(node)
            kept.append(node)
    return replace(program, nodes=tuple(kept[::-1]))


def _pure(target: Any) -> bool:
    if isinstance(target, Constant):
        return True
    return is_overload(target) and torch.Tag.nondeterministic_seeded not in target.tags
