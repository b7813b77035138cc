"""The stores of a kernel against the elements that a PyTorch function gives.

A store's address is split into the coordinates of the output; at these coordinates the
function's element is a term, and so is the value that is stored. A reduction of lanes
of which some are masked with the neutral element is the fold over the others. A masked
lane stays neutral through ``x - y`` and ``exp``: minus infinity less a number is minus
infinity, whose exponential is zero. So numbers are taken as finite.
"""

from collections.abc import Callable
from typing import Any

from verify.symbolic.terms import (
    VALUE,
    Term,
    at_most,
    choose,
    conjoin,
    constant,
    opaque,
    rebuilt,
    symbol,
)
from verify.symbolic.walk import substitute
from verify.ttir.program import LOAD

from .races import Place, places
from .radix import digits_of
from .setting import Memory, Setting
from .traced import NotTracedError, folded, traced

NEUTRAL = {
    "addf": ("0.0", "-0.0"),
    "maxnumf": ("0xff800000", "-inf"),
    "minnumf": ("0x7f800000", "inf"),
}
"""Combiner -> spellings of its neutral element."""

RENAMED = {"maximumf": "maxnumf", "minimumf": "minnumf"}
"""What differs in NaN only, which is not compared."""


def normal(term: Term, memo: dict[Term, Term]) -> Term:
    """Return a kernel's value with reductions as folds."""
    found = memo.get(term)
    if found is not None:
        return found
    args = tuple(normal(a, memo) if isinstance(a, Term) else a for a in term.args)
    if term.kind == "opaque" and term.args[0] == "reduce" and term.sort == VALUE:
        found = _fold(term, args)
    elif term.kind == "opaque" and term.args[0] == "negf":
        zero = opaque(VALUE, "constant", ("0.0", args[2]))
        found = opaque(VALUE, "subf", (args[1], args[2], zero, args[3]))
    elif term.kind == "opaque" and term.args[0] in RENAMED:
        found = opaque(term.sort, RENAMED[term.args[0]], args[1:])
    elif any(a is not b for a, b in zip(args, term.args, strict=True)):
        found = rebuilt(term, args)
    else:
        found = term
    found = _hoisted(found)
    memo[term] = found
    return found


def _hoisted(term: Term) -> Term:
    """Return ``f(a if c else neutral)`` as ``f(a) if c else f(neutral)``."""
    if term.kind != "opaque" or term.args[0] not in ("subf", "exp", "exp2"):
        return term
    name, *plain = (a for a in term.args if not isinstance(a, Term))
    parts = [a for a in term.args if isinstance(a, Term)]
    first = parts[0]
    if first.kind != "ite" or not _is_neutral("maxnumf", first.args[2]):
        return term
    test, then, other = first.args
    inner = opaque(VALUE, name, (*plain, then, *parts[1:]))
    if name == "subf":
        return choose(test, inner, other)
    return choose(test, inner, opaque(VALUE, "constant", ("0.0", plain[-1])))


def _fold(term: Term, args: tuple[Any, ...]) -> Term:
    results, which, size, bound = term.args[1:5]
    elements = args[5:]
    combiner = results[0]
    if which or len(elements) != 1 or combiner.kind != "opaque":
        return rebuilt(term, args)
    name = RENAMED.get(combiner.args[0], combiner.args[0])
    if name not in NEUTRAL or {a for a in combiner.args if isinstance(a, Term)} != {
        opaque(VALUE, "argument", (side, str(combiner.args[2])))
        for side in ("a0", "b0")
    }:
        return rebuilt(term, args)
    # the lane's range becomes a condition: the other side has another range
    lane = symbol(f"{bound.args[0]}'", 0, None)
    element = substitute(elements[0], {bound: lane})
    condition = at_most(lane, constant(size - 1))
    if element.kind == "ite" and _is_neutral(name, element.args[2]):
        return folded(name, lane, conjoin(condition, element.args[0]), element.args[1])
    return folded(name, lane, condition, element)


def _is_neutral(name: str, term: Term) -> bool:
    return (
        term.kind == "opaque"
        and term.args[0] == "constant"
        and str(term.args[1]).lower() in NEUTRAL[name]
    )


Compare = Callable[[Term, Term, tuple[Term, ...]], bool]


def not_equal(
    setting: Setting, function: Callable[..., Any], same: Compare
) -> str | None:
    """Return why a kernel is not shown to equal a function; ``None`` where it is.

    Args:
        setting: The kernel's.
        function: Takes buffers by the names of the kernel's parameters.
        same: Whether two values are equal where conditions hold.
    """
    try:
        results = traced(function, setting.memories, list(setting.program.scalars))
    except NotTracedError as error:
        return f"{error} has no meaning here"
    except (TypeError, AttributeError) as error:
        return f"the function cannot be traced: {error}"
    outputs = [name for name, memory in setting.memories.items() if memory.writes]
    if len(outputs) != len(results):
        return f"{len(results)} results for {len(outputs)} buffers with writes=True"
    stores = [p for p in places(setting) if p.access.kind != LOAD]
    if any(p.buffer not in outputs for p in stores):
        return "a store to a buffer without writes=True"
    memo: dict[Term, Term] = {}
    for place in stores:
        result = results[outputs.index(place.buffer)]
        memory = setting.memories[place.buffer]
        coordinates = coordinates_of(setting, place, memory)
        where = setting.program.source_of(place.access.operation)
        if coordinates is None or place.access.value is None:
            return f"an address without coordinates at {where}"
        if len(result.shape) != len(memory.shape) or any(
            a is not b for a, b in zip(result.shape, memory.shape, strict=True)
        ):
            return f"a result of shape {list(result.shape)} for {place.buffer}"
        wanted = result.at(coordinates)
        value = normal(place.access.value.term(), memo)
        if not same(value, wanted, (place.reach,)):
            return f"another value at {where}"
    return None


def coordinates_of(
    setting: Setting, place: Place, memory: Memory
) -> tuple[Term, ...] | None:
    """Return the coordinates of an address; ``None`` where no split is proved."""
    if len(memory.shape) == 1 and memory.dense:
        return (place.offset,)
    digits = digits_of(setting, place.offset, (place.reach,), setting.shared)
    if digits is None or not memory.dense or digits.strides != memory.shape[1:]:
        return None
    return digits.digits
