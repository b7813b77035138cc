"""Random programs of integers, on which a schedule must be exact."""

import random
from collections.abc import Callable

import pytest
import torch

from compiler.ir.expression import Expression, make
from compiler.ir.index import add, contiguous_strides, digit, floordiv, index, mod, mul
from compiler.ir.node import (
    Assign,
    Axis,
    Buffer,
    Extern,
    Map,
    Node,
    Program,
    Reduce,
    Reference,
    Scan,
    Scatter,
)
from compiler.ir.scalar import apply, checked_index, constant, from_index, load

Shape = tuple[int, ...]
TYPE = "int64"


def buffer(name: str, shape: Shape, strides: Shape | None = None) -> Buffer:
    return Buffer(
        name,
        TYPE,
        tuple(map(index, shape)),
        "cpu",
        None if strides is None else tuple(map(index, strides)),
    )


class Maker:
    """Adds random nodes to a program."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.inputs: list[Buffer] = []
        self.nodes: list[Node] = []
        self.shapes: dict[str, Shape] = {}
        self.owned: set[str] = set()

    def fresh(self) -> str:
        return f"a{len(self.shapes)}"

    def add_input(self, shape: Shape) -> None:
        name = self.fresh()
        order = list(range(len(shape)))
        if self.rng.random() < 0.3:
            self.rng.shuffle(order)
        strides = [0] * len(shape)
        step = 1
        for dim in reversed(order):
            strides[dim] = step
            step *= shape[dim]
        self.inputs.append(buffer(name, shape, tuple(strides)))
        self.shapes[name] = shape

    def axes(self, shape: Shape, letter: str = "d") -> tuple[Axis, ...]:
        stamp = len(self.nodes)
        return tuple(
            Axis(digit(f"{letter}{stamp}_{n}"), index(e)) for n, e in enumerate(shape)
        )

    def pick(self) -> str:
        names = list(self.shapes)
        return self.rng.choice(names[-6:] if self.rng.random() < 0.8 else names)

    def matching(self, shape: Shape) -> list[str]:
        """Return the arrays that broadcast to a shape."""
        return [
            name
            for name, have in self.shapes.items()
            if len(have) <= len(shape)
            and all(h in (1, s) for h, s in zip(have[::-1], shape[::-1], strict=False))
        ]

    def read(self, name: str, axes: tuple[Axis, ...]) -> Expression:
        have = self.shapes[name]
        args = [
            index(0) if extent == 1 else axis.digit
            for extent, axis in zip(have, axes[len(axes) - len(have) :], strict=True)
        ]
        return load(name, tuple(args), TYPE)

    def value(self, axes: tuple[Axis, ...], shape: Shape) -> Expression:
        names = self.matching(shape)
        total = from_index(axes[0].digit, TYPE) if axes else constant(3, TYPE)
        for _ in range(self.rng.randint(1, 3)):
            if names:
                operand = self.read(self.rng.choice(names[-5:]), axes)
                op = self.rng.choice(("add", "sub", "maximum", "mul"))
                total = apply(op, total, operand)
        if self.rng.random() < 0.3:
            total = apply("bitwise_and", total, constant(1023, TYPE))
        return total

    def add_map(self) -> None:
        shape = self.shapes[self.pick()]
        axes = self.axes(shape)
        value = self.value(axes, shape)
        self.emit_map(shape, axes, value)

    def emit_map(self, shape: Shape, axes: tuple[Axis, ...], value: Expression) -> None:
        name = self.fresh()
        self.nodes.append(Map(buffer(name, shape), axes, value))
        self.shapes[name] = shape
        self.owned.add(name)

    def add_view(self) -> None:
        base = self.pick()
        shape = list(self.shapes[base])
        kind = self.rng.choice(("transpose", "merge", "split", "slice", "flip", "roll"))
        if kind == "transpose":
            order = list(range(len(shape)))
            self.rng.shuffle(order)
            axes = self.axes(tuple(shape[d] for d in order))
            args = [axes[order.index(d)].digit for d in range(len(shape))]
        elif kind == "merge" and len(shape) > 1:
            at = self.rng.randrange(len(shape) - 1)
            merged = [*shape[:at], shape[at] * shape[at + 1], *shape[at + 2 :]]
            axes = self.axes(tuple(merged))
            args = [axis.digit for axis in axes]
            args[at : at + 1] = [
                floordiv(args[at], shape[at + 1]),
                mod(args[at], shape[at + 1]),
            ]
        elif kind == "split" and any(e % 2 == 0 for e in shape):
            at = self.rng.choice([d for d, e in enumerate(shape) if e % 2 == 0])
            axes = self.axes((*shape[:at], shape[at] // 2, 2, *shape[at + 1 :]))
            args = [axis.digit for axis in axes]
            args[at : at + 2] = [add(mul(args[at], 2), args[at + 1])]
        elif not shape:
            return
        else:
            at = self.rng.randrange(len(shape))
            extent = shape[at]
            if kind == "slice":
                shape[at] = max(extent - 1, 1)
            axes = self.axes(tuple(shape))
            args = [axis.digit for axis in axes]
            if kind == "slice":
                args[at] = add(args[at], extent - shape[at])
            elif kind == "flip":
                args[at] = add(mul(args[at], -1), extent - 1)
            else:
                args[at] = mod(add(args[at], 1), extent)
        out = tuple(int(str(axis.extent)) for axis in axes)
        self.emit_map(out, axes, load(base, tuple(args), TYPE))

    def add_reduce(self) -> None:
        shape = self.shapes[self.pick()]
        if not shape:
            return
        axes = self.axes(shape)
        value = self.value(axes, shape)
        reduced = {d for d in range(len(shape)) if self.rng.random() < 0.5} or {0}
        outer = tuple(a for d, a in enumerate(axes) if d not in reduced)
        inner = tuple(a for d, a in enumerate(axes) if d in reduced)
        reducer = self.rng.choice(("sum", "maximum", "minimum", "sum", "argmax"))
        name = self.fresh()
        out = tuple(e for d, e in enumerate(shape) if d not in reduced)
        self.nodes.append(Reduce((buffer(name, out),), outer, inner, reducer, (value,)))
        self.shapes[name] = out
        self.owned.add(name)
        if self.rng.random() < 0.7:
            self.broadcast(name, shape, reduced)

    def broadcast(self, name: str, shape: Shape, reduced: set[int]) -> None:
        """Add a map that takes a result back to each of its elements."""
        axes = self.axes(shape)
        back = load(
            name, tuple(a.digit for d, a in enumerate(axes) if d not in reduced), TYPE
        )
        self.emit_map(shape, axes, apply("sub", self.value(axes, shape), back))

    def add_scan(self) -> None:
        shape = self.shapes[self.pick()]
        if not shape:
            return
        axes = self.axes(shape)
        name = self.fresh()
        along = self.rng.randrange(len(shape))
        kind = self.rng.choice(("sum", "maximum"))
        value = self.value(axes, shape)
        self.nodes.append(Scan((buffer(name, shape),), axes, along, kind, value))
        self.shapes[name] = shape
        self.owned.add(name)

    def add_scatter(self) -> None:
        base = self.pick()
        shape = self.shapes[base]
        if not shape:
            return
        axes = self.axes(shape)
        value = self.value(axes, shape)
        place = [axis.digit for axis in axes]
        key = apply("bitwise_and", value, constant(0, TYPE))
        place[0] = checked_index(key, shape[0])
        mode = self.rng.choice(("add", "maximum"))
        if self.rng.random() < 0.4:
            place[0], mode = axes[0].digit, "set"
        name = self.fresh()
        unique = mode == "set"
        self.nodes.append(
            Scatter(
                buffer(name, shape), base, axes, tuple(place), value, mode, None, unique
            )
        )
        self.shapes[name] = shape
        self.owned.add(name)

    def add_assign(self) -> None:
        target = self.rng.choice(self.inputs)
        shape = self.shapes[target.name]
        axes = self.axes(shape)
        value = self.value(axes, shape)
        if self.rng.random() < 0.3 and shape:
            args = [axis.digit for axis in axes]
            args[0] = mod(add(args[0], 1), shape[0])
            value = apply("add", value, load(target.name, tuple(args), TYPE))
        self.nodes.append(Assign(target.name, axes, value))

    def add_extern(self) -> None:
        base = self.pick()
        shape = self.shapes[base]
        name = self.fresh()
        made = buffer(name, shape, tuple(_row_major(shape)))
        call = torch.ops.aten.mul.Tensor
        args: tuple[Reference, ...] = (Reference(base), Reference(base))
        contiguous = torch.ops.aten.clone.default
        if self.rng.random() < 0.5:
            call, args = contiguous, (Reference(base),)
        # eager's result follows its arguments' layout: ask for row-major ones
        self.demand(base)
        if base in {b.name for b in self.inputs}:
            return
        self.nodes.append(Extern((made,), call, args, {}))
        self.shapes[name] = shape

    def demand(self, name: str) -> None:
        for place, node in enumerate(self.nodes):
            if isinstance(node, Map) and node.buffer.name == name:
                shape = self.shapes[name]
                self.nodes[place] = Map(
                    buffer(name, shape, tuple(_row_major(shape))), node.axes, node.value
                )

    def program(self) -> Program:
        names = [name for name in self.shapes if name in self.owned]
        count = min(len(names), self.rng.randint(1, 4))
        outputs = self.rng.sample(names, count) if names else []
        return Program(tuple(self.inputs), tuple(self.nodes), tuple(outputs))


def _row_major(shape: Shape) -> list[int]:
    return [int(str(s)) for s in contiguous_strides(shape)]


def random_program(rng: random.Random, size: int) -> Program:
    maker = Maker(rng)
    extents = rng.choice(((2, 3, 4), (1, 2, 6), (4, 8), (3, 3, 1)))
    for _ in range(rng.randint(1, 3)):
        rank = rng.randint(0 if maker.inputs else 1, 3)
        maker.add_input(tuple(rng.choice(extents) for _ in range(rank)))
    kinds = ["map"] * 5 + ["view"] * 4 + ["reduce"] * 3 + ["scan", "scatter", "assign"]
    kinds.append("extern")
    for _ in range(size):
        getattr(maker, f"add_{rng.choice(kinds)}")()
    return maker.program()


def random_inputs(program: Program, rng: random.Random) -> list[torch.Tensor]:
    torch.manual_seed(rng.randrange(1 << 30))
    out = []
    for item in program.inputs:
        assert isinstance(item, Buffer)
        shape = [int(str(e)) for e in item.shape]
        strides = [int(str(s)) for s in item.strides or ()]
        tensor = torch.empty_strided(shape, strides, dtype=torch.int64)
        out.append(tensor.copy_(torch.randint(-50, 50, shape)))
    return out


@pytest.fixture(scope="session")
def program_of() -> Callable[[int, int], Program]:
    """Return a random program of a seed and a size."""
    return lambda seed, size: random_program(random.Random(seed), size)


@pytest.fixture(scope="session")
def inputs_of() -> Callable[[Program, int], list[torch.Tensor]]:
    """Return random inputs of a program and a seed."""
    return lambda program, seed: random_inputs(program, random.Random(seed))


@pytest.fixture(scope="session")
def node_of() -> Callable[..., Expression]:
    """Return the raw constructor, for expressions that the smart ones fold."""
    return make
