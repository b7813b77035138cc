"""Two plans, there and back, as one kernel that times them; and which pairs to time.

One block of threads converts there and back in a loop, each time what the last round
gave. The two conversions have a piece of shared memory each, so that one barrier in
each is enough: every thread passes the other's barrier after it has loaded, and before
it stores again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product

from algebra.errors import LayoutError
from compiler.convert.hardware import Layout, hardware_of
from compiler.convert.plan import COMPARED, Plan, plans
from compiler.convert.renaming import renamings, undoes
from compiler.convert.steps import SCOPES, Barrier, Load, Shuffle, Store

from .conversion import tile_function
from .declared import STATIC_BYTES, rounded
from .plan_block import inside
from .probe import round_trips

WORD_BITS = 32
TILES = ("tile_there", "tile_back")
MOST_PAIRS = 10


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """A plan from one layout to another, and one back.

    Attributes:
        there: Plan from the source to the destination.
        back: Plan from the destination to the source.
        form: In which both are emitted: ``"hardware"``, ``"tensor"`` or ``"memory"``.
    """

    there: Plan
    back: Plan
    form: str

    @property
    def text(self) -> str:
        """The module with ``probe(source, target, rounds)``.

        Raises:
            UnsupportedLayoutError: the form cannot express one of the plans.
        """
        bits = opaque_bits(self.there, self.back)
        src, dst = self.there.src, self.there.dst
        if self.form == "memory":
            one, other = (
                plan.emit("memory", name=name)
                for plan, name in ((self.there, "there"), (self.back, "back"))
            )
            return round_trips(one, other, src, dst, opaque_bits=bits)
        sizes = [self.there.shared_bytes, self.back.shared_bytes]
        in_common = sum(map(rounded, sizes)) > STATIC_BYTES
        tiles = TILES[:1] * 2 if in_common else TILES
        renamed = cancels(self.there, self.back)
        one, other = (
            plan.emit(
                self.form,
                name=name,
                repeated=in_common or waits(opposite) < waits(plan),
                tile=tile if plan.shared_bytes else "",
                in_common=in_common,
                renamed=renamed,
            )
            for plan, opposite, name, tile in (
                (self.there, self.back, "there", tiles[0]),
                (self.back, self.there, "back", tiles[1]),
            )
        )
        declared: dict[str, int] = {}
        for tile, size in zip(tiles, sizes, strict=True):
            declared[tile] = max(declared.get(tile, 0), size)
        threads = hardware_of(self.there.src)
        return round_trips(
            one,
            other,
            src,
            dst,
            opaque_bits=bits,
            tiles=[
                tile_function(tile, size, threads)
                for tile, size in declared.items()
                if size
            ],
        )


def candidates(
    src: Layout,
    dst: Layout,
    element_bits: int,
    target: str = "sm_90",
    *,
    resident_warps: int,
    most: int = MOST_PAIRS,
) -> list[RoundTrip]:
    """Return pairs that are worth timing, the one that the cost model takes first.

    After it come the one by vectors that both sides have in common, the cheapest of
    each kind (shuffles or memory, matrices or not), those in parts, whose accesses
    overlap where elements stay in their warp, then others, cheap ones before dear ones.
    Each comes by its own steps, and by Gluon's store and load through its memory
    layout, if it has one: the way that Triton itself takes, with half the barriers.
    Those that cannot be emitted, and those whose kernel is the same as that of an
    earlier one, are left out.

    Args:
        src: Source layout.
        dst: Destination layout.
        element_bits: Size of an element [bits].
        target: As in ``plan``.
        resident_warps: As in ``plan``; the kernel's warps, as it runs alone.
        most: How many to return at most.
    """

    def ways(family: str) -> list[list[Plan]]:
        return [
            plans(
                *sides,
                element_bits,
                target,
                resident_warps=resident_warps,
                packed=False,
                family=family,
            )
            for sides in ((src, dst), (dst, src))
        ]

    both = ways(COMPARED)
    even = list(_same_kind(*ways("even")))
    parted = list(_same_kind(*ways("parted")))
    found: dict[str, RoundTrip] = {}
    preferred = preferred_form(both[0][0], both[1][0])
    for there, back in islice(_ranked(both[0], both[1], even, parted), most):
        for form in sorted(forms(there, back), key=preferred.__ne__):
            pair = RoundTrip(there, back, form)
            try:
                found.setdefault(pair.text, pair)
            except LayoutError:
                continue  # Gluon has no such layouts, or the memory is too large
    return list(found.values())[:most]


def kind(plan: Plan) -> tuple[bool, ...]:
    """Return whether a plan shuffles, goes through memory, and by matrices."""
    steps = plan.steps
    moved = [s.instruction for s in steps if isinstance(s, Store | Load)]
    matrices = any(instruction.is_matrix for instruction in moved)
    return any(isinstance(s, Shuffle) for s in steps), bool(moved), matrices


def in_parts(plan: Plan) -> bool:
    """Return whether a plan stores and loads one part after another, within warps."""
    return waits(plan) == 0 and sum(isinstance(s, Load) for s in plan.steps) > 1


def _ranked(
    there: Sequence[Plan],
    back: Sequence[Plan],
    even: Sequence[tuple[Plan, Plan]],
    parted: Sequence[tuple[Plan, Plan]],
) -> Iterator[tuple[Plan, Plan]]:
    """Yield pairs: the cheapest, those of one kind both ways, then all others.

    Args:
        there: Plans of one way, the cheapest first.
        back: Those of the other way.
        even: Pairs of common vectors, which come after the cheapest.
        parted: Pairs in parts, which come after those of one kind.
    """
    first = there[0], back[0]
    same = [pair for pair in _same_kind(there, back) if pair != first]
    yield first
    yield from even
    yield from same
    yield from parted
    every = sorted(
        product(range(len(there)), range(len(back))),
        key=lambda pair: (sum(pair), abs(pair[0] - pair[1])),
    )
    for i, j in every:
        pair = there[i], back[j]
        if pair != first and pair not in same:
            yield pair


def _same_kind(
    there: Sequence[Plan], back: Sequence[Plan]
) -> Iterator[tuple[Plan, Plan]]:
    """Yield the cheapest pair of each kind that both ways have."""
    kinds = [kind(plan) for plan in there], [kind(plan) for plan in back]
    # both lists are sorted by cost, so the first of a kind is the cheapest
    for one in dict.fromkeys(kinds[0]):
        if one in kinds[1]:
            yield there[kinds[0].index(one)], back[kinds[1].index(one)]


def forms(there: Plan, back: Plan) -> list[str]:
    """Return the forms in which a pair may be emitted.

    Gluon's own store and load take the whole tile, so parts only go by their own steps.
    """
    if in_parts(there) or in_parts(back):
        return [own_form(there, back)]
    found = []
    sizes = there.shared_bytes, back.shared_bytes
    if max(sizes) <= STATIC_BYTES:
        found.append(own_form(there, back))
    if there.swizzling is not None and back.swizzling is not None:
        found.append("memory")
    return found


def own_form(there: Plan, back: Plan) -> str:
    """Return the form that carries out both plans' own steps."""
    try:
        planned = all(one.emit("tensor").is_planned for one in (there, back))
    except LayoutError:
        planned = False
    return "tensor" if planned else "hardware"


