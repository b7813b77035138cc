"""Run an assignment on lanes x registers x warps, with real numbers.

Each tile is one value for each place: register lowest, then lane and warp. A step reads
its own thread's registers, as ``laws.sources`` says, and nothing else; conversions,
reductions, gathers and scans move values as their plans' steps do. A store must find
all copies of an element equal. What comes out is compared with
``compiler.ir.evaluate_tile``, which knows no threads.
"""

from collections.abc import Callable, Mapping

import torch

from algebra.affine import AffineLayout
from algebra.dims import dim_name
from algebra.errors import LayoutError
from algebra.layout import LinearLayout
from compiler.convert import plan, plan_gather, plan_reduction
from compiler.convert.hardware import hardware_of
from compiler.convert.reduction import Exchange, Fold, Pass
from compiler.convert.simulate import images
from compiler.convert.steps import Registers
from compiler.errors import SimulationError
from compiler.ir.evaluate_tile import (
    Tensors,
    combine,
    everywhere,
    loaded,
    nibbles,
    product,
    stored,
)
from compiler.ir.expression import Expression
from compiler.ir.points import size
from compiler.ir.scalar import bits, torch_type
from compiler.ir.tile import (
    Operator,
    Step,
    Tile,
    TileDot,
    TileGather,
    TileJoin,
    TileLoad,
    TileLoop,
    TileMap,
    TileReduce,
    TileScan,
    TileSplit,
    TileStore,
    TileUpcast,
    results_of,
)

from .assignment import Assignment
from .laws import bits_of, sources
from .scan import fetched


def simulate(
    given: Assignment, buffers: Tensors, symbols: Mapping[str, int]
) -> dict[Tile, torch.Tensor]:
    """Run one program place by place; its stores change ``buffers``.

    Args:
        given: Graph and layouts.
        buffers: Name -> one-dimensional tensor.
        symbols: Sizes, and the program's place in the grid.

    Returns:
        Tile -> its value at each place.

    Raises:
        SimulationError: a thread lacks what it reads, or copies differ.
        EvaluationError: an access leaves its memory.
    """
    machine = _Machine(given, buffers)
    machine.run(given.graph.operators, dict(symbols))
    return machine.values


