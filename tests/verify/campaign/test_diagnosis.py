"""The stage at fault is the first that fails."""

from collections.abc import Callable
from typing import Any

from verify.campaign.case import Case
from verify.campaign.diagnosis import STAGES, diagnose, is_own

MakeCase = Callable[..., Case]


MISMATCH = {"status": "mismatch", "kind": "value"}


def failing(*names: str, kind: str = "value") -> Callable[[Case], dict[str, Any]]:
    def run(one: Case) -> dict[str, Any]:
        wrong = {"status": "mismatch", "kind": kind}
        return wrong if one.subject in names else {"status": "ok"}

    return run


def test_the_first_failing_stage_is_named(case: MakeCase) -> None:
    one = case("inductor", "v0 = x0 + 1")
    everything = ("dynamo", "aot_eager", "aot_eager_decomp_partition", "inductor")
    assert diagnose(one, failing(*everything), MISMATCH) == STAGES["dynamo"]
    assert diagnose(one, failing(*everything[1:]), MISMATCH) == STAGES["aot_eager"]
    assert "inductor" in diagnose(one, failing("inductor"), MISMATCH)


def test_a_stage_that_fails_in_another_way_is_not_at_fault(case: MakeCase) -> None:
    one = case("tilewright", "v0 = x0 + 1")
    strides = failing("aot_eager", kind="strides")
    assert "tilewright" in diagnose(one, strides, MISMATCH)


def test_what_shows_without_a_backend_is_not_its_fault(case: MakeCase) -> None:
    one = case("tilewright", "v0 = x0 + 1")
    before = diagnose(one, failing("aot_eager", "tilewright"), MISMATCH)
    assert not is_own("tilewright", before)
    assert is_own("inductor", before) and is_own("aot_eager", before)
    # which decompositions are taken is the backend's choice
    chosen = diagnose(one, failing("aot_eager_decomp_partition"), MISMATCH)
    assert is_own("tilewright", chosen)
    assert is_own("tilewright", diagnose(one, failing("tilewright"), MISMATCH))
