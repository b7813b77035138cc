import pytest

from verify.mutants import run
from verify.mutants.operations import OPERATION_MUTANTS


@pytest.mark.parametrize("mutant", OPERATION_MUTANTS, ids=lambda m: m.name)
def test_every_fault_is_seen_and_nothing_else(mutant: object) -> None:
    trial = run(mutant, seed=1, count=200)  # type: ignore[arg-type]  # parametrize
    assert trial.survived == ()
    assert trial.false_alarms == ()
    assert len(trial.refuted) + trial.equivalent == 200
    assert len(trial.refuted) >= 5
    for element in trial.refuted:
        assert {"register", "lane", "warp", "expected", "got"} <= set(element)
