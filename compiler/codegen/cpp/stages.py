"""Stages made plainer before they are printed, and what is worth keeping of a row."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from compiler.ir.expression import Expression, make, nodes
from compiler.ir.index import constant_value, maximum, product
from compiler.ir.kernel import Prefix, Reduction
from compiler.ir.node import Axis
from compiler.ir.operations import OPERATIONS
from compiler.ir.scalar import bits, from_index, local

from .nest import FlatStore, Let, Nest, PlainStage, coefficient, stage_roots

_LONGEST: Final = 1 << 16
"""Elements up to which a row stays in the cache, so that two passes cost little."""

_KEPT_BYTES: Final = 1 << 18
"""Bytes of a row's intermediate values that a thread keeps at most."""

_WORTH: Final = 8
"""Cost of a value [instructions] from which it is kept, not computed again."""


def expanded(nest: Nest) -> Nest:
    """Return a nest whose short Welford and softmax reductions are plain passes.

    The mean comes first and then the squares of what is left, as the definition says;
    so does the sum of exponentials after the maximum. Longer rows are not read twice.
    """
    total = constant_value(product(axis.extent for axis in nest.inner))
    if total is not None and total > _LONGEST:
        return nest
    stages: list[PlainStage] = []
    for stage in nest.stages:
        if isinstance(stage, Reduction) and stage.reducer == "welford":
            stages += _welford(stage, nest.inner)
        elif isinstance(stage, Reduction) and stage.reducer == "online_softmax":
            stages += _online_softmax(stage)
        else:
            stages.append(stage)
    return replace(nest, stages=tuple(stages))


def _welford(stage: Reduction, inner: Sequence[Axis]) -> list[PlainStage]:
    (value,), (mean, squares, count) = stage.values, stage.results
    dtype = value.dtype
    total = f"{mean}_total"
    number = from_index(maximum(product(a.extent for a in inner), 1), dtype)
    average = make("truediv", (local(total, dtype), number), dtype)
    apart = make("sub", (value, local(mean, dtype)), dtype)
    square = make("mul", (apart, apart), dtype)
    many = from_index(product(a.extent for a in inner), dtype)
    return [
        Reduction((total,), "sum", (value,), (dtype,)),
        Let(mean, average),
        Reduction((squares,), "sum", (square,), (dtype,)),
        Let(count, many),
    ]


def _online_softmax(stage: Reduction) -> list[PlainStage]:
    (value,), (most, total) = stage.values, stage.results
    dtype = value.dtype
    apart = make("sub", (value, local(most, dtype)), dtype)
    power = make("exp", (apart,), dtype)
    return [
        Reduction((most,), "maximum", (value,), (dtype,)),
        Reduction((total,), "sum", (power,), (dtype,)),
    ]


def is_inner(stage: PlainStage) -> bool:
    """Return whether a stage runs over the inner axes."""
    if isinstance(stage, FlatStore):
        return stage.inner
    return isinstance(stage, (Reduction, Prefix))


def kept_values(nest: Nest) -> list[Expression]:
    """Return the values of inner points that are worth keeping from stage to stage.

    They are used by two stages or more, scans apart, cost something to compute, and
    fit; buffers that they load are not stored to by the kernel.
    """
    total = constant_value(product(axis.extent for axis in nest.inner))
    if total is None or total == 0:
        return []
    digits = {id(axis.digit) for axis in nest.inner}
    changed = {s.buffer for s in nest.stages if isinstance(s, FlatStore)}
    everywhere = [
        {id(n): n for n in nodes(*stage_roots(s))}
        for s in nest.stages
        if is_inner(s) and not isinstance(s, Prefix)
    ]
    order = list(nodes(*(r for s in nest.stages for r in stage_roots(s))))
    moving: dict[int, bool] = {}
    cost: dict[int, int] = {}
    steady: dict[int, bool] = {}
    for node in order:
        moving[id(node)] = id(node) in digits or any(moving[id(a)] for a in node.args)
        steady[id(node)] = (node.op != "load" or str(node.data) not in changed) and all(
            steady[id(arg)] for arg in node.args
        )
    guarded = {
        id(below)
        for node in order
        if node.op == "guard"
        for below in nodes(node.args[1])
    }
    last = nest.inner[-1].digit

    def price(root: Expression) -> int:
        if id(root) not in cost:
            total = 0
            for node in nodes(root):
                if moving[id(node)]:
                    total += _price(node, last)
            cost[id(root)] = total
        return cost[id(root)]

    found: list[Expression] = []
    room = _KEPT_BYTES
    for number, earlier in enumerate(everywhere):
        for later in everywhere[number + 1 :]:
            shared = [n for key, n in earlier.items() if key in later]
            inside = {id(a) for n in shared for a in n.args if n.op != "load"}
            tops = [
                n
                for n in shared
                if id(n) not in inside or _has_other_user(n, later, shared)
            ]
            for node in tops:
                size = (
                    total * max(bits(node.dtype) // 8, 1)
                    if node.dtype != "index"
                    else 0
                )
                good = (
                    size
                    and size <= room
                    and node not in found
                    and moving[id(node)]
                    and steady[id(node)]
                    and id(node) not in guarded
                    and price(node) >= _WORTH
                )
                if good:
                    found.append(node)
                    room -= size
    return found


def _has_other_user(
    node: Expression, later: dict[int, Expression], shared: list[Expression]
) -> bool:
    same = {id(n) for n in shared}
    return any(node in user.args for key, user in later.items() if key not in same)


def _price(node: Expression, last: Expression) -> int:
    if node.op == "load":
        return 1 if coefficient(node.args[0], last) in (0, 1) else _WORTH
    if node.dtype == "index" or node.op not in OPERATIONS:
        return 0
    return OPERATIONS[node.op].cost
