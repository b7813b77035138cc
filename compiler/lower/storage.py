"""Whose memory eager mode's arrays share, and the strides that outsiders expect."""

import operator
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import fx

from compiler.ir.expression import Expression
from compiler.ir.index import add, index, mul, unflatten
from compiler.ir.node import Alias, Buffer, Map, Node, Program, Reduce, Scan, Scatter
from compiler.torch_api import is_symbolic

from .builder import Array, Builder, Indices, array_of, size
from .families import VIEWS
from .promotion import ONE, index_of
from .registry import NotLowered


class Storage:
    """What eager mode's memory looks like.

    Attributes:
        values: Node of the graph -> what it became.
        changed: Names of inputs that were assigned to.
    """

    def __init__(self, builder: Builder) -> None:
        self.values: dict[fx.Node, Any] = {}
        self.changed: set[str] = set()
        self._builder = builder
        self._maker: dict[str, fx.Node] = {}
        self._pinned: dict[str, Any] = {}  # array -> fake tensor whose strides it has
        self._fixed: set[str] = set()  # arrays that have strides from the start
        self._views: dict[str, Array] = {}  # array -> its view of shared memory

    def bind(self, node: fx.Node, value: Any) -> None:
        """Note what a node became."""
        self.values[node] = value
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, Array):
                self._maker.setdefault(part.name, node)

    def buffer(self, name: str, value: Any, offset: bool = False) -> Buffer:
        """Return a buffer with a fake tensor's strides (and offset)."""
        builder = self._builder
        builder.devices[name] = str(value.device)
        dense = value.layout == torch.strided
        self._fixed.add(name)
        return Buffer(
            name,
            str(value.dtype).removeprefix("torch."),
            tuple(map(size, value.shape)),
            str(value.device),
            tuple(map(size, value.stride())) if dense else None,
            size(value.storage_offset()) if offset and dense else None,
            builder.origin,
        )

    def demanded(self, value: Any) -> Any:
        """Return arrays, nested as arguments are, as an outsider gets them.

        They have eager mode's strides. One whose elements share memory (an expanded
        one) becomes a view of what it shows.
        """
        if isinstance(value, Array):
            return self._demanded(value)
        if isinstance(value, tuple):
            return tuple(self.demanded(item) for item in value)
        if isinstance(value, dict):
            return {key: self.demanded(item) for key, item in value.items()}
        return value

    def _demanded(self, array: Array) -> Array:
        node, value = self._eager(array.name)
        if node is None or not _overlaps(value):
            self.pin(array.name)
            return array
        if array.name not in self._views:
            _, base = self.root(node)
            if (
                node.target not in VIEWS
                or base is None
                or base.dtype != array.dtype
                or base.name in self.changed
            ):
                return array
            self._views[array.name] = self._alias(array.name, value, base)
        return self._views[array.name]

    def _alias(self, wish: str, value: Any, base: Array) -> Array:
        self.pin(base.name)
        buffer = self.buffer(self._builder.name(wish), value, offset=True)
        self._builder.nodes.append(Alias(buffer, base.name))
        return array_of(buffer)

    def restrided(self, node: fx.Node) -> Array:
        """Emit a view by strides: of the storage that eager mode's array has."""
        root, base = self.root(node.args[0])
        if root.meta["val"].dtype != node.meta["val"].dtype or base is None:
            raise NotLowered("strides over the storage of another type")
        return self._alias(self._builder.prefix, node.meta["val"], base)

    def roots(self, results: Sequence[Any]) -> Counter[fx.Node]:
        """Return how many results show each node's memory."""
        nodes = (one for one in results if isinstance(one, fx.Node))
        tensors = (n for n in nodes if isinstance(n.meta.get("val"), torch.Tensor))
        return Counter(self.root(node)[0] for node in tensors)

    def shown(self, node: fx.Node, array: Array, roots: Counter[fx.Node]) -> Array:
        """Return a result that is a view, by its strides over what it shows.

        With numbers for sizes, strides are found that show it, or it is copied. With
        symbols they may not be found, and a copy would not do where the caller has the
        same memory otherwise: an argument's is given back by strides and offset.
        """
        root, base = self.root(node)
        value = node.meta.get("val")
        if root is node or base is None or not _is_symbolic(value):
            return array
        others = root.op == "placeholder" or roots[root] > 1
        if not others or base.dtype != array.dtype or base.name in self.changed:
            return array
        return self._alias(array.name, value, base)

    def scattered(
        self,
        node: fx.Node,
        base: Array,
        source: Array,
        shape: Sequence[Any],
        strides: Sequence[Any],
        offset: Any = None,
    ) -> Array:
        """Emit a copy of an array, written by strides over its storage."""
        value: Any = node.args[0]
        if not contiguous(value.meta["val"]):
            raise NotLowered("strides over storage that is not row-major")
        steps = [index_of(step) for step in strides]
        start = index_of(offset or 0)

        def place(i: Indices) -> list[Expression]:
            moved = (mul(digit, step) for digit, step in zip(i, steps, strict=True))
            return unflatten(add(start, *moved), base.shape)

        return self._builder.scatter(base, source.shape, place, source.at)

    def shared(self, node: fx.Node, result: Any, start: int) -> None:
        """Note whose memory the maps show that a view emitted from ``start`` on."""
        _, base = self.root(node.args[0])
        results = result if isinstance(result, tuple) else (result,)
        names = {array.name for array in results if array is not None}
        nodes = self._builder.nodes
        for place in range(start, len(nodes)):
            made = nodes[place]
            if isinstance(made, Map) and made.buffer.name in names and base is not None:
                nodes[place] = replace(made, shares=base.name)

    def root(self, node: Any) -> tuple[fx.Node, Array | None]:
        """Return the node whose storage eager mode's views of it share."""
        while node.op == "call_function" and node.target in VIEWS:
            node = node.args[0]
        if node.target is operator.getitem and node.args[0].target in VIEWS:
            return self.root(node.args[0])
        found = self.values[node]
        return node, found if isinstance(found, Array) else None

    def _eager(self, name: str) -> tuple[fx.Node | None, Any]:
        """Return the node that made an array, and its fake tensor."""
        node = self._maker.get(name)
        if node is None or name in self._fixed:
            return None, None
        value: Any = node.meta.get("val")
        made = self.values[node]
        if isinstance(made, tuple):
            value = value[[p is not None and p.name == name for p in made].index(True)]
        return node, value

    def pin(self, name: str) -> None:
        """Give an array, and what it is a view of, eager mode's strides."""
        node, value = self._eager(name)
        if node is None or name in self._pinned:
            return
        self._pinned[name] = value
        if node.target in VIEWS:
            _, base = self.root(node)
            if base is not None:
                self.pin(base.name)

    def pin_as(self, name: str, value: Any) -> None:
        """Give an array the strides of a fake tensor."""
        self._pinned[name] = value

    def fixed(self, program: Program) -> Program:
        """Return the program with the strides that were asked for."""
        strides = {
            name: tuple(map(size, value.stride()))
            for name, value in self._pinned.items()
            if isinstance(value, torch.Tensor)
        }
        nodes: list[Node] = []
        for node in program.nodes:
            if isinstance(node, (Map, Scatter)):
                node = replace(node, buffer=_strided(node.buffer, strides))
            elif isinstance(node, (Reduce, Scan)):
                made = tuple(_strided(buffer, strides) for buffer in node.buffers)
                node = replace(node, buffers=made)
            nodes.append(node)
        return replace(program, nodes=tuple(nodes))


def _strided(buffer: Buffer, strides: dict[str, tuple[Expression, ...]]) -> Buffer:
    found = strides.get(buffer.name)
    return buffer if found is None else replace(buffer, strides=found)


def _is_symbolic(value: Any) -> bool:
    numbers = (*value.shape, *value.stride(), value.storage_offset())
    return any(map(is_symbolic, numbers))


def _overlaps(value: Any) -> bool:
    """Return whether dims of a fake tensor have stride 0."""
    return any(
        isinstance(stride, int) and stride == 0 and size(extent) is not ONE
        for extent, stride in zip(value.shape, value.stride(), strict=True)
    )


def contiguous(value: Any) -> bool:
    """Return whether a fake tensor is row-major from the start of its storage."""
    step: Sequence[Any] = []
    total = 1
    for extent in reversed(value.shape):
        if not isinstance(extent, int):
            return False
        step = [*step, total]
        total *= extent
    strides = list(reversed(value.stride()))
    return size(value.storage_offset()) is index(0) and all(
        extent == 1 or stride == wanted
        for extent, stride, wanted in zip(
            reversed(value.shape), strides, step, strict=True
        )
    )
