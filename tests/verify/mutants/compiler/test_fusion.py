from collections.abc import Callable

import pytest

from verify.mutants.compiler import Fault
from verify.mutants.compiler.fusion import FUSION_FAULTS

QUICK = [fault for fault in FUSION_FAULTS if fault.route == "evaluated"]
BUILT = [fault for fault in FUSION_FAULTS if fault.route != "evaluated"]


def test_each_kind_has_a_fault() -> None:
    assert {fault.number for fault in FUSION_FAULTS} == set(range(43, 48))


@pytest.mark.parametrize("fault", QUICK, ids=lambda fault: fault.name)
def test_each_fault_is_caught(fault: Fault, caught: Callable[[Fault], str]) -> None:
    assert caught(fault)


@pytest.mark.slow
@pytest.mark.parametrize("fault", BUILT, ids=lambda fault: fault.name)
def test_each_fault_of_a_printer_is_caught(
    fault: Fault, caught: Callable[[Fault], str]
) -> None:
    assert caught(fault)


def test_a_guard_that_is_dropped_is_refuted_before_it_runs(
    caught: Callable[[Fault], str],
) -> None:
    (fault,) = (one for one in FUSION_FAULTS if one.number == 43)
    assert "in_bounds is refuted by" in caught(fault)
