"""Probes of the compiler's faults, run in a process of their own."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from verify.campaign.case import Case
from verify.campaign.cause import is_failure
from verify.campaign.process import SubjectProcess
from verify.mutants.compiler import Fault

Answers = Callable[[Fault], tuple[dict[str, Any], dict[str, Any]]]


@pytest.fixture(scope="session")
def process() -> Iterator[SubjectProcess]:
    with SubjectProcess(timeout=60.0) as made:
        yield made


@pytest.fixture
def answers(process: SubjectProcess) -> Answers:
    """Run a fault's probe without and with the fault."""

    def run(fault: Fault) -> tuple[dict[str, Any], dict[str, Any]]:
        place = "verify.mutants.compiler.subject"
        right = process.run(Case(fault.probe, f"{place}:right_{fault.route}"))
        wrong = process.run(Case(fault.probe, f"{place}:{fault.name}"))
        return right, wrong

    return run


@pytest.fixture
def caught(answers: Answers) -> Callable[[Fault], str]:
    """Check that a fault is seen, and nothing without it; returns what was seen."""

    def check(fault: Fault) -> str:
        right, wrong = answers(fault)
        assert right["status"] == "ok", right
        assert is_failure(wrong), wrong
        return f"{wrong['status']} {wrong.get('detail', '')}"

    return check
