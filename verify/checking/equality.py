"""The stores of a kernel against the elements that a PyTorch function gives.

A store's address is split into the coordinates of the output; at these coordinates the
function's element is a term, and so is the value that is stored. Both are brought into
the normal form of ``normal``.
"""

from collections.abc import Callable
from typing import Any

from verify.symbolic.polynomial import same as equal_extents
from verify.symbolic.terms import VALUE, Term, invert
from verify.ttir.program import LOAD
from verify.ttir.tensor import sort_of

from .aten import captured
from .normal import Normal
from .races import Place, places
from .radix import digits_of
from .setting import Memory, Setting
from .traced import NotTracedError, Stand, traced

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
        results, conditions = elements_of(setting, function)
    except NotTracedError as error:
        return f"{error} has no meaning here"
    outputs = [name for name, memory in setting.memories.items() if memory.writes]
    if len(outputs) != len(results):
        return f"{len(results)} results for {len(outputs)} buffers with writes=True"
    stores = [p for p in places(setting) if p.access.kind != LOAD]
    if any(p.buffer not in outputs for p in stores):
        return "a store to a buffer without writes=True"
    mine, theirs = Normal(setting.program.loops), Normal({})
    for place in stores:
        result = results[outputs.index(place.buffer)]
        memory = setting.memories[place.buffer]
        coordinates = coordinates_of(setting, place, memory)
        where = setting.program.source_of(place.access.operation)
        if coordinates is None or place.access.value is None:
            return f"an address without coordinates at {where}"
        if len(result.shape) != len(memory.shape) or any(
            not equal_extents(a, b)
            for a, b in zip(result.shape, memory.shape, strict=True)
        ):
            return f"a result of shape {list(result.shape)} for {place.buffer}"
        for condition in conditions:
            if setting.ask((place.reach, invert(condition))) is not False:
                return f"the function is understood where {condition} only"
        wanted = theirs.of(result.at(coordinates))
        value = mine.of(place.access.value.term())
        if not same(value, wanted, (place.reach,)):
            return f"another value at {where}"
    return None


def elements_of(
    setting: Setting, function: Callable[..., Any]
) -> tuple[list[Stand], list[Term]]:
    """Return what a function gives, and the conditions under which that is so.

    The function is called on stand-ins; where that fails, the operations that PyTorch
    runs are captured.

    Raises:
        NotTracedError: it does something without a meaning here.
    """
    scalars = float_parameters(setting)
    try:
        return traced(function, setting.memories, scalars), []
    except (NotTracedError, TypeError, AttributeError):
        return captured(function, setting.memories, scalars)


def float_parameters(setting: Setting) -> list[str]:
    """Return the names of a kernel's parameters that are floats."""
    function = setting.program.module.functions[setting.program.name]
    return [
        argument.name[1:]
        for argument in function.arguments
        if sort_of(argument.type) == VALUE
    ]


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
