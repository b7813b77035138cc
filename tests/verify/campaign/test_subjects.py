"""Right and wrong backends, told apart."""

from collections.abc import Callable

from verify.campaign.case import Case
from verify.campaign.process import SubjectProcess

MakeCase = Callable[..., Case]


def test_a_right_backend_is_ok(process: SubjectProcess, case: MakeCase) -> None:
    answer = process.run(case("dynamo", "v0 = torch.sin(x0)"))
    assert answer["status"] == "ok", answer


def test_a_wrong_result_is_a_mismatch(process: SubjectProcess, case: MakeCase) -> None:
    answer = process.run(case("conftest:wrong_sin", "v0 = torch.sin(x0)"))
    assert (answer["status"], answer["kind"]) == ("mismatch", "value")
