"""Emitted Triton texts, proved without looking at what they were printed from.

Of the kernel only its launch is used: types, shapes and strides of its arrays, its
sizes, its number of programs. All else is read from the TTIR.
"""

import time
from collections.abc import Iterator, Mapping

from algebra.verdict import Proved, Refuted, Unknown, Verdict
from compiler.frontend.validator import Certificate, Emitted
from compiler.ir.expression import Expression, leaves
from compiler.ir.index import constant_value, index, mul, sub
from compiler.ir.kernel import Allocate, Kernel, Schedule, Step, Store
from compiler.ir.node import Alias, Buffer, Extern
from compiler.ir.ranges import Ranges
from verify.checking.arguments import Argument, Scalar
from verify.checking.arguments import Buffer as Array
from verify.checking.check import check

from .places import UnplacedError, radix
from .points import fresh_arrays

BUDGET = 6.0
"""Limit of one text [seconds]."""

ELEMENTS = 1 << 47
"""More elements than an array can have: no address has more bits [elements]."""

_SIGNS = {"add": "+", "mul": "*", "floordiv": "//", "mod": "%"}


def spelled(value: Expression, names: Mapping[Expression, str]) -> str:
    """Return an index over sizes as ``verify.check`` reads it.

    Example:
        >>> from compiler.ir.index import add, floordiv, symbol
        >>> spelled(floordiv(add(symbol("N"), 3), 4), {symbol("N"): "n"})
        '((n + 3) // 4)'
    """
    if value.op == "constant":
        return str(value.data)
    if value in names:
        return names[value]
    parts = [spelled(arg, names) for arg in value.args]
    if value.op in _SIGNS:
        return "(" + f" {_SIGNS[value.op]} ".join(parts) + ")"
    if value.op in ("minimum", "maximum"):
        return f"{value.op[:3]}({', '.join(parts)})"
    raise ValueError(f"{value} is no index over sizes")


def storages(schedule: Schedule) -> dict[str, tuple[str, bool]]:
    """Return array -> (array whose memory it is in, whether it starts where that does).

    Arrays that take over memory start at the same place; views may not.
    """
    found: dict[str, tuple[str, bool]] = {}
    for step in schedule.steps:
        for name, base, same in _shared(step):
            top, start = found.get(base, (base, True))
            found[name] = top, start and same
    return found


def _shared(step: Step) -> Iterator[tuple[str, str, bool]]:
    if isinstance(step, Allocate) and step.reuse is not None:
        yield step.buffer.name, step.reuse, True
    elif isinstance(step, Alias):
        yield step.buffer.name, step.base, False
    elif isinstance(step, Extern):
        for name, bases in step.aliases.items():
            for base in bases:
                yield name, base, False


def filled(schedule: Schedule) -> dict[str, frozenset[str]]:
    """Return kernel -> arrays whose whole content comes from it alone."""
    kernels = [step for step in schedule.steps if isinstance(step, Kernel)]
    return {
        kernel.name: frozenset(names)
        for kernel, names in zip(kernels, fresh_arrays(kernels), strict=True)
    }


def dense(buffer: Buffer) -> tuple[list[Expression], list[Expression]] | None:
    """Return shape and strides with the dims in memory's order; None: there are gaps.

    Dims of extent 1 are left out.
    """
    if buffer.strides is None:
        return None
    pairs = [
        (extent, stride)
        for extent, stride in zip(buffer.shape, buffer.strides, strict=True)
        if constant_value(extent) != 1
    ]
    shape: list[Expression] = []
    strides: list[Expression] = []
    step = index(1)
    while pairs:
        fit = [pair for pair in pairs if sub(pair[1], step) is index(0)]
        if not fit:
            return None
        shape.insert(0, fit[0][0])
        strides.insert(0, fit[0][1])
        step = mul(step, fit[0][0])
        pairs.remove(fit[0])
    return shape, strides


