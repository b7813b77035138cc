"""The child's protocol is its own, whatever the subject prints."""

from collections.abc import Callable

from verify.campaign.case import Case
from verify.campaign.process import SubjectProcess

MakeCase = Callable[..., Case]


def test_what_a_subject_prints_does_not_reach_the_protocol(
    process: SubjectProcess, case: MakeCase
) -> None:
    answer = process.run(case("conftest:prints_garbage", "v0 = torch.exp(x0)"))
    assert answer["status"] == "ok", answer
