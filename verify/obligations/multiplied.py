"""Calls of the library's product of matrices, as what they mean element by element.

Where scheduling does such a product itself, its kernel is compared with the sum that
the call stands for: float32 sums of products of half-precision numbers, to which the
third matrix of ``addmm`` is added, rounded once. In which order a sum is added is
nobody's promise.
"""

from collections.abc import Iterator

from compiler.ir.expression import make
from compiler.ir.index import constant_value, digit, index
from compiler.ir.kernel import Schedule
from compiler.ir.node import (
    Axis,
    Buffer,
    Extern,
    Map,
    Program,
    Reduce,
    Reference,
    written,
)
from compiler.ir.scalar import HALF_TYPES, apply, cast

_FACTORS = {"aten.mm.default": (0, 1), "aten.addmm.default": (1, 2)}


def replaced_calls(program: Program, schedule: Schedule) -> set[str]:
    """Return the results of products of the program for which no call is scheduled."""
    calls = [step for step in schedule.steps if isinstance(step, Extern)]
    made = {buffer.name for call in calls for buffer in written(call)}
    return {
        buffer.name
        for node in program.nodes
        if isinstance(node, Extern) and str(node.target) in _FACTORS
        for buffer in written(node)
        if buffer.name not in made
    }


def meaning(node: Extern, buffers: dict[str, Buffer]) -> Iterator[Reduce | Map]:
    """Yield the sum that a call stands for, then its result; nothing if it is another.

    Args:
        node: A call.
        buffers: All arrays by name.
    """
    numbers = _FACTORS.get(str(node.target))
    if numbers is None or node.kwargs or len(node.outputs) != 1:
        return
    result = node.outputs[0]
    names = [arg.name for arg in node.args if isinstance(arg, Reference)]
    if result is None or len(names) != len(node.args):
        return
    given = [buffers[name] for name in names]
    left, right = (given[number] for number in numbers)
    if any(array.dtype not in HALF_TYPES for array in (left, right, result)):
        return
    row, column, term = (digit(f"{result.name}.{name}") for name in "ijk")
    axes = Axis(row, result.shape[0]), Axis(column, result.shape[1])
    total = Buffer(f"{result.name}.sum", "float32", result.shape, result.device)
    one = make("load", (row, term), left.dtype, left.name)
    other = make("load", (term, column), right.dtype, right.name)
    each = apply("mul", cast(one, "float32"), cast(other, "float32"))
    yield Reduce((total,), axes, (Axis(term, left.shape[1]),), "sum", (each,))
    value = make("load", (row, column), "float32", total.name)
    if numbers[0]:
        added = given[0]
        place = (row, column)[2 - len(added.shape) :]
        args = tuple(
            index(0) if constant_value(extent) == 1 else at
            for extent, at in zip(added.shape, place, strict=True)
        )
        more = make("load", args, added.dtype, added.name)
        value = apply("add", value, cast(more, "float32"))
    yield Map(result, axes, cast(value, result.dtype))
