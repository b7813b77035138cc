"""Obligation: no lane that is stored, addressed or tested depends on poison."""

from collections.abc import Iterator

from algebra.verdict import Proved, Unknown
from verify.symbolic.terms import FALSE, TRUE, Term, conjoin, disjoin
from verify.symbolic.walk import substitute
from verify.ttir.program import LOAD, Program
from verify.ttir.tensor import MAX_ELEMENTS, TooDeepError, lanes_of

from .finding import Finding
from .memory_safety import verdict_of
from .promises import poison_of
from .setting import Setting


class Sources:
    """Knows under which condition a loop's value depends on poison."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.open: set[tuple[int, int]] = set()

    def of(self, term: Term) -> Term:
        """Return the condition under which a value depends on poison."""
        return poison_of(term, self.through)

    def through(self, node: Term) -> Term | None:
        """Return the condition for a value that a loop carries.

        It depends on poison if its initial value does, or what some iteration makes
        of it: the same element where the loop works element by element, any element
        otherwise.
        """
        if node.kind != "opaque" or node.args[0] != "loop":
            return None
        number, index = node.args[1:3]
        record = self.program.loops.get((number, index))
        if record is None:
            return TRUE
        key = (number, index)
        shape = record.initial.shape
        rank = len(shape)
        coordinates = node.args[len(node.args) - rank :] if rank else ()
        lanes = lanes_of(shape)
        if key in self.open:
            return FALSE if coordinates == lanes else TRUE
        self.open.add(key)
        start = self.of(record.initial.at(lanes))
        body = conjoin(record.guard, self.of(record.carried.at(lanes)))
        self.open.discard(key)
        to = {
            lane: place
            for lane, place in zip(lanes, coordinates, strict=True)
            if lane.kind == "symbol" and lane is not place
        }
        found = disjoin(start, body)
        return substitute(found, to) if to else found


def definedness(setting: Setting) -> Iterator[Finding]:
    """Yield a finding for each access: nothing that it uses depends on poison."""
    sources = Sources(setting.program)
    for access in setting.program.accesses:
        source = setting.program.source_of(access.operation)
        ways = [
            conjoin(access.guard, sources.of(access.mask)),
            conjoin(access.guard, access.mask, sources.of(access.pointer)),
        ]
        if access.kind != LOAD and access.value is not None:
            try:
                value = access.value.term()
            except (TooDeepError, RecursionError):
                reason = f"the value stored depends on more than {MAX_ELEMENTS} others"
                yield Finding("no_poison", f"{access.kind}", source, Unknown(reason))
                continue
            ways.append(conjoin(access.guard, access.mask, sources.of(value)))
        text = f"{access.kind}: no live lane depends on a masked-off load"
        formula = disjoin(*ways)
        if formula is FALSE:
            yield Finding("no_poison", text, source, Proved("none"))
            continue
        answer = setting.ask((formula,))
        verdict = verdict_of(answer, setting.limit)
        yield Finding("no_poison", text, source, verdict, (formula,))


def promises(setting: Setting) -> Iterator[Finding]:
    """Yield a finding for each promise that the program makes to the compiler."""
    from verify.symbolic.terms import invert

    for claim in setting.program.claims:
        source = setting.program.source_of(claim.operation)
        formulas = (claim.guard, invert(claim.condition))
        answer = setting.ask(formulas)
        verdict = verdict_of(answer, setting.limit)
        yield Finding("alignment", claim.text, source, verdict, formulas)
