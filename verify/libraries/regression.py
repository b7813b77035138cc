"""A failure of a library as a pytest file that needs nothing but the library."""

import math
import os
import platform
import re
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from .operation import Arguments, Operation

if TYPE_CHECKING:
    from .campaign import LibraryCampaign

_NUMBER = re.compile(r"0x[0-9a-f]+|-?\d+(\.\d+)?(e[+-]?\d+)?")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|<[^<>]*>|/[\w/.]+")


def symptom(operation: str, answer: Mapping[str, Any]) -> str:
    """Return how a failure shows itself, without numbers, names and addresses.

    Example:
        >>> symptom("filter", {"status": "error", "kind": "KeyError", "detail": "'x'"})
        "filter error KeyError '..'"
    """
    status, kind = answer["status"], answer.get("kind", "")
    if status in ("mismatch", "hung"):
        return f"{operation} {status} {kind}".strip()
    lines = [line.strip() for line in str(answer.get("detail", "")).splitlines()]
    lines = [line for line in lines if line]
    first = lines[0] if lines else ""
    for line in lines:
        if "Assertion" in line or "LLVM ERROR" in line:
            first = line
            break
    plain = _NUMBER.sub("#", _QUOTED.sub("'..'", first))
    return f"{operation} {status} {kind} {plain}".strip()[:300]


def cause(
    library: str, operation: str, answer: Mapping[str, Any], trait: str = ""
) -> str:
    """Return a name for what a failure is about.

    Args:
        library: Subject.
        operation: Name of the operation.
        answer: What became of it.
        trait: See :class:`Operation`.
    """
    text = f"{library}\n{symptom(operation, answer)}{trait}"
    return sha256(text.encode()).hexdigest()[:12]


def title(library: str, operation: str, answer: Mapping[str, Any]) -> str:
    """Return a line on a failure."""
    kind = answer.get("kind", "")
    return f"{library}: {operation}: {answer['status']} {kind}".strip()


@cache
def versions(package: str, path: str) -> dict[str, str]:
    """Return what a failure depends on, as a process with the path sees it."""
    code = f"from importlib import metadata\nprint(metadata.version({package!r}))"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **({"PYTHONPATH": path} if path else {})},
    )
    found = done.stdout.strip() or "not a distribution"
    return {"python": platform.python_version(), package: found}


def write(
    name: str,
    campaign: "LibraryCampaign",
    operation: Operation,
    arguments: Arguments,
    answer: Mapping[str, Any],
    *,
    versions: Mapping[str, str],
    where: tuple[int, int],
) -> str:
    """Return the text of a test that fails as long as the fault is there.

    A case that ends its process is run in one of its own.

    Args:
        name: Part of the test's name.
        campaign: Which found it.
        operation: What is called.
        arguments: The shrunk arguments.
        answer: What became of it.
        versions: See :func:`versions`.
        where: Seed and number of the case that was shrunk.
    """
    made = ", ".join(f"{package} {version}" for package, version in versions.items())
    wanted = operation.expected(*arguments)
    lines = [
        f'"""{title(campaign.library, operation.name, answer)}',
        "",
        f"Documented: {operation.promise}.",
        f"Seen: {_plain(answer)}",
        f"Versions: {made}.",
        f"Found by `tilewright hunt --subject {campaign.library}`, seed {where[0]}, "
        f"case {where[1]}.",
        '"""',
        "",
        operation.source.rstrip(),
        "",
        "",
        f"ARGUMENTS = {_literal(arguments)}",
        f"EXPECTED = {_literal(wanted)}",
        "",
        "",
    ]
    if answer["status"] in ("died", "hung"):
        lines = [*lines[:7], "import subprocess", "import sys", *lines[7:]]
        lines += [
            f"def test_{name}():",
            "    done = subprocess.run([sys.executable, __file__], timeout=120)",
            "    assert done.returncode == 0",
            "",
            "",
            'if __name__ == "__main__":',
            "    run(*ARGUMENTS)",
        ]
    else:
        lines += [
            f"def test_{name}():",
            "    got = run(*ARGUMENTS)",
            "    assert repr(got) == repr(EXPECTED)",
        ]
    return "\n".join(lines) + "\n"


def _literal(value: Any) -> str:
    """Return an expression for plain data."""
    if isinstance(value, float) and not math.isfinite(value):
        return f"float({str(value)!r})"
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    return repr(value)


def _plain(answer: Mapping[str, Any]) -> str:
    detail = " ".join(str(answer.get("detail", "")).split())[:300]
    detail = detail.replace("\\", "/").replace('"""', "'''")
    return f"{answer['status']} {answer.get('kind', '')}: {detail}"