class _Machine:
    def __init__(self, given: Assignment, buffers: Tensors) -> None:
        self.given = given
        self.buffers = buffers
        self.values: dict[Tile, torch.Tensor] = {}

    def run(self, operators: tuple[Operator, ...], symbols: dict[str, int]) -> None:
        """Run operators in order."""
        for operator in operators:
            if isinstance(operator, TileLoop):
                self._loop(operator, symbols)
                continue
            results = results_of(operator)
            for number, value in enumerate(self._step(operator, symbols)):
                self.values[results[number]] = value

    def _loop(self, loop: TileLoop, symbols: dict[str, int]) -> None:
        for one in loop.carried:
            self.values[one.argument] = self._read(one, 0)
        for number in range(size(loop.rounds, symbols)):
            self.run(loop.body, symbols | {str(loop.counter.data): number})
            handed = [self._read(one, 1) for one in loop.carried]
            for one, value in zip(loop.carried, handed, strict=True):
                self.values[one.argument] = value
        for one in loop.carried:
            self.values[one.result] = self.values[one.argument]

    def _read(self, step: Step, number: int) -> torch.Tensor:
        """Return an operand where its step reads it, converted if it must be."""
        tile = step.operands[number]
        src, dst = self.given.layouts[tile], self.given.wanted[step, number]
        value = self.values[tile]
        if src == dst:
            return value
        width = max(8, bits(tile.dtype))
        moved = plan(src, dst, width, self.given.threads.device.name).simulate()
        return by_element(src, value, tile.name)[moved.reshape(-1)]

    def _at(
        self, step: Step, layout: LinearLayout, symbols: Mapping[str, int]
    ) -> Callable[[Expression], torch.Tensor]:
        elements = elements_of(layout)
        coordinates = {}
        low = 0
        for axis, count in enumerate(layout.out_bits):
            coordinates[f"d{axis}"] = elements >> low & (1 << count) - 1
            low += count
        read = {
            tile.name: self._read(step, number)
            for number, tile in enumerate(step.operands)
        }
        shape = (len(elements),)
        return lambda value: everywhere(value, coordinates, read, symbols, shape)

    def _step(
        self, step: Operator, symbols: Mapping[str, int]
    ) -> tuple[torch.Tensor, ...]:
        given = self.given
        made = [given.layouts[tile] for tile in results_of(step)]
        match step:
            case TileLoad():
                at = self._at(step, made[0], symbols)
                return (loaded(given.graph, step, self.buffers, at),)
            case TileMap(value=value):
                return (self._at(step, made[0], symbols)(value),)
            case TileStore():
                layout = given.wanted[step, 0]
                written = self._read(step, 0)
                by_element(layout, written, step.buffer)
                at = self._at(step, layout, symbols)
                stored(given.graph, step, self.buffers, at, written)
                return ()
            case TileReduce():
                return (self._reduce(step),)
            case TileScan():
                return (self._scan(step),)
            case TileGather():
                return (self._gather(step),)
            case TileDot():
                return (self._dot(step),)
            case TileSplit():
                return (self._own(step, 0, 0), self._own(step, 0, 1))
            case TileJoin():
                low, high = self._own(step, 0), self._own(step, 1)
                top = made[0].out_bits
                upper = elements_of(made[0]) >> sum(top) - 1
                return (torch.where(upper.bool(), high, low),)
            case TileUpcast(axis=axis, result=tile):
                pairs = self._own(step, 0)
                odd = elements_of(made[0]) >> sum(bits_of(tile.shape)[:axis]) & 1
                half = torch.where(odd.bool(), pairs >> 4, pairs & 15)
                return (nibbles(half, torch_type(tile.dtype)),)
        return (self._own(step, 0),)

    def _own(self, step: Operator, number: int, which: int = 0) -> torch.Tensor:
        """Return what the registers of a result take from those of an operand."""
        operand = self.given.wanted[step, number]
        result = self.given.layouts[results_of(step)[which]]
        found = sources(step, operand, result, which)
        if found is None:
            raise SimulationError(f"a thread lacks elements of {step.operands[number]}")
        old, new = operand.in_bits[0], result.in_bits[0]
        registers = torch.from_numpy(images(found)).long()
        place = torch.arange(1 << sum(result.in_bits))
        thread = place >> new
        return self._read(step, number)[
            thread << old | registers[place & (1 << new) - 1]
        ]

    def _reduce(self, step: TileReduce) -> torch.Tensor:
        layout = self.given.wanted[step, 0]
        found = plan_reduction(layout, [dim_name(step.axis)])
        value = self._read(step, 0)
        registers = layout.in_bits[0]
        for one in found.steps:
            place = torch.arange(len(value))
            match one:
                case Registers():
                    value = value[torch.from_numpy(images(one.source)).long()]
                    registers = hardware_of(one.source).registers
                case Fold():
                    kept = place[(place >> one.pivot & 1) == 0]
                    value = combine(step.reducer, value[kept], value[kept ^ one.place])
                    registers -= 1
                case Exchange():
                    value = combine(step.reducer, value, value[place ^ one.place])
                case Pass():
                    sums = [0]
                    for vector in one.places:
                        sums += [vector ^ other for other in sums]
                    parts = [value[place ^ vector] for vector in sums]
                    while len(parts) > 1:  # pairs, so that copies round alike
                        pairs = zip(parts[::2], parts[1::2], strict=True)
                        parts = [combine(step.reducer, *pair) for pair in pairs]
                    value = parts[0]
        return value

    def _scan(self, step: TileScan) -> torch.Tensor:
        layout = self.given.wanted[step, 0]
        value = self._read(step, 0)
        shape, axis = step.result.shape, step.axis
        low = sum(bits_of(shape)[:axis])
        width = max(8, bits(step.result.dtype))
        for bit in range(bits_of(shape)[axis]):
            there = fetched(layout, shape, axis, bit)
            moved = plan(layout, there, width).simulate().reshape(-1)
            other = by_element(layout, value, step.result.name)[moved]
            upper = (elements_of(layout) >> low + bit & 1).bool()
            value = torch.where(upper, combine(step.reducer, other, value), value)
        return value

    def _gather(self, step: TileGather) -> torch.Tensor:
        src, dst = self.given.wanted[step, 0], self.given.wanted[step, 1]
        source, index = self._read(step, 0), self._read(step, 1)
        elements = by_element(src, source, step.operands[0].name)
        try:
            found = plan_gather(src, dst, dim_name(step.axis))
        except LayoutError:
            low = sum(bits_of(step.operands[0].shape)[: step.axis])
            size_ = bits_of(step.operands[0].shape)[step.axis]
            here = sum(bits_of(step.result.shape)[: step.axis])
            width = bits_of(step.result.shape)[step.axis]
            place = elements_of(dst)
            rest = place & (1 << here) - 1 | place >> here + width << low + size_
            return elements[rest | index.long() << low]
        return elements[found.simulate(index.numpy())]

    def _dot(self, step: TileDot) -> torch.Tensor:
        matrices = []
        for number, tile in enumerate(step.operands):
            layout = self.given.wanted[step, number]
            flat = by_element(layout, self._read(step, number), tile.name)
            matrices.append(flat.reshape(tile.shape[::-1]).T)
        found = product(*matrices)
        return found.T.reshape(-1)[elements_of(self.given.layouts[step.result])]


def elements_of(layout: LinearLayout) -> torch.Tensor:
    """Return the packed element at each place."""
    return torch.from_numpy(images(AffineLayout(layout))).long()


def by_element(layout: LinearLayout, value: torch.Tensor, name: str) -> torch.Tensor:
    """Return the value of each packed element, which all its copies must agree on.

    Raises:
        SimulationError: copies differ.
    """
    if value.dtype.is_floating_point and value.dtype.itemsize == 1:
        # such numbers are moved as bytes
        moved = by_element(layout, value.view(torch.uint8), name)
        return moved.view(value.dtype)
    elements = elements_of(layout)
    found = torch.zeros(1 << sum(layout.out_bits), dtype=value.dtype)
    found[elements] = value
    same = (found[elements] == value) | (value != value)
    if not bool(same.all()):
        place = int((~same).nonzero()[0])
        raise SimulationError(
            f"copies of one element of {name} differ, e.g. at place {place}"
        )
    return found
