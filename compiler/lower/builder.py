"""What lowerings write with: arrays, and nodes that compute them from loads."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import torch

from compiler.ir.expression import Expression, loads, nodes
from compiler.ir.index import Index, constant_value, digit, index
from compiler.ir.node import Axis, Buffer, Map, Node, Reduce, Scan, Scatter
from compiler.ir.scalar import cast, compute_type, load, type_name
from compiler.torch_api import size_expression

from .registry import NotLowered

Indices: TypeAlias = tuple[Expression, ...]
Body: TypeAlias = Callable[[Indices], Expression]
"""Value at a point, from the point's coordinates."""


@dataclass(frozen=True, slots=True, eq=False)
class Array:
    """An array of the program, as lowerings see it.

    Attributes:
        name: The buffer's name.
        dtype: Value type (or torch's name of another, which only extern calls take).
        shape: Extents [elements].
        device: ``"cpu"`` or ``"cuda:0"`` and the like.
        constant: What all its elements are, None if that is not known. Reading it
            then needs no memory, so a number made on a CPU serves on any device.
    """

    name: str
    dtype: str
    shape: tuple[Expression, ...]
    device: str
    constant: Expression | None = None

    @property
    def rank(self) -> int:
        """Number of dims."""
        return len(self.shape)

    def at(self, indices: Sequence[Index], dtype: str | None = None) -> Expression:
        """Return the element at an index, cast to a type."""
        value = self.constant
        if value is None:
            value = load(self.name, tuple(index(i) for i in indices), self.dtype)
        return value if dtype is None else cast(value, dtype)

    def computed(self, indices: Sequence[Index]) -> Expression:
        """Return the element in the type that it is computed in."""
        return self.at(indices, compute_type(self.dtype))


