import numpy as np
import pytest

from algebra.verdict import Proved, Refuted
from compiler.convert.hardware import hardware_of
from compiler.convert.prove import prove
from compiler.convert.simulate import images
from compiler.convert.simulate import run as simulate
from verify.mutants import CONVERSION_MUTANTS, Mutant, run
from verify.mutants.conversions import silent_warps

COUNT = 6


def test_every_kind_of_conversion_fault_has_a_mutant() -> None:
    assert {mutant.number for mutant in CONVERSION_MUTANTS} == {*range(18, 24), 48}
    names = [mutant.name for mutant in CONVERSION_MUTANTS]
    assert len(set(names)) == len(names)
    assert all(mutant.precedent for mutant in CONVERSION_MUTANTS)


@pytest.mark.parametrize("mutant", CONVERSION_MUTANTS, ids=lambda m: m.name)
def test_every_fault_is_refuted(mutant: Mutant) -> None:
    trial = run(mutant, seed=3, count=COUNT)
    assert len(trial.refuted) == COUNT
    assert not trial.survived and not trial.false_alarms


@pytest.mark.parametrize("mutant", CONVERSION_MUTANTS, ids=lambda m: m.name)
def test_the_proof_alone_refutes_them_too(mutant: Mutant) -> None:
    for planned in mutant.configurations(4, COUNT):
        plan = planned.plan
        honest = prove(plan.src, plan.steps, plan.dst, plan.element_bits)
        assert isinstance(honest, Proved)
        wrong = mutant.wrong(planned)
        verdict = prove(plan.src, wrong, plan.dst, plan.element_bits)
        assert isinstance(verdict, Refuted), (plan.way, mutant.name)


def test_nobody_listens_to_silent_warps() -> None:
    """What they hold may be spoilt; what the others hold may not."""
    (mutant,) = [m for m in CONVERSION_MUTANTS if m.name == "copies_are_not_silenced"]
    spoilt = 0
    for planned in mutant.configurations(5, COUNT):
        plan = planned.plan
        silent = silent_warps(plan)
        held = images(plan.src)
        other = held + (1 << sum(plan.src.linear.out_bits))
        places = np.arange(held.size)
        wrong = places & silent != 0
        assert not (silent & ((1 << hardware_of(plan.src).registers + 5) - 1))
        spoilt += bool(wrong.any())
        found = simulate(plan.src, plan.steps, held=np.where(wrong, other, held))
        assert (found == plan.expected()).all()
        heard = simulate(plan.src, plan.steps, held=np.where(wrong, held, other))
        assert (heard != plan.expected()).any()
    assert spoilt


def test_a_store_that_is_left_out_keeps_its_place() -> None:
    """So the steps can be emitted, and run on a device."""
    (mutant,) = [m for m in CONVERSION_MUTANTS if m.name == "unwritten_memory_is_read"]
    for planned in mutant.configurations(6, 3):
        plan = planned.plan
        kinds = [
            [type(step) for step in steps]
            for steps in (plan.steps, mutant.wrong(planned))
        ]
        assert kinds[0] == kinds[1]
