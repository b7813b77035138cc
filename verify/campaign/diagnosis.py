"""Which stage of the compiler first differs from eager mode."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from .case import Case
from .cause import is_failure, symptom

STAGES = {
    "eager": "the program is not deterministic in eager mode",
    "dynamo": "capture (TorchDynamo)",
    "aot_eager": "functionalisation or differentiation (AOTAutograd)",
    "aot_eager_decomp_partition": "decompositions",
}
"""Backend -> stage that is at fault where it is the first that fails."""


PYTORCH = (*STAGES, "inductor")
"""Subjects that are PyTorch's own, with all their stages."""

_BEFORE = ("eager", "dynamo", "aot_eager")
"""Stages that run before another backend has a say; decompositions it chooses."""


def diagnose(
    case: Case, run: Callable[[Case], dict[str, Any]], answer: Mapping[str, Any]
) -> str:
    """Return the stage at fault, in words: the first that fails in the same way.

    Args:
        case: A failing case.
        run: Runs a case, see :class:`process.SubjectProcess`.
        answer: How the case fails; a stage that fails in another way says nothing.
    """
    sign = symptom(answer)
    for backend, stage in STAGES.items():
        if backend == case.subject:
            break
        found = run(replace(case, subject=backend))
        if is_failure(found) and symptom(found) == sign:
            return stage
    return f"the code of the backend {case.subject}"


def is_own(subject: str, stage: str) -> bool:
    """Return whether a fault is the subject's, and not that of PyTorch before it.

    Args:
        subject: Key of ``subjects.SUBJECTS``, or another backend.
        stage: From :func:`diagnose`.
    """
    return subject in PYTORCH or stage not in {STAGES[name] for name in _BEFORE}
