"""Pipelines of copies: what a round waits for, and a judge that all of it is in order.

A loop whose tiles are copied from global to shared memory while earlier rounds compute.
A tile has ``stages`` slots; round k reads slot k mod stages. What is done before the
loop and in each round is data: the printer follows it, and ``prove`` judges it.

The rules. Copies of a thread that were committed together are a group; waiting for all
but the last p groups makes the older ones visible to that thread, and a barrier after
that to all. A copy may overwrite a slot only if all threads have passed a barrier after
the read of what was there. Reads are matrix products that have finished when the round
goes on. Threads run at any speed between barriers.

The judge follows one thread and keeps, relative to the round, which round's tile each
slot holds, which groups may be pending, and which reads other threads may still be at.
Rounds do the same things, so once this state repeats itself, what has been seen holds
for every number of rounds.
"""

from dataclasses import dataclass, field

from algebra.verdict import Proved, Refuted, Verdict


@dataclass(frozen=True, slots=True)
class Copy:
    """Start copying the tile of a later round into its slot, if there is that round.

    Attributes:
        ahead: How many rounds later; before the loop, the round itself.
    """

    ahead: int


@dataclass(frozen=True, slots=True)
class Commit:
    """Make the copies since the last one a group, even if there are none."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait until at most some groups are pending.

    Attributes:
        pending: How many of the last groups need not be there.
    """

    pending: int


@dataclass(frozen=True, slots=True)
class Barrier:
    """Wait for all threads."""


@dataclass(frozen=True, slots=True)
class Compute:
    """Read the round's slot, and finish."""


Event = Copy | Commit | Wait | Barrier | Compute


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A schedule of copies.

    Attributes:
        stages: Slots of a tile.
        before: What is done before the loop; round 0 comes next.
        each: What is done in a round.
    """

    stages: int
    before: tuple[Event, ...]
    each: tuple[Event, ...]

    def prove(self) -> Verdict:
        """Prove for any number of rounds that reads see their tiles whole."""
        return prove(self)


def pipeline(stages: int) -> Pipeline:
    """Return the schedule with so many slots; one copies and waits in turn.

    Law: ``pipeline(s).prove()`` is ``Proved`` for every s >= 1.

    Example:
        >>> [type(event).__name__ for event in pipeline(3).each]
        ['Wait', 'Barrier', 'Copy', 'Commit', 'Compute']
    """
    if stages == 1:
        each: tuple[Event, ...] = (
            *(Barrier(), Copy(0), Commit(), Wait(0), Barrier(), Compute()),
        )
        return Pipeline(1, (), each)
    before: list[Event] = []
    for number in range(stages - 1):
        before += [Copy(number), Commit()]
    # the barrier also says that all have read the slot that is written next
    later = (Copy(stages - 1), Commit())
    each = (Wait(stages - 2), Barrier(), *later, Compute())
    return Pipeline(stages, tuple(before), each)


@dataclass(slots=True)
class _State:
    """What a thread knows; rounds are counted from the present one.

    Attributes:
        slots: Slot -> (round of the tile, whether its group has been waited for,
            whether a barrier came after that).
        groups: Rounds whose copies are in each committed group, the oldest first.
        started: Rounds whose copies are in no group yet.
        reading: Rounds whose slots others may still read.
    """

    slots: dict[int, tuple[int, bool, bool]] = field(default_factory=dict)
    groups: list[tuple[int, ...]] = field(default_factory=list)
    started: list[int] = field(default_factory=list)
    reading: set[int] = field(default_factory=set)

    def key(self, number: int, stages: int) -> object:
        """Return the state relative to a round."""
        slots = sorted(
            ((slot - number) % stages, tile - number, there, seen)
            for slot, (tile, there, seen) in self.slots.items()
        )
        pending = [tuple(r - number for r in group) for group in self.groups]
        while pending and not pending[0]:
            pending.pop(0)
        return (
            tuple(slots),
            tuple(pending),
            tuple(r - number for r in self.started),
            frozenset(r - number for r in self.reading),
        )


class _FaultError(Exception):
    """The schedule breaks a rule."""


def prove(given: Pipeline) -> Verdict:
    """Return ``Proved``, or ``Refuted`` with the round and the rule.

    Args:
        given: A schedule.
    """
    if given.each.count(Compute()) != 1 or Compute() in given.before:
        return Refuted("a round reads its tiles once, and nothing is read before")
    try:
        rounds = _endless(given)
        for last in range(rounds + given.stages + 1):
            _finite(given, last)
    except _FaultError as error:
        return Refuted(str(error))
    return Proved("states repeat", (("rounds", rounds), ("stages", given.stages)))


def _endless(given: Pipeline) -> int:
    """Run until the state repeats; return after how many rounds."""
    state = _State()
    seen: set[object] = set()
    for event in given.before:
        _do(given, state, event, 0, None)
    number = 0
    while state.key(number, given.stages) not in seen:
        seen.add(state.key(number, given.stages))
        for event in given.each:
            _do(given, state, event, number, None)
        number += 1
        if number > 8 * given.stages + 8:
            raise _FaultError("groups pile up: nothing ever waits for them")
    return number


def _finite(given: Pipeline, last: int) -> None:
    """Run a loop of so many rounds."""
    state = _State()
    for event in given.before:
        _do(given, state, event, 0, last)
    for number in range(last):
        for event in given.each:
            _do(given, state, event, number, last)


def _do(
    given: Pipeline, state: _State, event: Event, number: int, last: int | None
) -> None:
    match event:
        case Copy(ahead=ahead):
            tile = number + ahead
            if last is not None and tile >= last:
                return
            slot = tile % given.stages
            for other in state.reading:
                if other % given.stages == slot:
                    raise _FaultError(
                        f"round {number}: the copy for round {tile} overwrites what "
                        f"another thread may read in round {other}"
                    )
            state.slots[slot] = (tile, False, False)
            state.started.append(tile)
        case Commit():
            state.groups.append(tuple(state.started))
            state.started.clear()
        case Wait(pending=pending):
            done = len(state.groups) - pending
            for group in state.groups[: max(0, done)]:
                for tile in group:
                    slot = tile % given.stages
                    if state.slots[slot][0] == tile:
                        state.slots[slot] = (tile, True, state.slots[slot][2])
            del state.groups[: max(0, done)]
        case Barrier():
            for slot, (tile, there, _) in state.slots.items():
                state.slots[slot] = (tile, there, there)
            state.reading.clear()
        case Compute():
            tile, there, seen = state.slots.get(
                number % given.stages, (-1, False, False)
            )
            if tile != number:
                raise _FaultError(f"round {number} reads the tile of round {tile}")
            if not there:
                raise _FaultError(f"round {number} reads what was not waited for")
            if not seen:
                raise _FaultError(
                    f"round {number} reads what other threads have copied, without a "
                    "barrier"
                )
            state.reading.add(number)