def preferred_form(there: Plan, back: Plan) -> str:
    """Return the form that is taken without timing.

    Accesses of less than a word, and memory that a block of PTX may not declare, are
    left to Gluon's own store and load.
    """
    through = there.swizzling is not None and back.swizzling is not None
    large = there.shared_bytes + back.shared_bytes > STATIC_BYTES
    if through and (large or there.is_narrow or back.is_narrow):
        return "memory"
    return own_form(there, back)


def waits(plan: Plan) -> int:
    """Return the widest barrier of a plan, as a place in SCOPES; -1 without one."""
    scopes = [SCOPES.index(s.scope) for s in plan.steps if isinstance(s, Barrier)]
    return max(scopes, default=-1)


def cancels(there: Plan, back: Plan) -> bool:
    """Return whether each way undoes the renaming of registers of the other one."""
    (taken, left), (taken_back, left_back) = (
        renamings(inside(plan.steps), plan.element_bits)[1:] for plan in (there, back)
    )
    return undoes(taken_back, left) and undoes(taken, left_back)


def opaque_bits(there: Plan, back: Plan) -> int:
    """Return the size of an element if both ways could be shuffles, else 0.

    There a compiler that sees both ways cancels the selections of one with those of
    the other, which no program that computes between them can do.
    """
    within = there.least_shuffles is not None or back.least_shuffles is not None
    registers = min(hardware_of(side).registers for side in (there.src, there.dst))
    whole = there.element_bits << registers >= WORD_BITS
    return there.element_bits if within and whole else 0
