"""Plans: what to execute to convert one layout to another, chosen by cost.

A plan is data. ``simulate`` runs it on element ids, ``prove`` derives its result by
F2 algebra, ``explain`` says it in words, ``counts`` adds up what a thread executes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from algebra.affine import AffineLayout
from algebra.dims import REGISTER
from algebra.errors import OutOfRangeError, UnsupportedLayoutError
from algebra.layout import LinearLayout
from algebra.swizzle import Swizzling
from algebra.verdict import Verdict
from compiler.cost import Device, device

from .copies import with_copies, without_copies
from .exchange_plan import exchange_plans
from .hardware import (
    Hardware,
    Layout,
    check_same_tensor,
    distributed,
    hardware_of,
)
from .lower import lower
from .nearest import nearest_source
from .parts import parted_plans
from .prove import prove
from .report import describe
from .shared_plan import SharedPlan, even_plans, shared_plans
from .simulate import Ids, images, run
from .steps import Load, Registers, Select, Step, Store
from .warp_factors import Blocks, least_shuffles, with_full_rank, within_warp
from .warp_plan import WORD_BITS, warp_plans
from .words import Program
from .work import (
    estimate,
    instructions,
    price,
    runs_within_warp,
    work,
)

if TYPE_CHECKING:
    from compiler.codegen.gluon.emission import Emission

ELEMENT_BITS = (8, 16, 32, 64, 128)
WIDEST = 128
PART = "part"
COMPARED = "compared"
FAMILIES = (COMPARED, "parted", "even")
RESIDENT_WARPS = 16


@dataclass(frozen=True, slots=True)
class Plan:
    """A way to convert one layout to another.

    Attributes:
        src: Source: register, lane, warp, block -> tensor.
        dst: Destination, over the same tensor and threads.
        element_bits: Size of an element [bits].
        device: Target.
        steps: What to execute; empty for a no-op.
        shared_bytes: Shared memory of one block [bytes].
        swizzling: Memory layout with its certificate; None without shared memory.
        least_shuffles: Lower bound of the shuffles of any plan within warps; None
            where elements change their warp.
        rejected: The other ways that were compared, with their costs [cycles].
        resident_warps: Warps of a multiprocessor that convert at the same time.
        packed: Whether words are there before and wanted after.
    """

    src: AffineLayout
    dst: AffineLayout
    element_bits: int
    device: Device
    steps: tuple[Step, ...]
    shared_bytes: int = 0
    swizzling: Swizzling | None = None
    least_shuffles: int | None = None
    rejected: tuple[tuple[str, float], ...] = ()
    resident_warps: int = RESIDENT_WARPS
    packed: bool = True

    @property
    def way(self) -> str:
        """The kinds of steps in one word each, e.g. ``"select, shuffle, select"``."""
        return way(self.steps)

    @property
    def counts(self) -> dict[str, int]:
        """Instruction class -> number for one thread; ``wavefronts`` of a warp."""
        return dict(work(self.steps, self.element_bits))

    @property
    def cost(self) -> float:
        """Cycles of a multiprocessor for one warp's share [cycles].

        What is computed from the thread alone is left out: it is not repeated.
        """
        return price(
            self.steps, self.element_bits, self.device, self.resident_warps, self.packed
        )

    @property
    def is_narrow(self) -> bool:
        """Whether several accesses move less than a word, and none a matrix.

        Then a block of PTX, which takes words, puts elements together only to take them
        apart again; the memory form does not.
        """
        moved = [s.instruction for s in self.steps if isinstance(s, Store | Load)]
        if any(instruction.is_matrix for instruction in moved):
            return False
        return any(i.vector_bits < WORD_BITS and i.count > 1 for i in moved)

    @property
    def programs(self) -> tuple[Program, ...]:
        """What a thread executes in each run of steps within a warp."""
        return tuple(
            lower(run_of_steps, self.element_bits)
            for run_of_steps in runs_within_warp(self.steps)
        )

    def simulate(self) -> Ids:
        """Run the plan on the ids of the elements.

        Returns:
            blocks x warps x lanes x registers: packed id of the element that each
            register ends up with.

        Raises:
            SimulationError: a rule of the hardware is broken.
        """
        return run(self.src, self.steps)

    def expected(self) -> Ids:
        """Return what ``simulate`` must return: the destination's element ids."""
        here = hardware_of(self.dst)
        return images(self.dst).reshape(
            1 << here.blocks, 1 << here.warps, 1 << here.lanes, 1 << here.registers
        )

    def explain(self) -> str:
        """Return the steps in words, with instructions, conflicts and memory."""
        return describe(
            self.steps,
            self.counts,
            self.device,
            shared_bytes=self.shared_bytes,
            swizzling=self.swizzling,
            least_shuffles=self.least_shuffles,
            rejected=self.rejected,
            cycles=self.cost,
        )

    def emit(
        self,
        form: str = "hardware",
        *,
        name: str = "convert",
        repeated: bool = True,
        tile: str = "",
        in_common: bool = True,
        renamed: bool = False,
    ) -> "Emission":
        """Return a Gluon function that carries out the plan.

        Args:
            form: ``"hardware"``: ``convert(x)`` on one dim of places, register lowest,
                then lane and warp, for any layouts; ``"tensor"``: ``convert(x,
                layout)`` from a tensor in ``src``, where Gluon has both layouts; or
                ``"memory"``: ``convert(x, layout, memory)``, by Gluon's own store and
                load through the certified layout, in memory that the caller allocates
                once, so that a loop needs fewer barriers.
            name: Name of the function.
            repeated: Whether it may run more than once in a kernel, so must wait
                before it stores to shared memory again.
            tile: Name of shared memory that conversions of a kernel have in common,
                declared by ``compiler.codegen.gluon.conversion.tile_function``;
                default: memory of its own.
            in_common: Whether other plans use that memory, too; then each waits for all
                warps before it stores.
            renamed: Whether another conversion of the kernel undoes the renaming of
                registers that this one begins or ends with, so that it costs nothing.

        What PTX declares comes beside the memory that Triton allocates, in multiples of
        1024 bytes, so that Triton's swizzled layouts stay in line. Triton raises a
        kernel's limit only if it allocates more than 48 KiB itself: a kernel that
        needs less of its own, but more with what is declared, is not launched. There
        take ``"memory"``, or allocate more than 48 KiB.

        Triton has no elements of 128 bits: there the function takes elements of 64
        bits with a last dim ``part`` of size 2, the lowest register bit of all places.

        Raises:
            UnsupportedLayoutError: other blocks' memory, more than 48 KiB of it,
                layouts that the form cannot express, or PTX for a target or a number
                of lanes that has none.
        """
        from compiler.codegen.gluon.emission import emit  # the door to Triton

        if self.element_bits == WIDEST:
            return plan(
                in_parts(self.src),
                in_parts(self.dst),
                self.element_bits // 2,
                self.device.name,
                shared_bytes=max(self.shared_bytes, self.device.conversion_bytes),
            ).emit(
                form,
                name=name,
                repeated=repeated,
                tile=tile,
                in_common=in_common,
                renamed=renamed,
            )
        emission = emit(
            self.steps,
            self.src,
            self.dst,
            self.element_bits,
            form=form,
            name=name,
            shared_bytes=self.shared_bytes,
            repeated=repeated,
            tile=tile,
            in_common=in_common,
            renamed=renamed,
            memory=None if self.swizzling is None else self.swizzling.memory,
            banks=self.device.banks,
        )
        lanes = hardware_of(self.src).lanes
        if "inline_asm" in emission.text and (
            not self.device.name.startswith("sm_") or lanes != self.device.lane_bits
        ):
            raise UnsupportedLayoutError(
                "the form is PTX for whole warps of 32 lanes, got a plan for "
                f"{self.device.name} with {1 << lanes} lanes; plan for sm_80, sm_90 or "
                "sm_100"
            )
        return emission

    def prove(self) -> Verdict:
        """Prove for all elements that the plan does what it is for."""
        return prove(self.src, self.steps, self.dst, self.element_bits)


