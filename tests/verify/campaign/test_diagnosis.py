"""The stage at fault is the first that fails."""

from collections.abc import Callable
from typing import Any

from verify.campaign.case import Case
from verify.campaign.diagnosis import STAGES, diagnose

MakeCase = Callable[..., Case]


def test_the_first_failing_stage_is_named(case: MakeCase) -> None:
    def failing(*names: str) -> Callable[[Case], dict[str, Any]]:
        def run(one: Case) -> dict[str, Any]:
            return {"status": "mismatch" if one.subject in names else "ok"}

        return run

    one = case("inductor", "v0 = x0 + 1")
    everything = ("dynamo", "aot_eager", "aot_eager_decomp_partition", "inductor")
    assert diagnose(one, failing(*everything)) == STAGES["dynamo"]
    assert diagnose(one, failing(*everything[1:])) == STAGES["aot_eager"]
    assert "inductor" in diagnose(one, failing("inductor"))
