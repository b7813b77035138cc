"""Alignment hints: ``tl.multiple_of``, ``tl.max_contiguous``, ``tl.max_constancy``.

The compiler believes them. Along a dim, the elements fall into groups of the hinted
size: in a contiguous group each is one more than the one before, in a constant group
all are equal, and ``multiple_of`` is about the first of each contiguous group.

Source: Triton's AxisInfo analysis.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from verify.mlir import Dense, Operation
from verify.symbolic.terms import (
    INT,
    POINTER,
    ZERO,
    Term,
    add,
    constant,
    div,
    equal,
    mod,
    mul,
)

from .tensor import Tensor, lanes_of

if TYPE_CHECKING:
    from .machine import Machine

HINTS = ("tt.divisibility", "tt.contiguity", "tt.constancy")


def sizes_of(value: Any, rank: int) -> tuple[int, ...]:
    """Return the hinted size of each dim.

    Example:
        >>> sizes_of(Dense(16), 2), sizes_of(Dense((1, 8)), 2)
        ((16, 16), (1, 8))
    """
    inner = value.value if isinstance(value, Dense) else value
    if isinstance(inner, int):
        return (inner,) * rank
    return tuple(int(size) for size in inner)


def note_hints(
    machine: "Machine", operation: Operation, results: Sequence[Any]
) -> None:
    """Note the hints on an operation's result as promises."""
    if not results or not isinstance(results[0], Tensor):
        return
    tensor = results[0]
    if tensor.sort not in (INT, POINTER):
        return
    rank = len(tensor.shape)
    lanes = lanes_of(tensor.shape)
    here = _integer(tensor.at(lanes))
    groups = [1] * rank
    for name in ("tt.contiguity", "tt.constancy"):
        if name not in operation.attributes:
            continue
        sizes = sizes_of(operation.attributes[name], rank)
        for dim, size in enumerate(sizes[:rank]):
            if size <= 1:
                continue
            if name == "tt.contiguity":
                groups[dim] = size
            within = mod(lanes[dim], constant(size))
            first = _integer(tensor.at(_first(lanes, dim, size)))
            wanted = add(first, within) if name == "tt.contiguity" else first
            text = f"groups of {size} along dim {dim} are " + (
                "contiguous" if name == "tt.contiguity" else "constant"
            )
            machine.claim("alignment", operation, equal(here, wanted), text)
    if "tt.divisibility" not in operation.attributes:
        return
    sizes = sizes_of(operation.attributes["tt.divisibility"], max(rank, 1))
    element_bytes = _bytes(tensor)
    for dim, size in enumerate(sizes[: max(rank, 1)]):
        place = _first(lanes, dim, groups[dim]) if rank else ()
        value = mul(_integer(tensor.at(place)), constant(element_bytes))
        holds = equal(mod(value, constant(size)), ZERO)
        machine.claim("alignment", operation, holds, f"a multiple of {size}")


def _first(lanes: tuple[Term, ...], dim: int, size: int) -> tuple[Term, ...]:
    start = mul(div(lanes[dim], constant(size)), constant(size))
    return (*lanes[:dim], start, *lanes[dim + 1 :])


def _bytes(tensor: Tensor) -> int:
    """Return the bytes that one step of the value stands for; of an integer 1."""
    from .arithmetic import bits_of
    from .machine import pointee_of

    if tensor.sort == INT:
        return 1
    return max(1, bits_of(pointee_of(tensor.element)) // 8)


def _integer(term: Term) -> Term:
    """Return an integer, or the offset of a pointer in its buffer."""
    if term.kind == "pointer":
        offset: Term = term.args[1]
        return offset
    if term.kind == "ite" and term.sort == POINTER:
        from verify.symbolic.terms import choose

        return choose(term.args[0], _integer(term.args[1]), _integer(term.args[2]))
    return term if term.sort == INT else ZERO
