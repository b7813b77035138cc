"""Obligations about pairs: every element written once, no race between programs.

Programs run in no order. ``write_once``: no two programs, and no two lanes of one
store, write one element. ``no_race``: no program reads or writes an element that
another one writes, unless both do it atomically. Within a program, statements run in
order; to write an element again later is no fault.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from algebra.verdict import Proved, Verdict
from verify.symbolic.terms import (
    FALSE,
    ONE,
    Term,
    conjoin,
    disjoin,
    equal,
    invert,
    less,
)
from verify.symbolic.walk import symbols_of
from verify.ttir.program import LOAD, STORE, Access

from .finding import Finding
from .injective import is_injective
from .memory_safety import verdict_of
from .radix import Digits, digits_of
from .setting import Setting, placed, renamed

Question = tuple[Verdict, tuple[Term, ...]]
"""An answer, and what was asked."""


@dataclass(frozen=True, slots=True)
class Place:
    """One buffer that an access may touch."""

    access: Access
    buffer: str
    offset: Term
    reach: Term


def places(setting: Setting) -> list[Place]:
    """Return each access with each buffer that it may touch."""
    return [
        Place(access, buffer, offset, conjoin(access.guard, access.mask, condition))
        for access in setting.program.accesses
        for buffer, offset, condition in placed(access)
    ]


def in_order(symbols: Iterable[Term]) -> list[Term]:
    """Return symbols by name."""
    return sorted(symbols, key=lambda node: str(node.args[0]))


class Pairs:
    """Questions about pairs of accesses of one setting."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.shared = setting.shared
        self.split: dict[tuple[Term, Term], Digits | None] = {}
        self.unique: dict[tuple[Term, Term], bool] = {}

    def digits(self, place: Place) -> Digits | None:
        """Return the address of an access as digits; remembered."""
        key = (place.offset, place.reach)
        if key not in self.split:
            self.split[key] = digits_of(
                self.setting, place.offset, (place.reach,), self.shared
            )
        return self.split[key]

    def between_programs(self, one: Place, other: Place) -> Question:
        """Ask for two different programs that touch one element."""
        ids = self.setting.program.pids.values()
        pids = [node for pid in ids for node in in_order(symbols_of(pid))]
        # programs do the same that differ along an axis which is not read
        several = disjoin(
            *(
                less(ONE, count)
                for axis, count in self.setting.grid.items()
                if axis not in self.setting.program.pids
            )
        )
        same = (one.offset, one.reach) == (other.offset, other.reach)
        if several is FALSE and same and self.is_unique(one):
            return Proved("digits"), ()
        return self.collide(one, other, pids, self.shared, several)

    def is_unique(self, place: Place) -> bool:
        """Whether no two lanes of all programs have one address; remembered."""
        key = (place.offset, place.reach)
        if key not in self.unique:
            ids = self.setting.program.pids.values()
            own = {node for pid in ids for node in symbols_of(pid)}
            own |= {lane for lane in place.access.lanes if lane.kind == "symbol"}
            own |= symbols_of(place.offset) & set(place.access.loops)
            counts = [
                less(pid, self.setting.grid[axis])
                for axis, pid in self.setting.program.pids.items()
            ]
            self.unique[key] = is_injective(
                place.offset,
                conjoin(place.reach, *counts),
                own,
                lambda parts: self.setting.ask(parts) is False,
            )
        return self.unique[key]

    def between_lanes(self, place: Place) -> Question:
        """Ask for two lanes of one store that write one element."""
        lanes = [lane for lane in place.access.lanes if lane.kind == "symbol"]
        if not lanes:
            return Proved("one lane"), ()
        if self.is_unique(place):
            return Proved("digits"), ()
        everything = symbols_of(place.reach) | symbols_of(place.offset)
        return self.collide(place, place, lanes, everything - set(lanes))

    def collide(
        self,
        one: Place,
        other: Place,
        apart: Sequence[Term],
        shared: frozenset[Term],
        different: Term = FALSE,
    ) -> Question:
        """Ask whether two accesses meet that differ in one of ``apart``.

        Args:
            one: The first access.
            other: The second; its symbols get new names.
            apart: Symbols that tell the two from each other.
            shared: Symbols that both have in common.
            different: Another way in which they may be apart.
        """
        setting = self.setting
        mine, theirs = self.digits(one), self.digits(other)
        own = theirs.digits if theirs is not None else ()
        (reach, offset, *rest), _ = renamed(
            [other.reach, other.offset, *own, *apart], shared
        )
        copies, others = rest[: len(own)], rest[len(own) :]
        different = disjoin(
            different,
            *(invert(equal(a, b)) for a, b in zip(apart, others, strict=True)),
        )
        meet = [equal(one.offset, offset)]
        if mine is not None and theirs is not None and mine.strides == theirs.strides:
            meet = [equal(a, b) for a, b in zip(mine.digits, copies, strict=True)]
        asked = (one.reach, reach, different, *meet)
        answer = setting.ask(asked)
        return verdict_of(answer, setting.limit), asked


def written_once(setting: Setting) -> Iterator[Finding]:
    """Yield a finding for each store, and for each pair of stores to a buffer."""
    pairs = Pairs(setting)
    stores = [p for p in places(setting) if p.access.kind == STORE]
    for place in stores:
        text = f"no two lanes of a store to {place.buffer} write one element"
        yield _finding(setting, "write_once", text, place, pairs.between_lanes(place))
    done: set[tuple[Term, ...]] = set()
    for index, one in enumerate(stores):
        for other in stores[: index + 1]:
            key = (one.offset, one.reach, other.offset, other.reach)
            if one.buffer == other.buffer and key not in done:
                done.add(key)
                text = f"no two programs write one element of {one.buffer}"
                question = pairs.between_programs(one, other)
                yield _finding(setting, "write_once", text, one, question)


def races(setting: Setting) -> Iterator[Finding]:
    """Yield a finding for each pair of accesses that must not meet."""
    pairs = Pairs(setting)
    found = places(setting)
    done: set[tuple[Term, ...]] = set()
    for one in found:
        if one.access.kind == LOAD:
            continue
        for other in found:
            if one.buffer != other.buffer or one.access.kind == other.access.kind:
                continue
            if other.access.kind == STORE:  # seen from the store
                continue
            key = (one.offset, one.reach, other.offset, other.reach)
            if key in done:
                continue
            done.add(key)
            text = (
                f"no program's {other.access.kind} meets another one's "
                f"{one.access.kind} in {one.buffer}"
            )
            question = pairs.between_programs(one, other)
            yield _finding(setting, "no_race", text, one, question)


def _finding(
    setting: Setting, obligation: str, text: str, place: Place, question: Question
) -> Finding:
    verdict, formulas = question
    source = setting.program.source_of(place.access.operation)
    return Finding(obligation, text, source, verdict, formulas)
