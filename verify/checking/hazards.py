"""What a program's lanes and programs may do to each other by their timing.

Lanes of one program run in any order between two points where they all meet. Triton
puts no barrier between accesses to global memory, so an element that one lane stores
and another one loads, with no barrier between, is read too early or too late (LLVM's
and CUDA's memory models; ``tl.debug_barrier`` is the remedy). One lane's own accesses
are in order. Reductions, scans and the like are taken as points where lanes meet: they
exchange values through shared memory.

Programs may wait for each other by atomics. Which accesses that orders is not modelled:
no race is refuted in a kernel that does.
"""

from collections.abc import Iterator

from algebra.verdict import Proved, Unknown
from verify.mlir import Operation, operations_of
from verify.symbolic.terms import FALSE, TRUE, Term, disjoin, equal, invert
from verify.symbolic.walk import nodes_of, symbols_of
from verify.ttir.program import LOAD, STORE

from .finding import Finding
from .races import Place, places, races
from .setting import Setting, renamed

BARRIERS = frozenset({"gpu.barrier", "ttg.barrier", "tt.debug_barrier"})

MEETINGS = BARRIERS | {
    "tt.reduce",
    "tt.scan",
    "tt.dot",
    "tt.dot_scaled",
    "tt.histogram",
    "tt.call",
    "tt.map_elementwise",
}
"""Operations at which the lanes of a program meet, or may."""


def race_free(setting: Setting) -> Iterator[Finding]:
    """Yield a finding for each pair of accesses that may meet, in any order."""
    yield from races(setting)
    yield from between_lanes(setting)


def ordering(setting: Setting, finding: Finding) -> str:
    """Return what may order two programs that meet; empty where nothing does."""
    if not finding.text.startswith(("no two programs", "no program's")):
        return ""
    for formula in finding.formulas:
        for node in nodes_of(formula):
            if node.kind == "opaque" and node.args[0] == "atomic":
                return "the value of an atomic"
    return waiting(setting)


def waiting(setting: Setting) -> str:
    """Return the construct by which programs wait for each other; empty if none does.

    A compare-and-swap; or an atomic or a volatile load that a ``while`` loop repeats.
    """
    for function in setting.program.module.functions.values():
        for operation in operations_of(function.body):
            inner = [
                inner
                for region in operation.regions
                if operation.name == "scf.while"
                for inner in operations_of(region)
            ]
            for one in (operation, *inner):
                is_repeated = one is not operation and (
                    one.name == "tt.atomic_rmw" or _is_volatile(one)
                )
                if one.name == "tt.atomic_cas" or is_repeated:
                    return f"{one.name} ({setting.program.source_of(one)})"
    return ""


def _is_volatile(operation: Operation) -> bool:
    return operation.name == "tt.load" and bool(operation.attributes.get("isVolatile"))


def between_lanes(setting: Setting) -> Iterator[Finding]:
    """Yield a finding for each pair of accesses of one program that lanes may swap."""
    found = places(setting)
    meetings = _meetings(setting)
    done: set[tuple[Term, ...]] = set()
    for index, one in enumerate(found):
        for other in found[index + 1 :]:
            kinds = {one.access.kind, other.access.kind}
            if one.buffer != other.buffer or STORE not in kinds:
                continue
            if _is_separated(one, other, meetings):
                continue
            key = (one.offset, one.reach, other.offset, other.reach)
            if key not in done:
                done.add(key)
                yield _asked(setting, one, other)


def _meetings(setting: Setting) -> list[int]:
    return sorted(
        operation.line
        for function in setting.program.module.functions.values()
        for operation in operations_of(function.body)
        if operation.name in MEETINGS
    )


def _is_separated(one: Place, other: Place, meetings: list[int]) -> bool:
    """Whether all lanes meet between two accesses.

    In a loop, the next iteration's access comes after this one's too; there, a meeting
    between the two is taken to be enough.
    """
    first, last = sorted((one.access.operation.line, other.access.operation.line))
    return any(first < line < last for line in meetings)


def _lanes(place: Place) -> list[Term]:
    return [lane for lane in place.access.lanes if lane.kind == "symbol"]


def _is_spread(setting: Setting, one: Place, other: Place) -> bool:
    """Whether more lanes than one may use what is loaded at a single place.

    Every thread loads it, one stores; what the others have matters where they write.
    """
    return any(
        place.access.kind == LOAD and _reaches_many(setting, place)
        for place in (one, other)
    )


def _reaches_many(setting: Setting, place: Place) -> bool:
    """Whether a loaded value may reach a store of several lanes, or a branch."""
    many = {
        access.operation.line
        for access in setting.program.accesses
        if any(lane.kind == "symbol" for lane in access.lanes)
    }
    reached = set(place.access.operation.results)
    for function in setting.program.module.functions.values():
        for operation in operations_of(function.body):
            uses = {*operation.operands, *(value for _, value in operation.bindings)}
            if not uses & reached:
                continue
            if operation.line in many or operation.regions or not operation.results:
                # a branch, a loop's value; a store of one lane is followed no further
                if operation.name == "tt.store" and operation.line not in many:
                    continue
                return True
            reached |= set(operation.results)
    return False


def _asked(setting: Setting, one: Place, other: Place) -> Finding:
    """Ask for two lanes of one program that touch one element."""
    text = (
        f"no lane's {other.access.kind} meets another lane's {one.access.kind} in "
        f"{one.buffer} without a barrier between"
    )
    source = setting.program.source_of(other.access.operation)
    mine, theirs = _lanes(one), _lanes(other)
    if not mine and not theirs and not _is_spread(setting, one, other):
        return Finding("no_race", text, source, Proved("one lane"))
    ids = [n for pid in setting.program.pids.values() for n in symbols_of(pid)]
    kept = setting.shared | set(ids)
    (reach, offset, *copies), _ = renamed([other.reach, other.offset, *theirs], kept)
    different: Term = disjoin(
        *(invert(equal(a, b)) for a, b in zip(mine, copies, strict=False))
    )
    if not mine or len(mine) != len(theirs):
        different = TRUE
    asked = (one.reach, reach, different, equal(one.offset, offset))
    if different is FALSE or setting.ask(asked) is False:
        return Finding("no_race", text, source, Proved("z3"))
    both = sorted({a.access.kind for a in (one, other)})
    reason = (
        f"lanes may meet in {one.buffer} ({' and '.join(both)}) with no barrier between"
    )
    return Finding("no_race", text, source, Unknown(reason), asked)
