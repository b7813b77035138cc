"""What a failure is about: two failures with one cause are one find."""

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from .case import Case

_NUMBER = re.compile(r"0x[0-9a-f]+|-?\d+(\.\d+)?(e[+-]?\d+)?")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|<[^<>]*>|/[\w/.]+")


def symptom(answer: Mapping[str, Any]) -> str:
    r"""Return how a failure shows itself, without numbers, names and addresses.

    Example:
        >>> symptom({"status": "error", "kind": "IndexError", "detail": "at 3\nmore"})
        'error IndexError: at #'
    """
    status, kind = answer["status"], answer.get("kind", "")
    if status in ("mismatch", "hung"):
        return f"{status} {kind}".strip()
    detail = str(answer.get("detail", ""))
    lines = [line.strip() for line in detail.splitlines() if line.strip()]
    first = lines[0] if lines else ""
    # Dynamo and Inductor put the reason of a failed lowering into a line of its own
    for line in lines:
        if re.match(r"^(LoweringException|CppCompileError|\w+Error): ", line):
            first = line
            break
    plain = _QUOTED.sub("'..'", first)
    return f"{status} {kind}: {_NUMBER.sub('#', plain)}"[:300]


def is_failure(answer: Mapping[str, Any]) -> bool:
    """Return whether an answer speaks against the subject."""
    return answer["status"] in ("mismatch", "error", "died", "hung")


def cause(case: Case, answer: Mapping[str, Any]) -> str:
    """Return a name for the cause of a shrunk failure: subject, symptom, operations."""
    parts = [case.subject, case.device, symptom(answer)]
    if answer["status"] != "error":
        parts.extend(sorted(set(case.program.operations)))
    return sha256("\n".join(parts).encode()).hexdigest()[:12]
