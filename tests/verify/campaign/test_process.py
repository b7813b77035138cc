"""A subject's process may end, hang or babble: the campaign goes on."""

from collections.abc import Callable

from verify.campaign.case import Case
from verify.campaign.process import SubjectProcess

MakeCase = Callable[..., Case]


def test_a_crash_and_a_hang_are_told_and_survived(
    process: SubjectProcess, case: MakeCase
) -> None:
    died = process.run(case("conftest:dies_on_exp", "v0 = torch.exp(x0)"))
    assert (died["status"], died["kind"]) == ("died", "SIGABRT")
    assert process.run(case("dynamo", "v0 = torch.exp(x0)"))["status"] == "ok"
    process.timeout = 2.0
    hung = process.run(case("conftest:hangs_on_exp", "v0 = torch.exp(x0)"))
    process.timeout = 40.0
    assert hung["status"] == "hung"
    assert process.run(case("dynamo", "v0 = torch.exp(x0)"))["status"] == "ok"
