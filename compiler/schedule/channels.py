"""Channels last for convolutions on a GPU, where their time is.

Half-precision convolutions run on matrix units, which want the channels adjacent;
given images with channels first, the library transposes them on the way in and out of
each call. One decision for the graph: the arrays between convolutions are laid out
with the channels last, and the rest follows, since loops take the layout of what they
read. What leaves the graph, and what other calls get, keeps its own strides.
"""

from dataclasses import dataclass, replace

from compiler.ir.expression import Expression, make
from compiler.ir.index import constant_value, digit, index
from compiler.ir.node import (
    Alias,
    Axis,
    Buffer,
    Extern,
    Map,
    Node,
    Program,
    Reference,
    written,
)

from .arrays import mutated, reads, referring
from .strides import dense_strides, same_layout
from .work import typical

CONVOLUTION = "aten.convolution.default"
HALF = ("float16", "bfloat16")


@dataclass(frozen=True, slots=True)
class Convolution:
    """A call of the library's convolution.

    Attributes:
        call: The node.
        image: Name of its first argument.
        weight: Name of its second argument.
        result: What it returns.
        operations: Multiplications [operations].
        grouped: Whether groups have several channels each, which matrix units serve
            badly.
    """

    call: Extern
    image: str
    weight: str
    result: Buffer
    operations: int
    grouped: bool


def convolutions(program: Program) -> list[Convolution]:
    """Return the convolutions of images in half precision on a GPU."""
    buffers = program.buffers()
    found = []
    for node in program.nodes:
        if not isinstance(node, Extern) or str(node.target) != CONVOLUTION:
            continue
        image, weight, result = node.args[0], node.args[1], node.outputs[0]
        if not isinstance(image, Reference) or not isinstance(weight, Reference):
            continue
        taken = buffers[weight.name]
        if (
            result is None
            or len(result.shape) != 4
            or result.dtype not in HALF
            or not result.device.startswith("cuda")
            or any(constant_value(e) is None for e in (*result.shape, *taken.shape))
            or node.args[6] is not False
        ):
            continue
        operations = 1
        for extent in (*result.shape, *taken.shape[1:]):
            operations *= typical(extent)
        grouped = node.args[8] != 1 and constant_value(taken.shape[1]) != 1
        found.append(
            Convolution(node, image.name, weight.name, result, operations, grouped)
        )
    return found


def with_channels_last(program: Program, notes: list[str]) -> Program:
    """Return the program with channels last around its convolutions, if that pays."""
    found = convolutions(program)
    total = sum(c.operations for c in found)
    if not found or 2 * sum(c.operations for c in found if c.grouped) > total:
        return program
    notes.append(f"channels last for {len(found)} convolutions")
    return _Layout(program, found).run()


def channels_last(buffer: Buffer) -> tuple[Expression, ...]:
    """Return the strides of an image with its channels last [elements]."""
    return dense_strides(buffer.shape, (0, 2, 3, 1))


class _Layout:
    def __init__(self, program: Program, found: list[Convolution]) -> None:
        self.program = program
        self.buffers = program.buffers()
        self.chosen = {id(c.call): c for c in found}
        self.outputs = {o for o in program.outputs if isinstance(o, str)}
        self.changed = {name for node in program.nodes for name in mutated(node)}
        self.others: set[str] = set()  # arrays that other calls get
        self.maps: set[str] = set()
        for node in program.nodes:
            if isinstance(node, Map):
                self.maps.add(node.buffer.name)
            if isinstance(node, (Extern, Alias)) and id(node) not in self.chosen:
                self.others.update(reads(node))
        self.results = {c.result.name for c in found}
        self.turned: dict[str, str] = {}  # array -> its copy with channels last
        self.eager: dict[str, str] = {}  # array -> its copy with eager's strides
        self.out: list[Node] = []

    def run(self) -> Program:
        demanded = {n for c in self.chosen.values() for n in (c.image, c.weight)}
        free = {
            name
            for name in demanded & self.maps
            if name not in self.outputs | self.others | self.changed
        }
        for name in free:
            buffer = self.buffers[name]
            self.buffers[name] = replace(buffer, strides=channels_last(buffer))
        for node in self.program.nodes:
            if isinstance(node, Map) and node.buffer.name in free:
                self.out.append(replace(node, buffer=self.buffers[node.buffer.name]))
            elif isinstance(node, Extern) and id(node) in self.chosen:
                self._convolution(self.chosen[id(node)])
            elif isinstance(node, (Extern, Alias)):
                self._other(node)
            else:
                self.out.append(node)
            for buffer in written(node):
                self.buffers.setdefault(buffer.name, buffer)
        return replace(self.program, nodes=tuple(self.out))

    def _convolution(self, found: Convolution) -> None:
        image, weight = (self._turned(n) for n in (found.image, found.weight))
        args = (Reference(image), Reference(weight), *found.call.args[2:])
        result = replace(found.result, strides=channels_last(found.result))
        leaves = result.name in self.outputs
        if leaves:
            result = replace(result, name=f"{result.name}_nhwc")
        self.buffers[result.name] = result
        self.out.append(replace(found.call, args=args, outputs=(result,)))
        if leaves:
            self.out.append(_copy(found.result, result.name))
            self.buffers[found.result.name] = found.result
            self.turned[found.result.name] = result.name

    def _turned(self, name: str) -> str:
        """Return an array with channels last: the same or a copy."""
        if name in self.turned:
            return self.turned[name]
        buffer = self.buffers[name]
        wanted = channels_last(buffer)
        if buffer.strides is not None and same_layout(
            buffer.shape, buffer.strides, wanted
        ):
            return name
        copy = Buffer(
            f"{name}_nhwc",
            buffer.dtype,
            buffer.shape,
            buffer.device,
            wanted,
            origin=buffer.origin,
        )
        self.out.append(_copy(copy, name))
        self.buffers[copy.name] = copy
        if name not in self.changed:
            self.turned[name] = copy.name
        return copy.name

    def _other(self, node: Extern | Alias) -> None:
        """Give another call the strides that it had."""
        renamed: dict[str, str] = {}
        for name in reads(node):
            if name not in self.results or name in self.outputs:
                continue
            if name not in self.eager:
                old = next(
                    c.result for c in self.chosen.values() if c.result.name == name
                )
                copy = replace(old, name=f"{name}_nchw")
                self.out.append(_copy(copy, name))
                self.buffers[copy.name] = copy
                self.eager[name] = copy.name
            renamed[name] = self.eager[name]
        if isinstance(node, Alias):
            self.out.append(replace(node, base=renamed.get(node.base, node.base)))
            return
        args = tuple(referring(arg, renamed) for arg in node.args)
        kwargs = {key: referring(arg, renamed) for key, arg in node.kwargs.items()}
        self.out.append(replace(node, args=args, kwargs=kwargs))


def _copy(buffer: Buffer, base: str) -> Map:
    axes = tuple(Axis(digit(f"i{n}"), extent) for n, extent in enumerate(buffer.shape))
    place = tuple(
        index(0) if constant_value(axis.extent) == 1 else axis.digit for axis in axes
    )
    return Map(buffer, axes, make("load", place, buffer.dtype, base))
