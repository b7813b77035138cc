"""Run a candidate before it is believed: a refutation is a launch that did break.

The solver's values give arguments, grid, programs and what integer buffers hold. The
programs are run on numbers (``verify.ttir.run``), without the symbolic semantics: loops
run, integers wrap, memory is guarded.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from algebra.verdict import Refuted, Unknown, Verdict
from verify.symbolic.terms import INT, Term, at_most, constant, equal, invert
from verify.symbolic.walk import nodes_of, symbols_of, value_at
from verify.ttir.machine import function_of
from verify.ttir.run import GuardedMemory, Launch, RunError, run_program

from .finding import Counterexample, Finding
from .setting import AXES, Setting

HELD = -1
CAPS: tuple[int | None, ...] = (8, 64, 512, 8192, 2**20, HELD, None)
"""Largest sizes that are tried, smallest first: a small launch is easier to read.
``HELD``: any sizes whose buffers fit a GPU's memory; last, any at all."""

LARGEST = 1 << 31
"""Largest integer that a buffer holds, where that is enough."""

MOST_HELD = 1 << 37
"""Elements of one byte in the memory of an H200."""

MOST_LAUNCHED = 65535
"""Most programs along y and z that CUDA launches (programming guide, technical
specifications); a launch of more fails, so no program of it runs."""

UNLAUNCHED = (
    f"it takes a divisor that is zero, or over {MOST_LAUNCHED} programs along y or z"
)

MOST_LAUNCHES = 10
MOST_PROGRAMS = 64
FEW = 6
MOST_ELEMENTS = 1 << 14


@dataclass(slots=True)
class Candidate:
    """A launch in numbers.

    Attributes:
        values: Symbol -> value, as the solver gave them.
        scalars: Parameter -> value.
        grid: Axis -> number of programs.
        sizes: Buffer -> number of elements.
        contents: Buffer -> offset -> integer.
        markers: Integers that buffers hold here and there.
    """

    values: dict[Term, Any]
    scalars: dict[str, Any]
    grid: dict[str, int]
    sizes: dict[str, int]
    contents: dict[str, dict[int, int]] = field(default_factory=dict)
    markers: tuple[int, ...] = ()

    def program(self, setting: Setting, mark: str = "") -> dict[str, int]:
        """Return the program ids; of the second copy with ``mark``."""
        found = {}
        for axis, pid in setting.program.pids.items():
            known = {str(t.args[0]): v for t, v in self.values.items() if t.args}
            here = {
                node: int(known.get(f"{node.args[0]}{mark}", 0))
                for node in symbols_of(pid)
            }
            found[axis] = int(value_at(pid, here))
        return found


def smallest(
    setting: Setting, formulas: Sequence[Term]
) -> dict[Term, int | bool] | bool | None:
    """Return values that satisfy formulas, with sizes as small as is found quickly.

    ``False`` where no launch that CUDA accepts does.
    """
    symbols = sizes_of(setting)
    launched = [
        at_most(setting.grid[axis], constant(MOST_LAUNCHED))
        for axis in AXES[1:]
        if setting.grid[axis].kind != "const"
    ]
    held = [
        at_most(memory.size, constant(MOST_HELD))
        for memory in setting.memories.values()
        if memory.size.kind != "const"
    ]
    # an index that is out of any reach wraps with its address: it breaks nothing
    held += [
        bound
        for node in dict.fromkeys(n for f in formulas for n in nodes_of(f))
        if node.kind == "read" and node.sort == INT
        for bound in (
            at_most(constant(-LARGEST), node),
            at_most(node, constant(LARGEST)),
        )
    ]
    answer: dict[Term, int | bool] | bool | None = None
    for cap in CAPS:
        limits = [] if cap is None else held
        if cap not in (None, HELD):
            limits = held + [
                at_most(s, constant(cap))
                for s in symbols
                if s.low is None or s.low < cap
            ]
        asked = (*formulas, *launched, *limits)
        answer = setting.ask(asked, min(setting.limit, 1.0))
        if isinstance(answer, dict):
            return answer
    return answer


def nonzero(formulas: Sequence[Term]) -> list[Term]:
    """Return that no divisor is zero: what comes out then is no machine's."""
    found = dict.fromkeys(
        node.args[1]
        for formula in formulas
        for node in nodes_of(formula)
        if node.kind in ("div", "mod")
    )
    return [invert(equal(divisor, constant(0))) for divisor in found]


def sizes_of(setting: Setting) -> list[Term]:
    """Return the free sizes, each once."""
    found = {node: None for term in setting.names.values() for node in symbols_of(term)}
    return [node for node in found if node.sort == INT]


