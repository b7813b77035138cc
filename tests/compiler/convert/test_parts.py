from dataclasses import replace

import pytest
from hypothesis import given, settings

from algebra import LinearLayout, Proved, Refuted
from algebra.bits import parity
from compiler.convert import Barrier, Load, Store, plan, plans
from compiler.convert.hardware import distributed, hardware_of
from compiler.convert.parts import functionals
from verify.strategies import ConversionCase, conversions

NAMES = {"register": 3, "lane": 5, "warp": 0}
SRC = LinearLayout.from_columns(NAMES, {"dim0": 8}, [128, 4, 1, 64, 8, 16, 32, 2])
DST = LinearLayout.from_columns(NAMES, {"dim0": 8}, [64, 4, 8, 128, 16, 32, 1, 2])


def kinds_of_steps(matrices: bool) -> list[tuple[str, ...]]:
    """Return what each way in parts stores and loads by."""
    found = []
    for one in plans(SRC, DST, 32, family="parted"):
        moved = [s.instruction for s in one.steps if isinstance(s, Store | Load)]
        if any(i.is_matrix for i in moved) == matrices:
            found.append(tuple(i.name for i in moved))
    return found


@pytest.mark.parametrize("matrices", [False, True])
def test_two_parts_are_stored_and_loaded_in_turn(matrices: bool) -> None:
    ways = kinds_of_steps(matrices)
    assert ways
    for names in ways:
        assert names[:2] == names[2:] and len(names) == 4
        assert names[0].startswith("st") and names[1].startswith("ld")


def test_parts_take_half_of_the_memory_and_as_many_wavefronts() -> None:
    whole = min(p.counts["wavefronts"] for p in plans(SRC, DST, 32) if p.shared_bytes)
    for one in plans(SRC, DST, 32, family="parted"):
        assert one.shared_bytes == 4 * 256 // 2
        assert one.counts["wavefronts"] == whole
        assert one.swizzling is not None
        assert isinstance(one.swizzling.certificate.check(), Proved)


def test_what_leaves_its_warp_has_no_parts() -> None:
    names = {"register": 2, "lane": 5, "warp": 1}
    src = LinearLayout.from_columns(names, {"dim0": 8}, [1 << i for i in range(8)])
    columns = [1, 128, *src.columns[2:7], 2]
    dst = LinearLayout.from_columns(names, {"dim0": 8}, columns)
    assert not plans(src, dst, 32, family="parted")
    assert not plans(src, src, 32, family="parted")


@settings(max_examples=25, deadline=None)
@given(conversions())
def test_ways_in_parts_are_proved_and_simulated(case: ConversionCase) -> None:
    src, dst = distributed(case.src, "src"), distributed(case.dst, "dst")
    for functional in functionals(src, dst):
        for side in (src, dst):
            columns = side.linear.columns
            ones = [parity(column & functional) for column in columns]
            registers = hardware_of(side).registers
            assert sum(ones) == sum(ones[:registers]) == 1
    for one in plans(case.src, case.dst, case.element_bits, family="parted")[:3]:
        assert isinstance(one.prove(), Proved)
        assert bool((one.simulate() == one.expected()).all())


def test_a_part_that_is_left_out_is_refuted() -> None:
    one = plans(SRC, DST, 32, family="parted")[0]
    loads = [place for place, step in enumerate(one.steps) if isinstance(step, Load)]
    steps = [step for place, step in enumerate(one.steps) if place != loads[-1]]
    assert isinstance(replace(one, steps=tuple(steps)).prove(), Refuted)


def test_parts_without_a_barrier_between_are_refuted() -> None:
    one = plans(SRC, DST, 32, family="parted")[0]
    stores = [place for place, step in enumerate(one.steps) if isinstance(step, Store)]
    between = stores[1] - 1
    assert isinstance(one.steps[between], Barrier)
    steps = [step for place, step in enumerate(one.steps) if place != between]
    assert isinstance(replace(one, steps=tuple(steps)).prove(), Refuted)


def test_a_plan_alone_is_never_in_parts() -> None:
    loads = [step for step in plan(SRC, DST, 32).steps if isinstance(step, Load)]
    assert len(loads) <= 1
