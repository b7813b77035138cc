import pytest

from verify.mutants.compiler import FAULTS
from verify.mutants.compiler.detect import detect, drawn


def test_a_seed_gives_the_same_programs() -> None:
    first, again = drawn(3, ("views",)), drawn(3, ("views",))
    assert first == again and len(first) > 20
    assert drawn(4, ("views",)) != first


@pytest.mark.slow
def test_a_fault_is_killed_by_what_its_compiler_gets_right() -> None:
    fault = FAULTS["remainder_of_what_is_not_negative_is_dropped"]
    found = detect(fault.name, fault.route, 120.0, families=("views",))
    assert found.kill is not None and not found.alarms
    assert found.programs >= 1 and set(found.kill) == {"how", "case"}
    assert 0 < found.cpu_seconds < 121.0


@pytest.mark.slow
def test_what_has_no_fault_survives() -> None:
    found = detect("right_evaluated", "evaluated", 10.0, families=("pointwise",))
    assert found.kill is None and not found.alarms
