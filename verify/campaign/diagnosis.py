"""Which stage of the compiler first differs from eager mode."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from .case import Case
from .cause import is_failure

STAGES = {
    "eager": "the program is not deterministic in eager mode",
    "dynamo": "capture (TorchDynamo)",
    "aot_eager": "functionalisation or differentiation (AOTAutograd)",
    "aot_eager_decomp_partition": "decompositions",
}
"""Backend -> stage that is at fault where it is the first that fails."""


def diagnose(case: Case, run: Callable[[Case], dict[str, Any]]) -> str:
    """Return the stage at fault, in words.

    Args:
        case: A failing case.
        run: Runs a case, see :class:`process.SubjectProcess`.
    """
    for backend, stage in STAGES.items():
        if backend == case.subject:
            break
        if is_failure(run(replace(case, subject=backend))):
            return stage
    return f"the code of the backend {case.subject}"