def plan(
    src: Layout,
    dst: Layout,
    element_bits: int,
    target: str = "sm_90",
    *,
    shared_bytes: int | None = None,
    resident_warps: int = RESIDENT_WARPS,
    packed: bool = True,
) -> Plan:
    """Return the cheapest plan to convert ``src`` to ``dst``.

    Law: ``plan(...).prove()`` is ``Proved`` and ``simulate()`` equals ``expected()``.

    Args:
        src: Distributed layout, linear or affine; in-dims among register, lane, warp
            and block.
        dst: Distributed layout of the same tensor on the same threads.
        element_bits: Size of an element, 8 to 128 [bits].
        target: ``"sm_80"``, ``"sm_90"``, ``"sm_100"`` or ``"gfx942"``.
        shared_bytes: Memory that the plan takes before it rather repeats; default:
            the target's [bytes].
        resident_warps: Warps of a multiprocessor that convert at the same time; the
            fewer, the more waiting counts.
        packed: Whether the kernel has neighbouring elements of less than a word in one
            register before, and wants them so after. Values that a loop carries, for
            instance, are alone in Triton; then any two make a word at no extra cost.

    Raises:
        OutOfRangeError: ``element_bits`` isn't one of 8, 16, 32, 64, 128,
            ``shared_bytes`` is negative, or ``resident_warps`` is not positive.
        UnsupportedLayoutError: a layout isn't distributed, or the target is unknown.
        DimMismatchError: the tensors, or the numbers of lanes, warps or blocks, differ.
        NotSolvableError: the source lacks an element.

    Example:
        >>> from algebra import LinearLayout
        >>> src = LinearLayout.from_bases(
        ...     {"register": [[1]], "lane": [[2], [4], [8], [16], [32]]}, ["dim0"])
        >>> dst = LinearLayout.from_bases(
        ...     {"register": [[2]], "lane": [[1], [4], [8], [16], [32]]}, ["dim0"])
        >>> found = plan(src, dst, 32)
        >>> found.way, found.counts["shfl"]
        ('select, shuffle, select', 1)

    Source: Triton ``minimalCvtLayout``, ``getWarpLayoutConvertDecomposition``,
        ``optimalSwizzling``.
    """
    return plans(
        src,
        dst,
        element_bits,
        target,
        shared_bytes=shared_bytes,
        resident_warps=resident_warps,
        packed=packed,
    )[0]