class Builder:
    """A program in the making.

    Attributes:
        nodes: What was emitted, in order.
        result: Metadata of the operator that is being lowered: a fake tensor, a size,
            or a tuple of them.
        origin: The user's source line.
        options: The compilation's.
        prefix: Start of the names of new arrays.
        devices: Array's name -> its device.
        seeds: Device -> number of seeds that were taken.
    """

    def __init__(self, options: Any = None) -> None:
        self.nodes: list[Node] = []
        self.devices: dict[str, str] = {}
        self.result: Any = None
        self.origin = ""
        self.options = options
        self.prefix = "t"
        self._names: set[str] = set()
        self.seeds: dict[str, int] = {}

    def name(self, wish: str) -> str:
        """Return a name that no array has yet."""
        name, number = wish, 1
        while name in self._names:
            number += 1
            name = f"{wish}_{number}"
        self._names.add(name)
        return name

    def seed(self, device: str) -> Expression:
        """Return a fresh seed (int64) of this call, drawn from torch's generator.

        Raises:
            NotLowered: the user wants eager mode's random numbers.
        """
        if getattr(self.options, "eager_parity", False):
            raise NotLowered("eager mode's random numbers were asked for")
        number = self.seeds.get(device, 0)
        self.seeds[device] = number + 1
        return load(seeds_name(device), (index(number),), "int64")

    def shape_of(self, value: Any) -> tuple[Expression, ...]:
        """Return the shape of a fake tensor as index expressions."""
        return tuple(size(extent) for extent in value.shape)

    def buffer(
        self, shape: Sequence[Index], dtype: str, device: str, suffix: str = ""
    ) -> Buffer:
        """Return a fresh buffer, named after the operator that is being lowered."""
        wish = f"{self.prefix}_{suffix}" if suffix else self.prefix
        extents = tuple(index(extent) for extent in shape)
        name = self.name(wish)
        self.devices[name] = device
        return Buffer(name, dtype, extents, device, origin=self.origin)

    def map(
        self,
        shape: Sequence[Index],
        dtype: str,
        body: Body,
        *,
        device: str,
        suffix: str = "",
    ) -> Array:
        """Emit ``array[point] = body(point)``, cast to the array's type."""
        axes = axes_of(shape)
        value = cast(body(digits_of(axes)), dtype)
        self._one_device(device, value)
        buffer = self.buffer(shape, dtype, device, suffix)
        self.nodes.append(Map(buffer, axes, value))
        known = value if value.op == "constant" else None
        return replace(array_of(buffer), constant=known)

    def result_map(self, body: Body, result: Any = None) -> Array:
        """Emit the operator's result from a body; shape, type, device as eager's."""
        result = self.result if result is None else result
        return self.map(
            self.shape_of(result),
            type_name(result.dtype),
            body,
            device=str(result.device),
        )

    def reduce(
        self,
        shape: Sequence[Index],
        reduced: Sequence[Index],
        reducer: str,
        body: Callable[[Indices, Indices], Expression],
        *,
        device: str,
        suffix: str,
    ) -> tuple[Array, ...]:
        """Emit a reduction of ``body(point, reduced point)``.

        The results have the body's type; positions and truth have their own.
        """
        axes, inner = axes_of(shape), axes_of(reduced, "r")
        value = body(digits_of(axes), digits_of(inner))
        self._one_device(device, value)
        dtypes = [value.dtype]
        if reducer == "welford":
            dtypes = [value.dtype] * 3
        elif reducer == "online_softmax":
            dtypes = [value.dtype] * 2
        elif reducer in ("argmax", "argmin"):
            dtypes = ["int64"]
        buffers = tuple(
            self.buffer(shape, dtype, device, f"{suffix}{number or ''}")
            for number, dtype in enumerate(dtypes)
        )
        self.nodes.append(Reduce(buffers, axes, inner, reducer, (value,)))
        return tuple(map(array_of, buffers))

    def scan(
        self, shape: Sequence[Index], along: int, kind: str, body: Body, *, device: str
    ) -> tuple[Array, ...]:
        """Emit an inclusive scan of a body along an axis, in the body's type."""
        axes = axes_of(shape)
        value = body(digits_of(axes))
        self._one_device(device, value)
        dtypes = [value.dtype] + ["int64"] * kind.startswith("arg")
        buffers = tuple(self.buffer(shape, t, device, "scan") for t in dtypes)
        self.nodes.append(Scan(buffers, axes, along, kind, value))
        return tuple(map(array_of, buffers))

    def scatter(
        self,
        base: Array,
        extents: Sequence[Index],
        target: Callable[[Indices], Sequence[Index]],
        body: Body,
        mode: str = "set",
        *,
        condition: Body | None = None,
        unique: bool = False,
    ) -> Array:
        """Emit a copy of an array in which some elements are changed."""
        axes = axes_of(extents)
        point = digits_of(axes)
        value = cast(body(point), base.dtype)
        places = tuple(index(place) for place in target(point))
        kept = None if condition is None else condition(point)
        self._one_device(base.device, value, *places)
        buffer = self.buffer(base.shape, base.dtype, base.device)
        self.nodes.append(
            Scatter(buffer, base.name, axes, places, value, mode, kept, unique)
        )
        return array_of(buffer)

    def _one_device(self, device: str, *values: Expression) -> None:
        for node in loads(*values):
            found = self.devices.get(str(node.data), device)
            if found != device:
                raise NotLowered(f"reads {found} memory on {device}")


def seeds_name(device: str) -> str:
    """Return the name of the array of a device's seeds."""
    return "seeds_" + device.replace(":", "_")


def array_of(buffer: Buffer) -> Array:
    """Return a buffer as lowerings see it."""
    return Array(buffer.name, buffer.dtype, buffer.shape, buffer.device)


def axes_of(shape: Sequence[Index], prefix: str = "i") -> tuple[Axis, ...]:
    """Return one axis for each extent, its digit named by its number."""
    return tuple(
        Axis(digit(f"{prefix}{number}"), index(extent))
        for number, extent in enumerate(shape)
    )


def digits_of(axes: Sequence[Axis]) -> Indices:
    """Return the digits of axes."""
    return tuple(axis.digit for axis in axes)


def size(value: Any) -> Expression:
    """Return a size of a fake tensor as an index expression.

    Raises:
        NotLowered: it is made of operations that indices have not.
    """
    if isinstance(value, Expression):
        return value
    if isinstance(value, torch.SymInt):
        try:
            return size_expression(value)
        except NotImplementedError as error:
            raise NotLowered(str(error)) from error
    return index(int(value))


def static(value: Index, what: str) -> int:
    """Return a size that must be known when compiling.

    Raises:
        NotLowered: it is symbolic.
    """
    known = constant_value(value)
    if known is None:
        raise NotLowered(f"{what} is not known when compiling")
    return known


def is_pure(value: Expression) -> bool:
    """Return whether a value has no loads."""
    return all(node.op != "load" for node in nodes(value))