def certify_emitted(
    emitted: Emitted,
    least: Mapping[Expression, int] | None = None,
    writes: frozenset[str] = frozenset(),
    shared: Mapping[str, tuple[str, bool]] | None = None,
    budget: float = BUDGET,
) -> Certificate:
    """Prove a text for all programs, lanes and sizes that a launch may have.

    Args:
        emitted: The text and its launch.
        least: Symbol -> the least that it can be.
        writes: Arrays of which it has to write each element.
        shared: As :func:`storages` gives it.
        budget: Limit [seconds].

    Returns:
        Verdicts by ``"ttir_"`` and the name of the obligation.
    """
    start = time.process_time()
    least = least or {}
    if constant_value(emitted.grid) == 0 and all(
        _is_empty(emitted.kernel.buffers[name]) for name in writes
    ):
        nothing: dict[str, Verdict] = {"ttir": Proved("no program runs")}
        return Certificate(emitted.kernel.name, nothing, time.process_time() - start)
    count = len(emitted.parameters)
    names = dict(zip(emitted.symbols, emitted.arguments[count:], strict=True))
    arrays = [emitted.kernel.buffers[name] for name in emitted.parameters]
    parts = [p for b in arrays for p in (*b.shape, *(b.strides or ()))]
    for symbol in leaves("symbol", *parts, emitted.grid):
        names.setdefault(symbol, f"size_{symbol.data}")
    args: dict[str, Argument] = {
        name: Scalar("i64", max(0, least.get(symbol, 0)), (1 << 63) - 1)
        for symbol, name in names.items()
    }
    assume: list[str] = []
    first: dict[str, str] = {}
    for name, argument, kind, buffer in zip(
        emitted.parameters,
        emitted.arguments[:count],
        emitted.types,
        arrays,
        strict=True,
    ):
        top, starts = (shared or {}).get(name, (name, True))
        known = first.setdefault(top, argument)
        packed = dense(buffer)
        if packed is None and buffer.strides is None:
            packed = list(buffer.shape), []
        shape, strides = packed or (list(buffer.shape), list(buffer.strides or ()))
        args[argument] = Array(
            kind,
            [spelled(extent, names) for extent in shape] or 1,
            writes=name in writes,
            strides=None if packed else [spelled(step, names) for step in strides],
            same_as=known if known != argument and starts else None,
        )
        if any(constant_value(extent) is None for extent in shape):
            total = " * ".join(spelled(extent, names) for extent in shape)
            assume.append(f"{total} < {ELEMENTS}")
        if packed is None:
            assume.extend(_within_memory(buffer, names))
    report = check(
        emitted.text,
        args,
        grid=(spelled(emitted.grid, names),),
        assume=tuple(dict.fromkeys(assume)),
        budget=budget,
        preconditions=False,
    )
    verdicts: dict[str, Verdict] = {
        f"ttir_{name}": _plain(verdict) for name, verdict in report.verdicts.items()
    }
    refuted = [
        name
        for name in ("ttir_write_once", "ttir_no_race")
        if isinstance(verdicts.get(name), Refuted)
    ]
    if "ttir_write_once" in refuted and may_meet(emitted.kernel):
        verdicts["ttir_write_once"] = Unknown(
            "places that are read may be equal; which value stays is not defined"
        )
    elif refuted and (repeated := may_overlap(emitted.kernel, least)):
        laid_out = Unknown(
            f"elements of {repeated} may lie at one place, as it was laid out"
        )
        verdicts.update(dict.fromkeys(refuted, laid_out))
    return Certificate(emitted.kernel.name, verdicts, time.process_time() - start)


def may_meet(kernel: Kernel) -> bool:
    """Return whether a kernel stores where it is told: ``index_put`` does.

    Of equal indices any may win, in eager mode too.
    """
    stores = [stage for stage in kernel.stages if isinstance(stage, Store)]
    return any(s.mode == "set" and not s.injective for s in stores)


def may_overlap(kernel: Kernel, least: Mapping[Expression, int]) -> str | None:
    """Return an array that a kernel writes whose own strides may repeat a place.

    Windows over a tensor have such strides, and eager mode's result has them too. Its
    coordinates are told apart by the kernel's own obligation.
    """
    ranges = Ranges({}, least)
    for stage in kernel.stages:
        if not isinstance(stage, Store):
            continue
        buffer = kernel.buffers[stage.buffer]
        pairs = zip(buffer.strides or (), buffer.shape, strict=False)
        parts = [(number, step, extent) for number, (step, extent) in enumerate(pairs)]
        try:
            radix(parts, ranges, buffer.name)
        except UnplacedError:
            return buffer.name
    return None


def _is_empty(buffer: Buffer) -> bool:
    return any(constant_value(extent) == 0 for extent in buffer.shape)


def _within_memory(buffer: Buffer, names: Mapping[Expression, str]) -> Iterator[str]:
    """Yield that no dim of an array reaches further than memory does."""
    for extent, step in zip(buffer.shape, buffer.strides or (), strict=True):
        if constant_value(mul(extent, step)) is None:
            length, width = spelled(extent, names), spelled(step, names)
            yield f"({length} - 1) * {width} < {ELEMENTS}"


def _plain(verdict: Verdict) -> Verdict:
    """Return a verdict whose counterexample is text."""
    if isinstance(verdict, Refuted):
        return Refuted({"launch": str(verdict.counterexample)})
    return verdict


def failed(name: str, error: Exception) -> Certificate:
    """Return the certificate of a check that broke."""
    reason = Unknown(f"the check failed: {type(error).__name__}: {error}")
    return Certificate(name, {"ttir": reason})
