import pytest

from algebra.verdict import Proved, Refuted
from compiler.convert.prove import prove
from verify.mutants import CONVERSION_MUTANTS, Mutant, run

COUNT = 12


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
