import pytest

from verify.campaign.case import Case
from verify.campaign.process import SubjectProcess
from verify.mutants.compiler import subject
from verify.mutants.compiler.changes import probe, tensor


def test_each_fault_is_a_backend_and_no_other_name() -> None:
    assert callable(subject.right_cpp)
    assert callable(subject.offset_of_a_view_is_lost)
    with pytest.raises(AttributeError, match="routes evaluated, cpp, triton"):
        _ = subject.right_cuda


def test_a_fault_is_gone_when_the_next_backend_compiles(
    process: SubjectProcess,
) -> None:
    fault = subject.FAULTS["broadcast_duplicates_are_counted_once"]
    place = "verify.mutants.compiler.subject"
    seen = [
        process.run(Case(fault.probe, f"{place}:{name}"))["status"]
        for name in ("right_evaluated", fault.name, "right_evaluated")
    ]
    assert seen == ["ok", "mismatch", "ok"]


def test_a_graph_that_cannot_be_compiled_is_an_error(process: SubjectProcess) -> None:
    gives_up = "shift_in_place_has_no_temporary"
    case = Case(subject.FAULTS[gives_up].probe, f"{subject.__name__}:{gives_up}")
    answer = process.run(case)
    assert answer["status"] == "error" and "needs a temporary" in answer["detail"]
    plain = Case(probe("v0 = x0 + 1", x0=tensor(3)), f"{subject.__name__}:{gives_up}")
    assert process.run(plain)["status"] == "ok"
