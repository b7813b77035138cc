"""Channels last for convolutions on a GPU, where their time is.

Half-precision convolutions run on matrix units, which want the channels adjacent;
given images with channels first, the library transposes them on the way in and out of
each call. One decision for the graph: the arrays between convolutions, and images that
the forward graph keeps for the backward graph, are laid out with the channels last, and
the rest follows, since loops take the layout of what they read. What leaves the graph
otherwise, and what other calls get, keeps its own strides.
"""

from dataclasses import dataclass, replace

from compiler.ir.expression import Expression
from compiler.ir.index import constant_value
from compiler.ir.node import (
    Alias,
    Buffer,
    Extern,
    Map,
    Node,
    Program,
    Reference,
    written,
)

from .arrays import loaded, mutated, reads, referring
from .strides import dense_strides, same_layout
from .work import typical

CONVOLUTION = "aten.convolution.default"
BACKWARD = "aten.convolution_backward.default"
HALF = ("float16", "bfloat16")
DEVICE = "cuda"


@dataclass(frozen=True, slots=True)
class Convolution:
    """A call of the library's convolution, or of its gradients.

    Attributes:
        call: The node.
        taken: Numbers of the arguments that are images and weights.
        results: Images and weights that it returns.
        operations: Multiplications [operations].
        grouped: Whether groups have several channels each, which matrix units serve
            badly.
    """

    call: Extern
    taken: tuple[int, ...]
    results: tuple[Buffer, ...]
    operations: int
    grouped: bool


def convolutions(program: Program) -> list[Convolution]:
    """Return the convolutions of images in half precision on a GPU."""
    buffers = program.buffers()
    found = []
    for node in program.nodes:
        if not isinstance(node, Extern):
            continue
        if str(node.target) == CONVOLUTION:
            first, made = 0, 1
        elif str(node.target) == BACKWARD:
            first, made = 1, 2
        else:
            continue
        taken = tuple(range(first + 2))
        transposed, groups = node.args[first + 6], node.args[first + 8]
        names = [a.name for n in taken if isinstance(a := node.args[n], Reference)]
        arrays = [buffers[name] for name in names]
        results = tuple(b for b in node.outputs[:made] if b is not None)
        numbers = [extent for array in (*arrays, *results) for extent in array.shape]
        if (
            len(arrays) != len(taken)
            or not results
            or any(
                len(b.shape) != 4 or b.dtype not in HALF for b in (*arrays, *results)
            )
            or not results[0].device.startswith(DEVICE)
            or any(constant_value(extent) is None for extent in numbers)
            or transposed is not False
        ):
            continue
        weight = arrays[-1]
        image = arrays[0] if made == 2 else results[0]
        operations = made
        for extent in (*image.shape, *weight.shape[1:]):
            operations *= typical(extent)
        grouped = groups != 1 and constant_value(weight.shape[1]) != 1
        found.append(Convolution(node, taken, results, operations, grouped))
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
        self.outputs = program.leaving()
        self.changed = {name for node in program.nodes for name in mutated(node)}
        self.others: set[str] = set()  # arrays that other calls get
        self.maps: set[str] = set()
        for node in program.nodes:
            if isinstance(node, Map):
                self.maps.add(node.buffer.name)
            if isinstance(node, (Extern, Alias)) and id(node) not in self.chosen:
                self.others.update(reads(node))
        self.results = {b.name: b for c in found for b in c.results}
        self.turned: dict[str, str] = {}  # array -> its copy with channels last
        self.eager: dict[str, str] = {}  # array -> its copy with eager's strides
        self.out: list[Node] = []

    def run(self) -> Program:
        demanded = {
            reference.name
            for c in self.chosen.values()
            for reference in (c.call.args[number] for number in c.taken)
        }
        images = self._images()
        demanded |= {n for n in self.program.free if self.buffers[n].shape in images}
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

    def _images(self) -> set[tuple[Expression, ...]]:
        """Return the shapes of what convolutions take and return, weights apart."""
        arrays = [
            self.buffers[c.call.args[number].name]
            for c in self.chosen.values()
            for number in c.taken[:-1]
        ]
        arrays += [c.results[0] for c in self.chosen.values() if len(c.taken) == 2]
        return {array.shape for array in arrays}

    def _convolution(self, found: Convolution) -> None:
        args = list(found.call.args)
        for number in found.taken:
            args[number] = Reference(self._turned(args[number].name))
        outputs = list(found.call.outputs)
        copies = []
        for number, old in enumerate(outputs):
            if old not in found.results:
                continue
            result = replace(old, strides=channels_last(old))
            if old.name in self.outputs:
                result = replace(result, name=f"{old.name}_nhwc")
                copies.append(loaded(old, result.name))
                self.buffers[old.name] = old
                self.turned[old.name] = result.name
            self.buffers[result.name] = outputs[number] = result
        call = replace(found.call, args=tuple(args), outputs=tuple(outputs))
        self.out += [call, *copies]

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
        self.out.append(loaded(copy, name))
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
                copy = replace(self.results[name], name=f"{name}_nchw")
                self.out.append(loaded(copy, name))
                self.buffers[copy.name] = copy
                self.eager[name] = copy.name
            renamed[name] = self.eager[name]
        if isinstance(node, Alias):
            self.out.append(replace(node, base=renamed.get(node.base, node.base)))
            return
        args = tuple(referring(arg, renamed) for arg in node.args)
        kwargs = {key: referring(arg, renamed) for key, arg in node.kwargs.items()}
        self.out.append(replace(node, args=args, kwargs=kwargs))
