"""One cause, one name."""

from collections.abc import Callable

from verify.campaign.case import Case
from verify.campaign.cause import cause, is_failure, symptom

MakeCase = Callable[..., Case]


def test_a_cause_has_no_numbers_of_the_case(case: MakeCase) -> None:
    one = {"status": "error", "kind": "E", "detail": "E: size 3 of 'x0' at 0x7f12"}
    two = {"status": "error", "kind": "E", "detail": "E: size 44 of 'y' at 0x1234"}
    assert symptom(one) == symptom(two)
    made = case("inductor", "v0 = x0 + 1")
    assert cause(made, one) == cause(made, two)
    assert cause(made, one) != cause(case("tilewright", "v0 = x0 + 1"), one)


def test_what_speaks_against_a_subject() -> None:
    assert all(is_failure({"status": s}) for s in ("mismatch", "error", "died", "hung"))
    assert not any(is_failure({"status": s}) for s in ("ok", "skip", "broken"))
