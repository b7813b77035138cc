from verify.mutants.compiler import FAULTS
from verify.mutants.compiler.detect import detect


def test_a_fault_is_killed_by_what_its_compiler_gets_right() -> None:
    fault = FAULTS["remainder_of_what_is_not_negative_is_dropped"]
    found = detect(fault.name, fault.route, 60.0, families=("views",))
    assert found.kill is not None and not found.alarms
    assert found.programs >= 1 and found.seconds < 60.0
    assert set(found.kill) == {"how", "case"}


def test_what_has_no_fault_survives() -> None:
    found = detect("right_evaluated", "evaluated", 4.0, families=("pointwise",))
    assert found.kill is None and not found.alarms
