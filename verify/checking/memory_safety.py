"""Obligations about single accesses: in bounds, and no machine result that wraps."""

from collections.abc import Iterator, Sequence

from algebra.verdict import Proved, Unknown, Verdict
from verify.symbolic.terms import FALSE, ZERO, Term, at_most, conjoin, disjoin, less
from verify.ttir.program import Access

from .finding import Finding
from .promises import Covered, Promise, promises_of
from .setting import Setting, placed

SMALL = 0.25
"""Limit of a question that stands for several [seconds]."""


CANDIDATE = "a candidate that has not been run"


def verdict_of(answer: object, limit: float) -> Verdict:
    """Return what an answer to "can it break?" means.

    A solution is a candidate: ``check`` runs it before it says ``Refuted``.
    """
    if answer is False:
        return Proved("z3")
    if answer is None:
        return Unknown(f"time-out after {limit:g} s")
    return Unknown(CANDIDATE)


def bounds(setting: Setting) -> Iterator[Finding]:
    """Yield a finding for each access: it stays inside its buffer."""
    for access in setting.program.accesses:
        source = setting.program.source_of(access.operation)
        for buffer, offset, condition in placed(access):
            text = f"{access.kind} of {buffer}[{offset}] is in bounds"
            memory = setting.memories.get(buffer)
            if memory is None:
                reason = (
                    f"{buffer.removeprefix('unknown:')} gives the pointer of a "
                    f"{access.kind}"
                )
                yield Finding("in_bounds", text, source, Unknown(reason))
                continue
            reach = (access.guard, access.mask, access.asserted, condition)
            outside = [
                x
                for x in (less(offset, ZERO), at_most(memory.size, offset))
                if not (x.kind == "not" and _certain(offset, x))
            ]
            yield _asked(setting, "in_bounds", text, source, reach, outside)


def _certain(offset: Term, outside: Term) -> bool:
    """Whether ``offset < 0`` is excluded by the range alone."""
    below = outside.args[0].args[0] is ZERO
    return below and offset.low is not None and offset.low >= 0


def _asked(
    setting: Setting,
    obligation: str,
    text: str,
    source: str,
    reach: Sequence[Term],
    broken: Sequence[Term],
) -> Finding:
    """Ask for each way to break a statement."""
    verdict: Verdict = Proved("z3")
    formulas: tuple[Term, ...] = ()
    left = list(broken)
    for one in broken:
        answer = setting.ask((*reach, one))
        if answer is False:
            left.remove(one)
            continue
        verdict = verdict_of(answer, setting.limit)
        if answer is not None:
            break
    if left:
        formulas = (*reach, disjoin(*left))
    return Finding(obligation, text, source, verdict, formulas)


def wraps(setting: Setting) -> Iterator[Finding]:
    """Yield a finding for each machine result that reaches an address or a mask."""
    covered: Covered = {}
    for access in setting.program.accesses:
        source = setting.program.source_of(access.operation)
        promises: list[Promise] = list(promises_of(access.guard, (), covered))
        promises += promises_of(access.mask, (access.guard,), covered)
        promises += promises_of(access.asserted, (access.guard, access.mask), covered)
        where = (access.guard, access.mask, access.asserted)
        for _, offset, condition in placed(access):
            promises += promises_of(condition, where, covered)
            promises += promises_of(offset, (*where, condition), covered)
        yield from _fits(setting, access, source, promises)


def _fits(
    setting: Setting, access: Access, source: str, promises: Sequence[Promise]
) -> Iterator[Finding]:
    text = f"{access.kind}: no machine result wraps in its address or mask"
    pending = [p for p in promises if p.broken is not FALSE]
    if not pending:
        yield Finding("no_wrap", text, source, Proved("ranges"))
        return
    if len(pending) > 1:
        ways = disjoin(*(conjoin(*p.where, p.broken) for p in pending))
        if setting.ask((ways,), SMALL) is False:
            yield Finding("no_wrap", text, source, Proved("z3"))
            return
    for promise in pending:
        asked = (*promise.where, promise.broken)
        answer = setting.ask(asked)
        where = setting.line(promise.line) or source
        yield Finding(
            "no_wrap", promise.text, where, verdict_of(answer, setting.limit), asked
        )
