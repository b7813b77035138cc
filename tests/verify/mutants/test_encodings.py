import pytest

from algebra.encodings import Blocked
from algebra.verdict import Proved, Refuted
from verify.mutants import run
from verify.mutants.encodings import ENCODING_MUTANTS, Given, judged, with_columns


@pytest.mark.parametrize("mutant", ENCODING_MUTANTS, ids=lambda m: m.name)
def test_every_fault_is_seen_and_nothing_else(mutant: object) -> None:
    trial = run(mutant, seed=1, count=60)  # type: ignore[arg-type]  # parametrize
    assert trial.survived == ()
    assert trial.false_alarms == ()
    assert len(trial.refuted) + trial.equivalent == 60
    assert len(trial.refuted) >= 5
    for element in trial.refuted:
        assert "linear" in element and "legacy" in element
        assert "register" in element or "offset" in element


def test_one_swapped_basis_is_seen() -> None:
    encoding = Blocked(
        size_per_thread=(1, 4),
        threads_per_warp=(4, 8),
        warps_per_cta=(2, 1),
        order=(1, 0),
    )
    given = Given(encoding, (64, 64))
    lanes = given.layout.in_columns("lane")
    swapped = with_columns(given.layout, lane=(lanes[1], lanes[0], *lanes[2:]))
    assert isinstance(judged(given, given.layout), Proved)
    verdict = judged(given, swapped)
    assert isinstance(verdict, Refuted)
    at = {name: verdict.counterexample[name] for name in given.layout.in_names}
    assert swapped.apply(at) == verdict.counterexample["linear"]
    assert given.layout.apply(at) == verdict.counterexample["legacy"]
