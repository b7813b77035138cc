from random import Random

import pytest

from algebra.verdict import Proved, Refuted, Unknown, Verdict
from verify.mutants import Mutant, run


def mutant(wrong: int, verdict_of_wrong: Verdict, alarm: bool = False) -> Mutant:
    def judge(configuration: int, result: int) -> Verdict:
        if result == configuration:
            return Refuted("honest") if alarm else Proved()
        return verdict_of_wrong

    return Mutant(
        number=0,
        name="adds_a_constant",
        precedent="none",
        configure=lambda rng: rng.choice([None, 7]),
        right=lambda x: x,
        wrong=lambda x: x + wrong,
        judge=judge,
    )


def test_the_three_outcomes_are_counted_apart() -> None:
    caught = run(mutant(1, Refuted("x=7")), count=5)
    assert caught.refuted == ("x=7",) * 5
    assert (caught.equivalent, caught.survived, caught.false_alarms) == (0, (), ())
    assert run(mutant(0, Proved()), count=5).equivalent == 5
    missed = run(mutant(1, Unknown("time-out")), count=5)
    assert missed.survived == ((7, Unknown("time-out")),) * 5
    noisy = run(mutant(0, Proved(), alarm=True), count=5)
    assert noisy.false_alarms == ((7, Refuted("honest")),) * 5


def test_configurations_repeat_with_the_seed() -> None:
    chosen = mutant(1, Proved())
    assert list(chosen.configurations(3, 4)) == list(chosen.configurations(3, 4))


def test_a_fault_that_never_applies_is_an_error() -> None:
    never = Mutant(0, "never", "", lambda _: None, int, int, lambda *_: Proved())
    with pytest.raises(RuntimeError, match="applied to 0 of 2"):
        list(never.configurations(0, 2))
    assert never.configure(Random(0)) is None
