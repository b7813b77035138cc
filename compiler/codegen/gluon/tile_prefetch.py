"""Loops whose loads to registers are issued a round ahead.

A load that a loop's products need only after some arithmetic cannot be copied to shared
memory as it is. So that a round does not wait for it, the load of the next round is
issued before the round computes; its registers are handed on, narrow elements as the
words that they were loaded in. The last round's is masked: nothing is read beyond the
loop's last round.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

from algebra.errors import LayoutError
from compiler.assign.access import access_of
from compiler.assign.laws import compact
from compiler.ir.expression import substitute
from compiler.ir.index import Index, add, symbol
from compiler.ir.scalar import bits
from compiler.ir.tile import Operator, Tile, TileLoad, TileLoop, TileStore, steps
from compiler.ir.tile_builder import both, less

from .tile_access import load_lines, load_words, unpack_words, word_elements
from .tile_printer import FilePrinter

MOST_REGISTERS = 64
"""Of a thread, for all loads of a loop that are ahead; further loads are not."""
REGISTER_BITS = 32


def early_loads(
    printer: FilePrinter, loop: TileLoop, skipped: Collection[Operator]
) -> list[TileLoad]:
    """Return the loads of a loop's body that are issued a round ahead.

    Args:
        printer: Has the layouts.
        loop: The loop.
        skipped: Operators of the body that are not printed.
    """
    stored = {
        step.buffer for step, _ in steps(loop.body) if isinstance(step, TileStore)
    }
    found: list[TileLoad] = []
    left = MOST_REGISTERS
    for operator in loop.body:
        if not isinstance(operator, TileLoad) or operator in skipped:
            continue
        if operator.operands or operator.buffer in stored:
            continue
        held = compact(printer.given.layouts[operator.result]).in_bits[0]
        width = max(8, bits(operator.result.dtype))
        needed = max(1, (width << held) // REGISTER_BITS)
        if needed <= left:
            left -= needed
            found.append(operator)
    return found


def load_first(printer: FilePrinter, loads: Sequence[TileLoad], loop: TileLoop) -> None:
    """Append, before a loop, the loads of its first round, if there is one."""
    for load in loads:
        _load(printer, load, loop, 0)


def load_next(printer: FilePrinter, loads: Sequence[TileLoad], loop: TileLoop) -> None:
    """Append, in a round, what takes the round's tiles and loads those of the next."""
    for load in loads:
        layout = printer.given.layouts[load.result]
        if word_elements(printer, load, layout) > 1:
            unpack_words(printer, load, layout, _ahead(load))
        else:
            printer.add(f"{load.result.name} = {_ahead(load)}")
    if loads:
        counter = printer.fresh("next")
        printer.add(f"{counter} = {loop.counter.data} + 1")
        for load in loads:
            _load(printer, load, loop, symbol(counter))


def _ahead(load: TileLoad) -> str:
    return f"{load.result.name}_ahead"


def _load(printer: FilePrinter, load: TileLoad, loop: TileLoop, at: Index) -> None:
    there = {loop.counter: add(at, 0)}
    condition = less(add(at, 0), loop.rounds)
    if load.condition is not None:
        condition = both(condition, substitute(load.condition, there))
    tile = Tile(_ahead(load), load.result.shape, load.result.dtype)
    moved = replace(
        load,
        result=tile,
        index=tuple(substitute(place, there) for place in load.index),
        condition=condition,
    )
    layout = printer.given.layouts[load.result]
    before, after = access_of(printer.graph, load), access_of(printer.graph, moved)
    if before.vector(layout) != after.vector(layout):
        raise LayoutError(
            f"the load of {load.result.name} a round ahead needed the vectors "
            f"{before.vector(layout)}, got {after.vector(layout)}"
        )
    if word_elements(printer, load, layout) > 1:
        load_words(printer, moved, layout, _ahead(load))
    else:
        load_lines(printer, moved, layout)
