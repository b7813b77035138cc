"""Questions about layouts in registers: same as the formula, linear, onto, kernel."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from verify.legacy import DistributedModel
from verify.terms import (
    Formula,
    Term,
    all_of,
    as_size,
    at_most,
    equal,
    implies,
    less,
    variable,
)

from .pieces import PieceLayout
from .query import Query

Point = dict[str, Term]


@dataclass(frozen=True, slots=True)
class Subject:
    """A formula and a layout with the same symbolic parameters.

    Attributes:
        name: What a question about it is called.
        model: The index formula.
        layout: The layout, as pieces.
        box: The bounds of the parameters.
        bits: Hardware dim -> bits of its variable; a bound of the box as well.
    """

    name: str
    model: DistributedModel
    layout: PieceLayout
    box: tuple[Formula, ...]
    bits: dict[str, int]

    def point(self, suffix: str = "") -> Point:
        """Return variables for a hardware point."""
        return {name: variable(name + suffix, bits) for name, bits in self.bits.items()}

    def assumptions(self, *points: Point) -> tuple[Formula, ...]:
        """Return the box, and the domain of some points."""
        sizes = self.layout.sizes()
        fits = [at_most(sizes[name].exponent, bits) for name, bits in self.bits.items()]
        within = [f for point in points for f in self.layout.within(point)]
        return (*self.box, *fits, *within)

    def formula(self, point: Point) -> list[Term]:
        """Return the position by the index formula."""
        register, lane, warp = self.model.names
        return self.model.position(point[register], point[lane], point[warp])


def questions(
    ask: Callable[[Subject], Query],
    make: Callable[..., Subject],
    *arguments: tuple[Any, ...],
) -> Callable[[], list[Query]]:
    """Return a builder that asks one question about each of some subjects.

    Args:
        ask: ``equivalent``, ``linear``, ``in_range``, ``kernel`` or ``onto``.
        make: Makes a subject.
        arguments: The arguments of ``make`` for each subject.
    """

    def build() -> list[Query]:
        return [ask(make(*given)) for given in arguments]

    return build


def same(left: Sequence[Term], right: Sequence[Term]) -> Formula:
    """Return that two positions are equal."""
    return all_of(equal(a, b) for a, b in zip(left, right, strict=True))


def equivalent(subject: Subject) -> Query:
    """Ask: formula and layout agree at every position, and have as many of them."""
    point = subject.point()
    sizes = subject.layout.sizes()
    register, lane, warp = subject.model.names
    counts = {
        register: subject.model.registers,
        lane: subject.model.lanes,
        warp: subject.model.warps,
    }
    claim = all_of(
        (
            same(subject.formula(point), subject.layout.apply(point)),
            *(
                equal(as_size(count).exponent, sizes[name].exponent)
                for name, count in counts.items()
            ),
        )
    )
    return Query(subject.name, claim, subject.assumptions(point))


def linear(subject: Subject) -> Query:
    """Ask: the formula of an xor is the xor of the formulas."""
    one, other = subject.point(), subject.point("'")
    both = {name: one[name] ^ other[name] for name in one}
    added = [
        a ^ b for a, b in zip(subject.formula(one), subject.formula(other), strict=True)
    ]
    claim = same(subject.formula(both), added)
    return Query(subject.name, claim, subject.assumptions(one, other))


def in_range(subject: Subject) -> Query:
    """Ask: every coordinate is below the size of its dim."""
    point = subject.point()
    shape = subject.layout.shape
    claim = all_of(
        less(coordinate, as_size(size).value())
        for coordinate, size in zip(subject.formula(point), shape, strict=True)
    )
    return Query(subject.name, claim, subject.assumptions(point))


def kernel(subject: Subject) -> Query:
    """Ask: a place is mapped to zero exactly if none of its moving bits is set.

    With linearity: two places hold the same element exactly if their moving bits agree.
    """
    point = subject.point()
    still = all_of(equal(part, 0) for part in subject.layout.moving(point).values())
    zero = all_of(equal(coordinate, 0) for coordinate in subject.formula(point))
    claim = all_of((implies(still, zero), implies(zero, still)))
    return Query(subject.name, claim, subject.assumptions(point))


def onto(subject: Subject) -> Query:
    """Ask: every element is held somewhere, namely at the preimage."""
    shape = subject.layout.shape
    bits = max(as_size(size).exponent.ones for size in shape)
    element = [variable(f"dim{d}", bits) for d in range(len(shape))]
    inside = [
        less(coordinate, as_size(size).value())
        for coordinate, size in zip(element, shape, strict=True)
    ]
    place = subject.layout.preimage(element)
    claim = all_of(
        (same(subject.layout.apply(place), element), *subject.layout.within(place))
    )
    return Query(subject.name, claim, (*subject.assumptions(), *inside))
