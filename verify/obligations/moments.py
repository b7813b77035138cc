"""Moments that were reduced in chunks, put together.

Chunks of equal size ``n``: the mean is the mean of the chunks' means, and the squares
add up to ``sum(m2 + n * (mean_c - mean)**2)`` (T. Chan, G. Golub, R. LeVeque 1979).
"""

from typing import TYPE_CHECKING

from compiler.ir.expression import Expression, make
from compiler.ir.index import constant_value, product
from compiler.ir.kernel import Reduction
from compiler.ir.node import Axis, Reduce

from .definitions import Definition
from .matching import Mismatch, Walk

if TYPE_CHECKING:
    from .prepared import Fold
    from .reads import Reads

MEAN, SQUARES, COUNT = range(3)


def moments(
    reads: "Reads",
    mine: Expression,
    load: Expression,
    definition: Definition,
    walk: Walk,
) -> Mismatch | None:
    """Compare what a kernel computes with a result of the reducer ``welford``.

    Args:
        reads: Knows what loads and locals stand for.
        mine: Of the kernel.
        load: An element of the result.
        definition: The reduction.
        walk: State of the comparison.
    """
    node = definition.node
    assert isinstance(node, Reduce)
    other = Mismatch(f"{load.data}: moments are put together in another way")
    size = constant_value(product(axis.extent for axis in node.reduced))
    if definition.result == COUNT:
        return None if size is not None and _number(mine) == size else other
    if definition.result == MEAN:
        if mine.op != "truediv" or mine.args[0].op != "local":
            return other
        total = _sum(reads, mine.args[0])
        if total is None:
            return other
        body, chunks = reads.body(total, walk)
        if _number(mine.args[1]) != _count(chunks):
            return Mismatch(f"{load.data}: a mean of another number of chunks")
        inner = _chunk(reads, body, MEAN, walk)
        if inner is None:
            return other
        return reads.bodies(inner[0], chunks + inner[1], definition, load, walk)
    total = _sum(reads, mine) if mine.op == "local" else None
    if total is None:
        return other
    body, chunks = reads.body(total, walk)
    parts = _parts(body)
    if parts is None:
        return other
    squares, means, mean, count = parts
    mean_load = make("load", load.args, mean.dtype, node.buffers[MEAN].name)
    found = walk.same(mean, mean_load)
    if found is not None:
        return found
    first = _chunk(reads, squares, SQUARES, walk)
    second = _chunk(reads, means, MEAN, walk)
    if first is None or second is None or _number(count) != _count(first[1]):
        return other
    for one in (first, second):
        found = reads.bodies(one[0], chunks + one[1], definition, load, walk)
        if found is not None:
            return found
    return None


def _parts(
    body: Expression,
) -> tuple[Expression, Expression, Expression, Expression] | None:
    """Return m2, mean_c, mean, n of ``m2 + (mean_c - mean)**2 * n``."""
    if body.op != "add" or body.args[1].op != "mul":
        return None
    squares, spread = body.args
    square, count = spread.args
    if square.op != "mul" or square.args[0] is not square.args[1]:
        return None
    away = square.args[0]
    if away.op != "sub":
        return None
    return squares, away.args[0], away.args[1], count


def _sum(reads: "Reads", local: Expression) -> "Fold | None":
    fold = reads.folds.get(str(local.data))
    if fold is None or not isinstance(fold.stage, Reduction):
        return None
    return fold if fold.stage.reducer == "sum" else None


def _chunk(
    reads: "Reads", load: Expression, result: int, walk: Walk
) -> tuple[Expression, list[Axis]] | None:
    """Return what a chunk's result is about, and the axes inside the chunk."""
    value = load
    if load.op == "load":
        if str(load.data) in reads.definitions.of:
            return None
        stored = reads.kernel_value(load, walk)
        if stored is None:
            return None
        value = stored
    fold = reads.folds.get(str(value.data)) if value.op == "local" else None
    if fold is None or fold.result != result:
        return None
    if not isinstance(fold.stage, Reduction) or fold.stage.reducer != "welford":
        return None
    return reads.body(fold, walk)


def _count(axes: list[Axis]) -> int | None:
    return constant_value(product(axis.extent for axis in axes))


def _number(value: Expression) -> int | None:
    if value.op != "constant":
        return None
    number = float(str(value.data))
    return int(number) if number.is_integer() else None
