"""Rows in registers and sums of columns over them: the gradients of normalisations.

A program takes the rows of a chunk, a few at a time. What runs along a row runs as in
any kernel that holds whole rows; a sum over rows adds up in registers, one accumulator
for each element of the tile, until the chunk is done.
"""

from collections.abc import Callable
from typing import Final

from compiler.errors import BuildError
from compiler.ir.index import constant_value
from compiler.ir.kernel import Kernel, Reduction, Store, folded_axes
from compiler.ir.node import Axis

from .emitter import Emitter
from .flat import expressions
from .reducing import check_stage, full, outer_dims, persistent
from .spelling import TYPES, atom
from .tile import Plan, TileAxis, bounded, flat_axis, power_above

WIDEST: Final = 8192
"""Longest row whose sums a program holds in registers [elements]."""

_TILE: Final = 2048
"""Elements of a tile of several rows."""

_LANE_ELEMENTS: Final = 8
"""Elements of a tile that a lane holds, about."""

_PIPELINED: Final = 4
"""Steps of a loop that loads the next rows while it reduces some."""


def plan_folded(kernel: Kernel, r: Axis) -> Plan:
    """Return the plan of a flat kernel with folded axes.

    Args:
        kernel: Over its outer axes and ``r``.
        r: The one inner axis.

    Raises:
        BuildError: its rows are too long, or of a length that only the run knows.
    """
    folds = folded_axes(kernel.outer, kernel.stages)
    length = constant_value(r.extent)
    if length is None or length > WIDEST:
        raise BuildError(
            f"{kernel.name} sums columns of rows of {r.extent} elements; registers "
            f"hold {WIDEST} at most",
            command="triton",
            output="refused",
        )
    rest = tuple(axis for axis in kernel.outer if axis not in folds)
    x, kernel = flat_axis("x", kernel, folds)
    block = power_above(length)
    rows = bounded(_TILE // block, 1, power_above(constant_value(x.extent) or 1))
    steps = (constant_value(x.extent) or 1) // rows
    across = TileAxis(x.digit, x.extent, rows)
    along = TileAxis(r.digit, r.extent, block)
    return Plan(
        kernel=kernel,
        tile=(across, along),
        programs=rest,
        reduced=along,
        persistent=True,
        num_warps=bounded(rows * block // (32 * _LANE_ELEMENTS), 1, 16),
        num_stages=2 if steps >= _PIPELINED else 1,
        folded=across,
    )


def print_folded(emitter: Emitter, store: Callable[[Emitter, Store], None]) -> None:
    """Print the loop over the rows of a chunk, and what is stored after it.

    Args:
        emitter: With a plan that has a folded axis.
        store: Prints a store.
    """
    stages = emitter.plan.kernel.stages
    sums: dict[int, str] = {}
    for number, stage in enumerate(stages):
        if isinstance(stage, Reduction) and stage.folded:
            check_stage(stage)
            sums[number] = _started(emitter, stage)
    for stage in stages:
        if isinstance(stage, Reduction) and not stage.folded:
            for result, dtype in zip(stage.results, stage.dtypes, strict=True):
                emitter.bind(result, dtype, "", outer_dims(emitter))
    emitter.hoist([part for s in stages if not _after(s) for part in expressions(s)])
    emitter.loop()
    for number, stage in enumerate(stages):
        if number in sums:
            assert isinstance(stage, Reduction)
            text = _inside(emitter, full(emitter, stage.values[0], None))
            emitter.line(f"{sums[number]} = {sums[number]} + {atom(text)}")
        elif isinstance(stage, Reduction):
            check_stage(stage)
            persistent(emitter, stage)
        elif isinstance(stage, Store) and not stage.folded:
            store(emitter, stage)
    emitter.close()
    for number, stage in enumerate(stages):
        if number in sums:
            assert isinstance(stage, Reduction)
            _finish(emitter, stage, sums[number])
        elif isinstance(stage, Store) and stage.folded:
            store(emitter, stage)


def _after(stage: object) -> bool:
    return isinstance(stage, Store) and stage.folded


def _started(emitter: Emitter, stage: Reduction) -> str:
    """Print an accumulator."""
    if stage.reducer != "sum" or stage.dtypes[0] != stage.values[0].dtype:
        raise BuildError(
            f"columns are summed in the type of their elements, not {stage.reducer}",
            command="triton",
            output="refused",
        )
    name = emitter.name("column_sums")
    kind = TYPES[stage.dtypes[0]]
    emitter.line(f"{name} = tl.full({emitter.shape()}, 0, {kind})")
    return name


def _inside(emitter: Emitter, text: str) -> str:
    """Return a value with 0 for rows behind the chunk's last."""
    rows = emitter.plan.folded
    assert rows is not None
    if rows.exact:
        return text
    return f"tl.where({rows.name}_inside, {text}, 0)"


def _finish(emitter: Emitter, stage: Reduction, lanes: str) -> None:
    """Print the sum over the rows of the tile."""
    columns = emitter.plan.tile[-1]
    name = emitter.name("column_sum")
    combine = emitter.function("add_combine")
    emitter.line(f"{name} = tl.reduce({lanes}, 0, {combine}, keep_dims=True)")
    emitter.bind(stage.results[0], stage.dtypes[0], name, frozenset((columns.name,)))
