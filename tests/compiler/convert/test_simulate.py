"""Each rule of the hardware is broken once, and both judges notice."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from algebra import LinearLayout, Refuted
from compiler.convert import Barrier, Load, Select, Shuffle, Store, plan
from compiler.convert.hardware import hardware_of, moved
from compiler.convert.plan import Plan
from compiler.convert.prove import prove
from compiler.convert.simulate import images, run
from compiler.convert.steps import Registers, Step
from compiler.errors import SimulationError

Pair = tuple[LinearLayout, LinearLayout, int]
Steps = tuple[Step, ...]


def other_lane(step: Shuffle) -> Shuffle:
    """Read from one warp further."""
    here = hardware_of(step.source)
    linear = step.source.linear
    outside = 1 << here.registers + here.lanes
    return Shuffle(
        moved(here, here, linear.columns, step.source.packed_offset ^ outside),
        step.word_registers,
    )


def shifted(step: Load) -> Load:
    """Read one element further."""
    address = step.address
    offset = {**address.offset, "offset": address.offset["offset"] ^ 1}
    return replace(step, address=type(address)(address.linear, offset))


def edited(steps: Steps, kind: type, change: Callable[..., Step | None]) -> Steps:
    """Change the first step of a kind, or drop it."""
    result: list[Step] = []
    done = False
    for step in steps:
        if isinstance(step, kind) and not done:
            done = True
            changed = change(step)
            if changed is not None:
                result.append(changed)
            continue
        result.append(step)
    assert done
    return tuple(result)


def narrower(step: Barrier) -> Barrier:
    return Barrier("warp")


def after_load(steps: Steps) -> Steps:
    """Drop the barrier between a load and the store after it."""
    at = next(i for i, step in enumerate(steps) if isinstance(step, Load)) + 1
    assert isinstance(steps[at], Barrier)
    return steps[:at] + steps[at + 1 :]


def all_speak(step: Store) -> Store:
    return replace(step, silent=0)


MUTANTS: dict[str, tuple[str, Callable[[Steps], Steps], str]] = {
    "shuffle leaves the warp": (
        "warps",
        lambda steps: edited(steps, Shuffle, other_lane),
        "leaves its warp",
    ),
    "barrier dropped": (
        "matrices",
        lambda steps: edited(steps, Barrier, lambda _: None),
        "before a barrier",
    ),
    "barrier of the warp only": (
        "matrices",
        lambda steps: edited(steps, Barrier, narrower),
        "before a barrier",
    ),
    "barrier after a load dropped": ("repetitions", after_load, "barrier"),
    "store dropped": (
        "matrices",
        lambda steps: edited(steps, Store, lambda _: None),
        "not written|beyond what is stored",
    ),
    "load dropped": (
        "repetitions",
        lambda steps: edited(steps, Load, lambda _: None),
        "never loaded",
    ),
    "everyone stores": (
        "shared copies",
        lambda steps: edited(steps, Store, all_speak),
        "two places write",
    ),
    "word split": (
        "fp8 P to A",
        lambda steps: edited(
            steps, Shuffle, lambda s: replace(s, word_registers=s.word_registers + 1)
        ),
        "word|several lanes",
    ),
}


@pytest.fixture(scope="module")
def plans(
    pairs: dict[str, Pair], make_flat: Callable[..., LinearLayout]
) -> dict[str, Plan]:
    lanes = [2, 4, 8, 16, 32]
    extra = {
        "warps": (
            make_flat([1], lanes, [64]),
            make_flat([2], [1, *lanes[1:]], [64]),
            32,
        ),
        "shared copies": (
            make_flat([1], lanes, [0, 64]),
            make_flat([64], lanes, [0, 1]),
            32,
        ),
    }
    return {name: plan(*pair) for name, pair in {**pairs, **extra}.items()}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants(plans: dict[str, Plan], name: str) -> None:
    base, change, text = MUTANTS[name]
    found = plans[base]
    steps = change(found.steps)
    verdict = prove(found.src, steps, found.dst, found.element_bits)
    assert isinstance(verdict, Refuted)
    with pytest.raises(SimulationError, match=text):
        run(found.src, steps)


def test_wrong_element(plans: dict[str, Plan]) -> None:
    found = plans["matrices"]
    steps = edited(found.steps, Load, shifted)
    assert (run(found.src, steps) != found.expected()).any()
    verdict = prove(found.src, steps, found.dst, found.element_bits)
    assert isinstance(verdict, Refuted)
    assert "holds element" in verdict.counterexample


def test_source_instead_of_destination(plans: dict[str, Plan]) -> None:
    found = plans["lanes only"]
    assert (run(found.src, ()) != found.expected()).any()
    assert isinstance(prove(found.src, (), found.dst, 32), Refuted)


def test_registers_must_not_differ_by_thread(
    make_flat: Callable[..., LinearLayout],
) -> None:
    layout = plan(make_flat([1], [2]), make_flat([1], [2]), 32).src
    here = hardware_of(layout)
    steps = (Registers(moved(here, here, [1, 3])),)
    with pytest.raises(SimulationError, match="differ by thread"):
        run(layout, steps)
    assert isinstance(prove(layout, steps, layout, 32), Refuted)
    with pytest.raises(SimulationError, match="leaves its thread"):
        run(layout, (Select(moved(here, here, [1, 0])),))


def test_images_are_those_of_the_layout(pairs: dict[str, Pair]) -> None:
    found = plan(*pairs["matrices"])
    values = images(found.dst)
    assert values[5] == found.dst.apply_index(5)
    assert len(set(values.tolist())) == values.size
