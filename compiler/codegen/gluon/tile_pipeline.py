"""Loops whose factors are copied to shared memory while earlier rounds compute.

A load whose tile only goes, perhaps transposed, to a product that reads it from shared
memory needs no registers: ``cp.async`` copies it to one of several slots, rounds ahead.
The order of copies, waits and reads is a ``compiler.assign.pipeline.Pipeline``, which
is proved; Triton puts the barrier after each wait.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from algebra.affine import AffineLayout
from algebra.errors import UnsupportedLayoutError
from algebra.layout import LinearLayout
from algebra.verdict import Proved
from compiler.assign.access import access_of, position
from compiler.assign.dot import orientations
from compiler.assign.pipeline import (
    Barrier,
    Commit,
    Compute,
    Copy,
    Event,
    Wait,
    pipeline,
)
from compiler.ir.expression import Expression, leaves, substitute
from compiler.ir.index import from_terms, symbol, terms
from compiler.ir.scalar import bits
from compiler.ir.tile import (
    Operator,
    Tile,
    TileDot,
    TileLoad,
    TileLoop,
    TileView,
    results_of,
    steps,
)

from .tensor_conversion import gluon_layout, place_bits
from .tile_dot import choice_of
from .tile_printer import FilePrinter
from .tile_scalars import Scalars

WORD_BITS = 32


@dataclass(frozen=True, slots=True)
class Stream:
    """A load that goes to shared memory ahead of its round.

    Attributes:
        load: The load.
        views: Transposes between it and the product.
        name: Of its slots.
    """

    load: TileLoad
    views: tuple[TileView, ...]
    name: str

    @property
    def tile(self) -> Tile:
        """What the product reads."""
        return self.views[-1].result if self.views else self.load.result

    @property
    def skipped(self) -> tuple[Operator, ...]:
        """Operators that the copies stand for."""
        return (self.load, *self.views)


def streams_of(printer: FilePrinter, loop: TileLoop) -> list[Stream]:
    """Return the loads of a loop's body that can be copied ahead."""
    found = []
    for operator in loop.body:
        if isinstance(operator, TileLoad):
            views = _way(printer, operator)
            if views is not None and _fits(printer, operator):
                name = printer.fresh(f"{operator.result.name}_slots")
                found.append(Stream(operator, views, name))
    return found


def _way(printer: FilePrinter, load: TileLoad) -> tuple[TileView, ...] | None:
    """Return the transposes up to a product that reads memory, None if it is not so."""
    views: list[TileView] = []
    tile = load.result
    while True:
        users = [
            (step, number)
            for step, _ in steps(printer.graph.operators)
            for number, one in enumerate(step.operands)
            if one is tile
        ]
        if len(users) != 1:
            return None
        ((step, number),) = users
        if isinstance(step, TileView) and step.kind == "transpose":
            views.append(step)
            (tile,) = results_of(step)
        elif isinstance(step, TileDot) and number < 2:
            reads = choice_of(printer, step).operands[number] is None
            axis = access_of(printer.graph, load).axis
            turned = (axis == 0) != bool(len(views) % 2)
            legal = turned in orientations(number, bits(tile.dtype))
            return tuple(views) if reads and legal else None
        else:
            return None


def _fits(printer: FilePrinter, load: TileLoad) -> bool:
    layout = printer.given.layouts[load.result]
    access = access_of(printer.graph, load)
    try:
        alone = place_bits(AffineLayout(layout), "a load") is not None
    except UnsupportedLayoutError:
        return False
    width = (1 << len(access.vector(layout))) * access.element_bits
    plain = not load.operands and load.other == 0 and len(load.result.shape) == 2
    return plain and alone and width >= WORD_BITS


def begin(
    printer: FilePrinter, streams: Sequence[Stream], loop: TileLoop, rounds: str
) -> None:
    """Append what comes before a loop: slots, and the first copies.

    Raises:
        AssertionError: the schedule is not proved.
    """
    schedule = pipeline(printer.stages)
    assert isinstance(schedule.prove(), Proved), "the schedule is in order"
    for stream in streams:
        tile = stream.load.result
        shape = [printer.stages, *tile.shape]
        memory = _memory(printer, stream.load)
        printer.allocate(stream.name, tile.dtype, shape, memory)
    _events(printer, streams, loop, schedule.before, rounds, "")


