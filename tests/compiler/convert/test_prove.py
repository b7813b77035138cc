from collections.abc import Callable
from dataclasses import replace

import pytest

from algebra import LinearLayout, Proved, Refuted
from compiler.convert import Load, Plan, Select, Shuffle, Store, plan
from compiler.convert.hardware import hardware_of, moved
from compiler.convert.prove import prove
from compiler.convert.simulate import run
from compiler.convert.steps import Step
from compiler.errors import SimulationError

Pair = tuple[LinearLayout, LinearLayout, int]


def refuted(found: Plan, steps: tuple[Step, ...]) -> str:
    verdict = prove(found.src, steps, found.dst, found.element_bits)
    assert isinstance(verdict, Refuted)
    return str(verdict.counterexample)


def test_facts(pairs: dict[str, Pair]) -> None:
    verdict = plan(*pairs["repetitions"]).prove()
    assert isinstance(verdict, Proved)
    assert dict(verdict.facts) == {"places": 1 << 16, "steps": 7}


def test_a_swapped_column_is_found(pairs: dict[str, Pair]) -> None:
    found = plan(*pairs["lanes only"])
    (step,) = found.steps
    assert isinstance(step, Shuffle)
    here = hardware_of(step.source)
    columns = list(step.source.linear.columns)
    columns[2], columns[3] = columns[3], columns[2]
    wrong = Shuffle(moved(here, here, columns), 0)
    assert "holds element" in refuted(found, (wrong,))


def test_lanes_of_another_register(pairs: dict[str, Pair]) -> None:
    found = plan(*pairs["lanes only"])
    (step,) = found.steps
    assert isinstance(step, Shuffle)
    here = hardware_of(step.source)
    columns = [*step.source.linear.columns[:-1], step.source.linear.columns[-1] | 1]
    assert "another register" in refuted(
        found, (Shuffle(moved(here, here, columns), 0),)
    )
    assert "leaves its thread" in refuted(found, (Select(step.source),))


def test_overfilled_words(pairs: dict[str, Pair]) -> None:
    found = plan(*pairs["lanes only"])
    (step,) = found.steps
    assert isinstance(step, Shuffle)
    steps = (replace(step, word_registers=1),)
    assert "overfills" in refuted(found, steps)


@pytest.mark.parametrize("change", ["twice", "unread", "another", "early", "half"])
def test_order_of_stores_and_loads(pairs: dict[str, Pair], change: str) -> None:
    found = plan(*pairs["repetitions"])
    store, barrier, load, between, second, *_, last = found.steps
    assert isinstance(store, Store) and isinstance(load, Load)
    assert isinstance(second, Store)
    steps: dict[str, tuple[tuple[Step, ...], str]] = {
        "twice": ((store, barrier, load, between, store), "writes twice"),
        "unread": ((store, barrier, second), "not read yet"),
        "another": ((store, barrier, last), "not written"),
        "early": ((load,), "not written"),
        "half": ((store, barrier, load), "repetition 1 is never loaded"),
    }
    wrong, text = steps[change]
    assert text in refuted(found, wrong)


def test_stores_without_loads(pairs: dict[str, Pair]) -> None:
    found = plan(*pairs["matrices"])
    assert "never loaded" in refuted(found, found.steps[:1])


def test_memory_is_free_only_after_a_barrier(
    make_flat: Callable[..., LinearLayout],
) -> None:
    """There and back again: the second store needs a barrier after the first load."""
    layout, other = make_flat([1], [2], [4]), make_flat([4], [2], [1])
    there, back = plan(layout, other, 32), plan(other, layout, 32)
    barrier = there.steps[1]
    steps = (*there.steps, *back.steps)
    assert isinstance(prove(there.src, steps, there.src, 32), Refuted)
    with pytest.raises(SimulationError, match="barrier is missing"):
        run(there.src, steps)
    steps = (*there.steps, barrier, *back.steps)
    assert isinstance(prove(there.src, steps, there.src, 32), Proved)
    assert (run(there.src, steps) == back.expected()).all()