def plans(
    src: Layout,
    dst: Layout,
    element_bits: int,
    target: str = "sm_90",
    *,
    shared_bytes: int | None = None,
    resident_warps: int = RESIDENT_WARPS,
    packed: bool = True,
    family: str = COMPARED,
) -> list[Plan]:
    """Return all ways that are compared, the cheapest first.

    Law: each of them is ``Proved``; the first is ``plan(...)``.

    With another ``family`` they are instead those that are worth timing, too, though
    the cost model sees no gain in them; there may be none: ``"parted"`` ones store and
    load one part of the tile after another within warps; ``"even"`` ones store and load
    by the vectors that both sides have in common, where one could take wider ones. The
    other arguments are those of ``plan``.

    Raises:
        OutOfRangeError: there is no such family; or as ``plan``, as all others.
    """
    if family not in FAMILIES:
        raise OutOfRangeError(
            f"family must be one of {list(FAMILIES)}, got family={family!r}",
            family=family,
        )
    if element_bits not in ELEMENT_BITS:
        raise OutOfRangeError(
            f"an element must have one of {list(ELEMENT_BITS)} bits, got "
            f"element_bits={element_bits!r}",
            element_bits=element_bits,
        )
    _check_at_least(0, "shared_bytes", shared_bytes)
    _check_at_least(1, "resident_warps", resident_warps)
    goal = device(target)
    here = distributed(src, "src")
    there = check_same_tensor(here, distributed(dst, "dst"))
    limit = goal.conversion_bytes if shared_bytes is None else shared_bytes
    source = nearest_source(here, there)
    if _registers_only(source):
        if family != COMPARED:
            return []
        renamed = () if here == there else (Registers(source),)
        return [
            Plan(
                here,
                there,
                element_bits,
                goal,
                renamed,
                resident_warps=resident_warps,
                packed=packed,
            )
        ]
    drop, near = without_copies(here)
    repeat, far = with_copies(there)
    full = _within_warps(near, far)
    found: list[SharedPlan] = []
    if family == "parted":
        found += parted_plans(near, far, element_bits, goal)
    elif family == "even":
        found += even_plans(near, far, element_bits, goal, limit)
    else:
        found += shared_plans(near, far, element_bits, goal, limit)
        if full is None:
            found += exchange_plans(near, far, element_bits, goal, limit)
        else:
            for steps in warp_plans(full, element_bits):
                found.append(SharedPlan(steps, None, 0))
    costs = [
        price(one.steps, element_bits, goal, resident_warps, packed) for one in found
    ]
    # words that matrices leave lie apart, so of equal ways the plain one
    ranks = []
    for one, cycles in zip(found, costs, strict=True):
        number = estimate(one.steps, element_bits, packed=packed)
        matrices = "matrix" in " ".join(number)
        ranks.append((cycles, matrices, instructions(number)))
    order = sorted(range(len(found)), key=ranks.__getitem__)
    others = tuple((way(found[i].steps), costs[i]) for i in order)
    least = None if full is None else least_shuffles(full, element_bits)
    return [
        Plan(
            here,
            there,
            element_bits,
            goal,
            (*drop, *found[i].steps, *repeat),
            found[i].shared_bytes,
            found[i].swizzling,
            least,
            (*others[:place], *others[place + 1 :]),
            resident_warps,
            packed,
        )
        for place, i in enumerate(order)
    ]


