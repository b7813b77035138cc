from collections.abc import Callable

import pytest

from verify.mutants.compiler import Fault
from verify.mutants.compiler.indices import INDEX_FAULTS

QUICK = [fault for fault in INDEX_FAULTS if fault.route == "evaluated"]
BUILT = [fault for fault in INDEX_FAULTS if fault.route != "evaluated"]


def test_each_kind_has_a_fault() -> None:
    assert {fault.number for fault in INDEX_FAULTS} == set(range(33, 43))


@pytest.mark.parametrize("fault", QUICK, ids=lambda fault: fault.name)
def test_each_fault_is_caught(fault: Fault, caught: Callable[[Fault], str]) -> None:
    assert caught(fault)


@pytest.mark.slow
@pytest.mark.parametrize("fault", BUILT, ids=lambda fault: fault.name)
def test_each_fault_of_a_printer_is_caught(
    fault: Fault, caught: Callable[[Fault], str]
) -> None:
    assert caught(fault)
