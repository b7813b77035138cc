"""Ours against a wheel: equal, different, or a case that cannot be compared.

Normalisation, all of it:

1. Names: the wheel's ``reg_bases`` is our ``register``, and so on; a missing ``block``
   is no block.
2. Partitioned shared memory: the wheel answers without the partition, so ours is
   compared without it.
3. ``invert_and_compose``: where several inputs hold an element, the releases choose
   differently. In 3.8 (and in the algebra) a common in-dim is always mapped by the
   identity; until 3.7 not where the out-dims of the two layouts differ in size
   (``choice_until_3_7``); since 3.9 only where no other in-dim, of either layout,
   touches the output bits of that one (``choice_of_3_9``). The law
   ``outer(C(x)) == inner(x)`` holds for each choice.

A case is *apart* if the wheel raises, aborts, has no constructor for the kind, or
returns a map that is not surjective.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from algebra.encodings import from_dict
from algebra.errors import LayoutError
from algebra.gauss import rank

from .random_encodings import KINDS, Case, random_cases
from .random_operations import Operation
from .wheel import Answer, Wheel

RAISED = "raised"
ABORTED = "aborted"
NOT_EXPOSED = "not exposed"
NOT_SURJECTIVE = "not surjective"
BOTH_REJECT = "rejected by both"


@dataclass(slots=True)
class Comparison:
    """What came of comparing many cases.

    Attributes:
        equal: Number of cases that agree, by kind.
        different: Cases that disagree: kind, input, ours, theirs.
        apart: Cases that cannot be compared, by kind and reason.
        listed: Each case that is apart: kind, reason, input, what the wheel said.
    """

    equal: Counter[str] = field(default_factory=Counter)
    different: list[tuple[str, Any, Any, Any]] = field(default_factory=list)
    apart: Counter[tuple[str, str]] = field(default_factory=Counter)
    listed: list[tuple[str, str, Any, str]] = field(default_factory=list)

    @property
    def cases(self) -> int:
        """Number of cases seen."""
        return sum(self.equal.values()) + len(self.different) + sum(self.apart.values())

    def set_apart(self, kind: str, reason: str, given: Any, said: str) -> None:
        """Count and list a case that cannot be compared."""
        self.apart[kind, reason] += 1
        self.listed.append((kind, reason, given, said))


def release_of(version: str) -> str:
    """Return the release whose layouts a version has.

    Example:
        >>> release_of("3.7.1")
        '3.7'
    """
    return ".".join(version.split(".")[:2])


def ours(case: Case, release: str) -> dict[str, list[list[int]]]:
    """Return the algebra's bases in the form of the wheel's answer."""
    layout = from_dict(case.encoding).to_linear_layout(case.shape, release)
    found = {
        name: [list(vector) for vector in vectors]
        for name, vectors in layout.bases.items()
    }
    found.setdefault("block", [])
    found.pop("partition", None)
    return found


def is_surjective(bases: dict[str, list[list[int]]], shape: Sequence[int]) -> bool:
    """Say whether bases reach every element of a shape."""
    columns = []
    for vectors in bases.values():
        for vector in vectors:
            column, shift = 0, 0
            for component, size in zip(vector, shape, strict=True):
                column |= component << shift
                shift += size.bit_length() - 1
            columns.append(column)
    return rank(columns) == sum(size.bit_length() - 1 for size in shape)


def _unanswered(answer: Answer) -> tuple[str, str] | None:
    for key, reason in (
        ("abort", ABORTED),
        ("error", RAISED),
        ("not_exposed", NOT_EXPOSED),
    ):
        if key in answer:
            return reason, str(answer[key])
    return None


def compare_encodings(
    wheel: Wheel, cases: Sequence[Case], release: str | None = None
) -> Comparison:
    """Compare the layouts of encodings.

    Args:
        wheel: The judge.
        cases: Encodings with shapes.
        release: Release to model; default that of the wheel.
    """
    release = release or release_of(wheel.version)
    result = Comparison()
    jobs = [["encoding", case.encoding, list(case.shape)] for case in cases]
    for case, answer in zip(cases, wheel.ask(jobs), strict=True):
        given = (case.encoding, list(case.shape))
        try:
            mine: Any = ours(case, release)
        except LayoutError as error:
            mine = error
        apart = _unanswered(answer)
        if apart:
            reason, said = apart
            if isinstance(mine, LayoutError) and reason in (RAISED, ABORTED):
                reason = BOTH_REJECT
            result.set_apart(case.kind, reason, given, said)
            continue
        theirs = {"block": [], **answer["value"]}
        partial = case.encoding["kind"] == "partitioned_shared"
        if not partial and not is_surjective(theirs, case.shape):
            result.set_apart(case.kind, NOT_SURJECTIVE, given, str(theirs))
        elif mine == theirs:
            result.equal[case.kind] += 1
        else:
            result.different.append((case.kind, given, mine, theirs))
    return result


def exposed_kinds(wheel: Wheel) -> tuple[list[str], dict[str, str]]:
    """Return the kinds that a wheel can answer about, and the others with its reason.

    A kind counts as exposed if one of a few simple encodings gets an answer.
    """
    exposed: list[str] = []
    others: dict[str, str] = {}
    for kind in KINDS:
        tries = random_cases(0, 4, [kind])
        answers = list(
            wheel.ask([["encoding", t.encoding, list(t.shape)] for t in tries])
        )
        if any("value" in answer for answer in answers):
            exposed.append(kind)
        else:
            others[kind] = str(next(iter(answers[0].values())))
    return exposed, others


def compare_operations(
    wheel: Wheel, operations: Iterable[Operation], release: str | None = None
) -> Comparison:
    """Compare the results of operations on layouts.

    Args:
        wheel: The judge.
        operations: What to run on both sides.
        release: Release to model; default that of the wheel.
    """
    release = release or release_of(wheel.version)
    result = Comparison()
    todo = list(operations)
    jobs = [["algebra", each.name, list(each.arguments)] for each in todo]
    for operation, answer in zip(todo, wheel.ask(jobs), strict=True):
        try:
            mine: Any = operation.run(release)
        except LayoutError as error:
            mine = error
        apart = _unanswered(answer)
        if apart:
            reason, said = apart
            if isinstance(mine, LayoutError) and reason in (RAISED, ABORTED):
                reason = BOTH_REJECT
            result.set_apart(operation.name, reason, list(operation.arguments), said)
        elif mine == answer["value"]:
            result.equal[operation.name] += 1
        else:
            arguments = list(operation.arguments)
            result.different.append((operation.name, arguments, mine, answer["value"]))
    return result