def each(
    printer: FilePrinter, streams: Sequence[Stream], loop: TileLoop, rounds: str
) -> None:
    """Append what comes first in each round."""
    events = pipeline(printer.stages).each
    _events(printer, streams, loop, events, rounds, str(loop.counter.data))


def factor(printer: FilePrinter, stream: Stream, loop: TileLoop) -> str:
    """Return the text of the memory that a round's product reads."""
    text = f"{stream.name}.index({loop.counter.data} % {printer.stages})"
    for view in stream.views:
        text += f".permute({list(view.order)})"
    return text


def _events(
    printer: FilePrinter,
    streams: Sequence[Stream],
    loop: TileLoop,
    events: Sequence[Event],
    rounds: str,
    counter: str,
) -> None:
    for event in events:
        match event:
            case Copy(ahead=ahead):
                name = printer.fresh("ahead")
                start = f"{counter} + {ahead}" if counter else f"{rounds} * 0 + {ahead}"
                printer.add(f"{name} = {start}")
                for stream in streams:
                    _copy(printer, stream, loop, name, rounds)
            case Commit():
                printer.add("async_copy.commit_group()")
            case Wait(pending=pending):
                printer.add(f"async_copy.wait_group({pending})")
            case Barrier() | Compute():
                pass  # Triton's own after a wait; the loop's body


def _memory(printer: FilePrinter, load: TileLoad) -> str:
    """Return the layout of a slot: lines as in global memory, swizzled."""
    access = access_of(printer.graph, load)
    shape = load.result.shape
    line = shape[access.axis or 0] * access.element_bits // 8
    width = next((w for w in (128, 64, 32) if line % w == 0), 0)
    turned = access.axis == 0
    return (
        f"gl.NVMMASharedLayout({width}, {access.element_bits}, 2, transposed={turned})"
    )


def _copy(
    printer: FilePrinter, stream: Stream, loop: TileLoop, number: str, rounds: str
) -> None:
    """Append the copy for one round, if there is that round."""
    load = stream.load
    layout = printer.given.layouts[load.result]
    buffer = printer.graph.buffers[load.buffer]
    ahead = {loop.counter: symbol(number)}
    address = substitute(position(buffer, load.index), ahead)
    inside: dict[Expression | None, int] = {
        f: c for f, c in terms(address).items() if f and leaves("digit", f)
    }
    scalar = {f: c for f, c in terms(address).items() if f not in inside}
    stem = printer.fresh("c")
    _coordinates(printer, stem, layout, load.result.shape)

    def leaf(node: Expression) -> str:
        return f"{stem}{node.data}" if node.op == "digit" else str(node.data)

    def wide(node: Expression) -> str:
        return f"{node.data}.to(gl.int64)"

    offsets = Scalars(f"{stem}o", leaf)
    offset = offsets.text(from_terms(inside))
    base = Scalars(f"{stem}b", wide)
    start = base.text(from_terms(scalar))
    printer.add(*offsets.lines, *base.lines)
    access = access_of(printer.graph, load)
    vector = 1 << len(access.vector(layout))
    widths = [vector if at == access.axis else 1 for at in range(2)]
    bytes_ = [w * bits(load.result.dtype) // 8 if w > 1 else 1 for w in widths]
    printer.add(
        f"{stem}p = ({load.buffer} + {start}) + ({offset} + {stem}zero)",
        f"{stem}p = gl.max_contiguous(gl.multiple_of({stem}p, {bytes_}), {widths})",
        f"{stem}m = {stem}zero + {number} < {rounds}",
    )
    if load.condition is not None:
        masks = Scalars(f"{stem}q", leaf)
        text = masks.text(substitute(load.condition, ahead))
        printer.add(*masks.lines, f"{stem}m = {stem}m & {text}")
    printer.add(
        f"{stem}m = gl.max_constancy({stem}m, {widths})",
        f"start_copy({stream.name}.index({number} % {printer.stages}), {stem}p, "
        f"mask={stem}m)",
    )


def _coordinates(
    printer: FilePrinter, stem: str, layout: LinearLayout, shape: Sequence[int]
) -> None:
    name = f"{stem}layout"
    printer.add(f"{name}: gl.constexpr = {gluon_layout(layout)}")
    for axis in range(2):
        printer.add(
            f"{stem}d{axis} = gl.expand_dims(gl.arange(0, {shape[axis]}, "
            f"gl.SliceLayout({1 - axis}, {name})), {1 - axis})"
        )
    printer.add(f"{stem}zero = {stem}d0 * 0 + {stem}d1 * 0")