def _check_at_least(least: int, name: str, number: int | None) -> None:
    if number is not None and not number >= least:
        raise OutOfRangeError(
            f"{name} must be at least {least}, got {name}={number!r}; leave it out for "
            "the default"
        )


def in_parts(layout: AffineLayout) -> AffineLayout:
    """Return a layout of the halves of its elements: one more dim and register bit.

    Example:
        >>> layout = LinearLayout.from_bases({"lane": [[1], [2]]}, ["dim0"])
        >>> in_parts(AffineLayout(layout)).linear.bases["register"]
        ((0, 1),)
    """
    halves = LinearLayout.identity_1d(2, REGISTER, PART)
    whole = layout.linear
    product = (halves * whole).transpose_outs([*whole.out_names, PART])
    return AffineLayout(product, {**layout.offset, PART: 0})


def way(steps: Sequence[Step]) -> str:
    """Name the kinds of steps, each run once.

    Example:
        >>> way([])
        'no-op'
    """
    names: list[str] = []
    for step in steps:
        name = type(step).__name__.lower()
        if name not in names[-3:] or isinstance(step, Select):
            names.append(name)
    return ", ".join(names) or "no-op"


def _registers_only(source: AffineLayout) -> bool:
    """Whether each thread reads its own registers, the same in all threads."""
    new, old = hardware_of(source), Hardware(*source.linear.out_bits)
    if source.packed_offset & ~old.register_mask:
        return False
    for bit, column in enumerate(source.linear.columns):
        if bit < new.registers and column & ~old.register_mask:
            return False
        if bit >= new.registers and column != 1 << bit - new.registers + old.registers:
            return False
    return True


def _within_warps(src: AffineLayout, dst: AffineLayout) -> Blocks | None:
    """Return the blocks of a source map that shuffles can do, if there is one."""
    blocks = within_warp(nearest_source(src, dst))
    return None if blocks is None else with_full_rank(blocks, src)
