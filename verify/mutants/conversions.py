"""Faults of conversions, as changes of a plan's steps: kinds 18 to 23, and 48.

A plan is data, so a fault of code generation is a change of that data. Two judges that
share nothing decide it: the proof by F2 algebra and the simulation on element ids.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from random import Random
from typing import TypeVar

import numpy as np

from algebra.affine import AffineLayout
from algebra.gauss import Echelon
from algebra.verdict import Refuted, Verdict
from compiler.convert import Plan, plans
from compiler.convert.hardware import hardware_of, moved
from compiler.convert.prove import prove
from compiler.convert.simulate import run as simulate
from compiler.convert.steps import Barrier, Load, Shuffle, Step, Store
from compiler.errors import SimulationError
from verify.oracle.random_conversions import random_pairs

from .mutant import Mutant

Steps = tuple[Step, ...]
POOL = 300
WIDEST_VECTOR = 128
SHARED = (Store, Load, Barrier)


@dataclass(frozen=True, slots=True)
class Planned:
    """A conversion with one of its plans.

    Attributes:
        plan: The plan.
    """

    plan: Plan


def judge(planned: Planned, steps: Steps) -> Verdict:
    """Decide whether steps are right: both judges must say so."""
    plan = planned.plan
    proof = prove(plan.src, steps, plan.dst, plan.element_bits)
    try:
        found = simulate(plan.src, steps)
    except SimulationError as error:
        return Refuted(str(error))
    wanted = plan.expected()
    if found.shape != wanted.shape:
        return Refuted(f"a file of {found.shape}, not of {wanted.shape}")
    wrong = np.argwhere(found != wanted)
    if wrong.size:
        block, warp, lane, register = (int(i) for i in wrong[0])
        return Refuted(
            {
                "register": register,
                "lane": lane,
                "warp": warp,
                "block": block,
                "expected": int(wanted[block, warp, lane, register]),
                "got": int(found[block, warp, lane, register]),
            }
        )
    return proof


def leaves_the_warp(steps: Steps) -> Steps | None:
    """Let the lane that is read from depend on a bit above the lanes."""
    for position, step in _of_kind(steps, Shuffle):
        here = hardware_of(step.source)
        if not here.warps:
            continue
        columns = list(step.source.linear.columns)
        columns[here.registers] ^= 1 << here.registers + here.lanes
        source = moved(here, here, columns, step.source.packed_offset)
        return _with(steps, position, replace(step, source=source))
    return None


def wrong_lane_mask(steps: Steps) -> Steps | None:
    """Cut the top bit off the lane that is read from."""
    for position, step in _of_kind(steps, Shuffle):
        here = hardware_of(step.source)
        top = 1 << here.registers + here.lanes - 1
        columns = [column & ~top for column in step.source.linear.columns]
        offset = step.source.packed_offset & ~top
        source = moved(here, here, columns, offset)
        return _with(steps, position, replace(step, source=source))
    return None


def a_store_is_left_out(steps: Steps) -> Steps | None:
    """Read what nobody has written: the first store is for a repetition too many."""
    for position, step in _of_kind(steps, Store):
        never = 1 << step.address.linear.out_bits[1]
        return _with(steps, position, replace(step, repetition=never))
    return None


def half_of_a_load(steps: Steps) -> Steps | None:
    """Load the lower half of the registers twice."""
    loads = dict(_of_kind(steps, Load))
    changed = list(steps)
    for position, step in loads.items():
        here = hardware_of(step.address)
        offset_bits = step.address.linear.out_bits[0]
        columns = list(step.address.linear.columns)
        bits = [b for b in range(here.registers) if not columns[b] >> offset_bits]
        if not bits:
            return None
        columns[bits[-1]] = 0
        changed[position] = replace(step, address=_with_columns(step.address, columns))
    return tuple(changed) if loads else None


def the_source_is_used(steps: Steps) -> Steps | None:
    """Leave out the whole conversion."""
    return ()


def a_vector_too_wide(steps: Steps) -> Steps | None:
    """Move twice as many registers at once, where they don't lie side by side."""
    for position, step in enumerate(steps):
        if not isinstance(step, Store | Load) or step.instruction.is_matrix:
            continue
        one = step.instruction
        if 2 * one.vector_bits > WIDEST_VECTOR or _adjoins(step.address, one.vector):
            continue
        wide = replace(
            one,
            vector=2 * one.vector,
            vector_bits=2 * one.vector_bits,
            count=max(1, one.count // 2),
        )
        return _with(steps, position, replace(step, instruction=wide))
    return None


def copies_store_too(steps: Steps) -> Steps | None:
    """Let every thread store, also those that hold copies."""
    changed = tuple(
        replace(step, silent=0) if isinstance(step, Store) else step for step in steps
    )
    return None if changed == steps else changed


def silent_warps(plan: Plan) -> int:
    """Return the bits of a source place that say that its warp holds copies only.

    Law: the plan gives the same if places with one of them set hold anything else, as
    such warps do not store. So what they hold may be spoilt, to see whether they do;
    as long as copies are the same, it makes no difference who stores them.
    """
    for _, step in _of_kind(plan.steps, Store):
        here, first = hardware_of(step.address), hardware_of(plan.src)
        warps = step.silent >> here.registers + here.lanes
        inside = warps & (1 << here.warps) - 1
        return inside << first.registers + first.lanes
    return 0


def a_barrier_is_left_out(steps: Steps) -> Steps | None:
    """Leave out the last barrier."""
    for position, _ in reversed(list(_of_kind(steps, Barrier))):
        return steps[:position] + steps[position + 1 :]
    return None


def a_barrier_is_too_narrow(steps: Steps) -> Steps | None:
    """Let only the warp wait where the block has to."""
    for position, step in _of_kind(steps, Barrier):
        if step.scope != "warp":
            return _with(steps, position, Barrier("warp"))
    return None


T = TypeVar("T", bound=Step)
Change = Callable[[Steps], Steps | None]

FAULTS: tuple[tuple[int, str, str, Change], ...] = (
    (18, "shuffle_leaves_the_warp", "intel #692", leaves_the_warp),
    (18, "shuffle_has_a_wrong_lane_mask", "triton PR #11295", wrong_lane_mask),
    (19, "unwritten_memory_is_read", "triton #2483", a_store_is_left_out),
    (20, "load_is_smaller_than_the_tile", "triton PR #4774", half_of_a_load),
    (21, "source_is_used_for_the_result", "triton PR #2667", the_source_is_used),
    (22, "vector_is_wider_than_what_adjoins", "triton #11544", a_vector_too_wide),
    (23, "copies_are_not_silenced", "triton #11614", copies_store_too),
    (48, "barrier_is_left_out", "triton #11326", a_barrier_is_left_out),
    (48, "barrier_is_too_narrow", "triton PR #11411", a_barrier_is_too_narrow),
)
"""Number, name, precedent and what is changed."""


@cache
def _pool() -> tuple[Plan, ...]:
    """Return all plans of some random pairs."""
    return tuple(
        plan
        for pair in random_pairs(31, POOL)
        for plan in plans(pair.src, pair.dst, pair.element_bits)
    )


def _configure(change: Change) -> Callable[[Random], Planned | None]:
    def configure(rng: Random) -> Planned | None:
        plan = rng.choice(_pool())
        changed = change(plan.steps)
        if changed is None or changed == plan.steps:
            return None
        # with copies in the source another place may do as well
        injective = len(plan.src.linear.columns) == sum(plan.src.linear.out_bits)
        needs_copies = change is copies_store_too
        same = plan.src.linear.in_bits == plan.dst.linear.in_bits
        if change is the_source_is_used and not same:
            return None
        return Planned(plan) if injective or needs_copies else None

    return configure


def _wrong(change: Change) -> Callable[[Planned], Steps]:
    def wrong(planned: Planned) -> Steps:
        changed = change(planned.plan.steps)
        assert changed is not None, "configurations are those that it applies to"
        return changed

    return wrong


CONVERSION_MUTANTS = tuple(
    Mutant(
        number,
        name,
        precedent,
        _configure(change),
        lambda planned: planned.plan.steps,
        _wrong(change),
        judge,
    )
    for number, name, precedent, change in FAULTS
)
"""Faults of conversions: kinds 18 to 23 of code generation, 48 of synchronisation."""


def _of_kind(steps: Sequence[Step], kind: type[T]) -> Iterator[tuple[int, T]]:
    for position, step in enumerate(steps):
        if isinstance(step, kind):
            yield position, step


def _adjoins(address: AffineLayout, offset: int) -> bool:
    """Return whether registers alone select this offset bit, in every thread."""
    columns = address.linear.columns
    registers = hardware_of(address).registers
    fixed = not any(column & offset for column in columns[registers:])
    return fixed and not Echelon(columns[:registers]).reduce(offset)[0]


def _with(steps: Steps, position: int, step: Step) -> Steps:
    return (*steps[:position], step, *steps[position + 1 :])


def _with_columns(address: AffineLayout, columns: Sequence[int]) -> AffineLayout:
    linear = address.linear
    made = type(linear).from_columns(
        dict(zip(linear.in_names, linear.in_bits, strict=True)),
        dict(zip(linear.out_names, linear.out_bits, strict=True)),
        columns,
    )
    return AffineLayout(made, address.offset)