def candidate_of(setting: Setting, values: Mapping[Term, Any]) -> Candidate:
    """Return the launch that the solver's values describe."""
    known = dict(values)
    scalars: dict[str, Any] = {}
    for name, term in setting.names.items():
        for node in symbols_of(term):
            known.setdefault(node, _default(node))
        scalars[name] = value_at(term, known)
    for name, term in setting.program.scalars.items():
        for node in symbols_of(term):
            known.setdefault(node, _default(node))
        scalars[name] = value_at(term, known)
    grid = {axis: int(value_at(setting.grid[axis], known)) for axis in AXES}
    sizes = {
        name: int(value_at(memory.size, known))
        for name, memory in setting.memories.items()
    }
    found = Candidate(known, scalars, grid, sizes)
    for node, value in values.items():
        if node.kind == "read" and node.args[1] == 0 and node.sort == INT:
            try:
                offset = value_at(node.args[2], known, lambda n, visit: known[n])
            except (KeyError, ZeroDivisionError):
                continue
            found.contents.setdefault(node.args[0], {})[int(offset)] = int(value)
    return found


def _default(term: Term) -> int:
    low = 0 if term.low is None else term.low
    high = low if term.high is None else term.high
    return min(max(1, low), max(high, low))


def memory_for(setting: Setting, candidate: Candidate) -> GuardedMemory:
    """Return memory that holds what the candidate says, and plain numbers elsewhere."""
    lows = {}
    for name, memory in setting.memories.items():
        if memory.low is not None:
            lows[name] = int(value_at(memory.low, candidate.values))

    def initial(buffer: str, offsets: Any) -> Any:
        cells = candidate.contents.get(buffer, {})

        def plain(offset: int) -> int:
            if candidate.markers and offset % 2 == 0:
                return candidate.markers[offset // 2 % len(candidate.markers)]
            return lows.get(buffer, offset * 7919 % 5)

        base = np.asarray(
            [
                cells[int(o)] if int(o) in cells else plain(int(o))
                for o in np.asarray(offsets).flat
            ],
            dtype=object,
        )
        return base.reshape(np.shape(offsets))

    return GuardedMemory(candidate.sizes, initial)


def run(
    setting: Setting,
    candidate: Candidate,
    program: Mapping[str, int],
    memory: GuardedMemory,
    exact: bool = False,
) -> None:
    """Run one program of a candidate."""
    module = setting.program.module
    function = function_of(module, setting.program.name)
    launch = Launch(candidate.scalars, setting.buffers, candidate.grid, program, exact)
    memory.next_program()
    run_program(module, function, launch, memory)


def confirmed(setting: Setting, finding: Finding) -> Finding:
    """Return a finding with its candidate run: ``Refuted``, or ``Unknown`` still."""
    divisors = [] if finding.obligation == "no_wrap" else nonzero(finding.formulas)
    values = smallest(setting, (*finding.formulas, *divisors))
    if values is False:
        return replace(finding, verdict=Unknown(UNLAUNCHED))
    if not isinstance(values, dict):
        return replace(finding, verdict=Unknown(f"time-out after {setting.limit:g} s"))
    try:
        candidate = candidate_of(setting, values)
        verdict = _tried(setting, finding, candidate)
    except RunError as error:
        verdict = Unknown(f"a candidate that cannot be run: {error}")
    except (KeyError, ZeroDivisionError) as error:
        verdict = Unknown(f"a candidate without a launch: {error}")
    return replace(finding, verdict=verdict)


def _tried(setting: Setting, finding: Finding, candidate: Candidate) -> Verdict:
    how = _HOW[finding.obligation](setting, finding, candidate)
    if how is None:
        causes = causes_of(finding.formulas)
        reason = f"it depends on {causes}" if causes else "the run did not break it"
        return Unknown(reason)
    text, detail, programs = how
    used = {
        str(t.args[0]).partition(":")[0]: v
        for t, v in candidate.values.items()
        if t.kind == "symbol" and t.sort == INT and _is_place(str(t.args[0]))
    }
    return Refuted(
        Counterexample(
            statement=finding.text,
            source=finding.source,
            arguments={
                k: v for k, v in candidate.scalars.items() if k in setting.names
            },
            grid=tuple(candidate.grid[axis] for axis in AXES),
            programs=programs,
            places=used,
            contents=candidate.contents,
            detail=detail,
            confirmed=text,
        )
    )


def _is_place(name: str) -> bool:
    return name.startswith(("lane", "iteration"))


def causes_of(formulas: Sequence[Term]) -> str:
    """Return the constructs without a meaning that a question depends on."""
    found: dict[str, None] = {}
    for formula in formulas:
        for node in nodes_of(formula):
            if node.kind == "opaque" and node.args[0] == "unsupported":
                found[f"{node.args[1]} ({node.args[2]})"] = None
            elif node.kind == "opaque":
                found[f"the value of {node.args[0]}"] = None
            elif node.kind == "read":
                found[f"the contents of {node.args[0]}"] = None
    return ", ".join(list(found)[:3])


Found = tuple[str, dict[str, Any], list[dict[str, int]]]


def _out_of_bounds(
    setting: Setting, finding: Finding, candidate: Candidate
) -> Found | None:
    memory = memory_for(setting, candidate)
    program = candidate.program(setting)
    run(setting, candidate, program, memory)
    for event in memory.events:
        if event.kind == "out_of_bounds":
            size = candidate.sizes.get(event.buffer, 0)
            detail = {
                "buffer": event.buffer,
                "offset": event.offset,
                "size": size,
                "lane": event.lane,
            }
            where = setting.line(event.line)
            text = (
                f"run: {event.access} of {event.buffer}[{event.offset}], which has "
                f"{size} elements ({where})"
            )
            return text, detail, [program]
    return None


def _wrapped(setting: Setting, finding: Finding, candidate: Candidate) -> Found | None:
    program = candidate.program(setting)
    traces = []
    for exact in (False, True):
        memory = memory_for(setting, candidate)
        run(setting, candidate, program, memory, exact)
        traces.append(memory.trace)
    for (line, machine), (_, exactly) in zip(*traces, strict=False):
        pairs = [p for p in zip(machine, exactly, strict=False) if _apart(*p)]
        if pairs or len(machine) != len(exactly):
            seen, wanted = pairs[0] if pairs else (len(machine), len(exactly))
            what = "offset" if pairs else "number of live lanes"
            text = (
                f"run: {what} {seen} where exact integers give {wanted} "
                f"({setting.line(line)})"
            )
            return text, {what: seen, "exact": wanted}, [program]
    if len(traces[0]) != len(traces[1]):
        text = f"run: {len(traces[0])} accesses, exact integers make {len(traces[1])}"
        return text, {}, [program]
    return None


def _apart(one: int, other: int) -> bool:
    """Whether two offsets are two addresses.

    Those that differ by a multiple of 2**61 are one, of elements of 8 bytes; of smaller
    ones, they are further apart than any memory.
    """
    return (one - other) % 2**61 != 0


def _met(setting: Setting, finding: Finding, candidate: Candidate) -> Found | None:
    memory = memory_for(setting, candidate)
    first = candidate.program(setting)
    run(setting, candidate, first, memory)
    if memory.repeated:
        buffer, offset, line = memory.repeated[0]
        text = f"run: two lanes store to {buffer}[{offset}] ({setting.line(line)})"
        return text, {"buffer": buffer, "offset": offset}, [first]
    touched = (memory.stores, memory.loads, memory.atomics)
    second = candidate.program(setting, "'")
    if first == second:
        second = _another(setting, candidate, first)
    run(setting, candidate, second, memory)
    stores, loads, atomics = touched
    pairs = [
        (stores, memory.stores, "both store to"),
        (stores, memory.loads, "one stores to, the other loads"),
        (loads, memory.stores, "one loads, the other stores to"),
        (stores, memory.atomics, "one stores to, the other changes"),
        (atomics, memory.stores, "one changes, the other stores to"),
        (loads, memory.atomics, "one loads, the other changes"),
        (atomics, memory.loads, "one changes, the other loads"),
    ]
    if finding.obligation == "write_once":
        pairs = pairs[:1]
    for mine, theirs, words in pairs:
        for buffer, offsets in mine.items():
            common = offsets & theirs.get(buffer, set())
            if common:
                offset = min(common)
                text = f"run: {words} {buffer}[{offset}]"
                detail = {"buffer": buffer, "offset": offset}
                return text, detail, [first, second]
    return None


def _another(
    setting: Setting, candidate: Candidate, first: Mapping[str, int]
) -> dict[str, int]:
    """Return another program that does the same: its axis is not read."""
    found = dict(first)
    for axis in AXES:
        if axis in setting.program.pids:
            continue
        if candidate.grid[axis] > 1:
            found[axis] = (found.get(axis, 0) + 1) % candidate.grid[axis]
            return found
    raise RunError("a grid of one program")


def _poisoned(setting: Setting, finding: Finding, candidate: Candidate) -> Found | None:
    memory = memory_for(setting, candidate)
    program = candidate.program(setting)
    run(setting, candidate, program, memory)
    for event in memory.events:
        if event.kind == "poison":
            where = setting.line(event.line)
            text = (
                f"run: {event.access} of {event.buffer}[{event.offset}] depends on a "
                f"masked-off load without a default ({where})"
            )
            return text, {"lane": event.lane}, [program]
    return None


def _broken(setting: Setting, finding: Finding, candidate: Candidate) -> Found | None:
    """Evaluate a promise at the solver's values; reads hold what the solver says."""
    values = candidate.values
    if any(
        n.kind == "opaque" for formula in finding.formulas for n in nodes_of(formula)
    ):
        return None
    holds = [
        bool(value_at(formula, values, lambda node, visit: values[node]))
        for formula in finding.formulas
    ]
    if all(holds):
        return "evaluated at these values", {}, [candidate.program(setting)]
    return None


def hole(setting: Setting, finding: Finding, name: str) -> Finding:
    """Look for a small launch that leaves an element unwritten.

    A launch of which an assertion ends a program shows nothing: what is read may hold
    other numbers.
    """
    memory_terms = setting.memories[name]
    launches = 0
    for candidate in small_launches(setting, name):
        try:
            memory = _after_all(setting, candidate)
        except RunError as error:
            reason = f"no witness, and a launch that cannot be run: {error}"
            return replace(finding, verdict=Unknown(reason))
        if memory is None:
            continue
        launches += 1
        written = set(memory.written.get(name, {}))
        for place in np.ndindex(
            *(int(value_at(e, candidate.values)) for e in memory_terms.shape)
        ):
            offset = sum(
                int(value_at(s, candidate.values)) * c
                for s, c in zip(memory_terms.strides, place, strict=True)
            )
            if offset not in written:
                example = Counterexample(
                    statement=finding.text,
                    source=finding.source,
                    arguments={
                        k: v for k, v in candidate.scalars.items() if k in setting.names
                    },
                    grid=tuple(candidate.grid[axis] for axis in AXES),
                    programs=(),
                    places={},
                    detail={"element": place, "offset": offset},
                    confirmed=f"run: all programs, none stores {name}[{offset}]",
                )
                return replace(finding, verdict=Refuted(example))
    return replace(
        finding,
        verdict=Unknown(
            f"no witness was found for {name}; {launches} small launches write all"
        ),
    )


def _after_all(setting: Setting, candidate: Candidate) -> GuardedMemory | None:
    """Return memory after all programs, None where assertions end some.

    Reads give plain numbers, or else zeros, which are what an index may be.
    """
    zeros = GuardedMemory(candidate.sizes, lambda _, offsets: np.zeros_like(offsets))
    for memory in (memory_for(setting, candidate), zeros):
        for program in programs_of(candidate):
            run(setting, candidate, program, memory)
        if not memory.ended:
            return memory
    return None


def small_launches(setting: Setting, name: str) -> Iterator[Candidate]:
    """Yield launches small enough to run all programs."""
    symbols = sizes_of(setting)
    memory = setting.memories[name]
    apart = [invert(equal(a, b)) for i, a in enumerate(symbols) for b in symbols[:i]]
    block = max(
        (
            lane.high + 1
            for access in setting.program.accesses
            for lane in access.lanes
            if lane.high is not None
        ),
        default=1,
    )
    tries = [
        [at_most(s, constant(cap)) for s in symbols]
        + [at_most(constant(low), extent) for extent in memory.shape]
        for low, cap in ((1, 8), (2, 40), (5, 80), (17, 200))
    ]
    # sizes beyond a block, and near one, show what a second iteration does
    beyond = block + block // 2 + 1
    for low, high in ((beyond, 2 * block + 9), (block // 2 + 1, block)):
        for s in symbols:
            if s.high is not None and s.high < low:
                continue
            near = [at_most(constant(low), s), at_most(s, constant(high))]
            others = [t for t in symbols if t is not s]
            few = [at_most(t, constant(FEW)) for t in others]
            some = [at_most(constant(FEW // 2), t) for t in others]
            tries.append([*near, *few, *some])
            if setting.ask(tries[-1], 0.5) is False:
                tries[-1] = near
    launches = 0
    for limits in tries:
        limits.append(at_most(memory.size, constant(MOST_ELEMENTS)))
        answer = setting.ask((*limits, *apart), 0.5)
        if not isinstance(answer, dict):
            answer = setting.ask(limits, 0.5)
        if not isinstance(answer, dict):
            continue
        candidate = candidate_of(setting, answer)
        count = 1
        for number in candidate.grid.values():
            count *= max(0, number)
        if 0 < count <= MOST_PROGRAMS and launches < MOST_LAUNCHES:
            launches += 1
            yield candidate


def programs_of(candidate: Candidate) -> Iterator[dict[str, int]]:
    """Yield the ids of all programs of a launch."""
    for place in np.ndindex(*(candidate.grid[axis] for axis in AXES)):
        yield dict(zip(AXES, (int(p) for p in place), strict=True))


_HOW = {
    "in_bounds": _out_of_bounds,
    "no_wrap": _wrapped,
    "write_once": _met,
    "no_race": _met,
    "no_poison": _poisoned,
    "alignment": _broken,
}
