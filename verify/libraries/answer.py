"""Run a case in this process, and judge what comes out."""

import atexit
import math
import os
import stat
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .operation import Arguments, Operation, UndefinedError

DETAIL = 400
"""Characters of a value or message that are kept."""


@cache
def function(source: str) -> Callable[..., Any]:
    """Return ``run`` of a source.

    Sources whose kernels are looked up in a file (``@triton.jit``) go through one.
    """
    if "@triton.jit" in source or "@gluon.jit" in source:
        return _from_file(source)
    room: dict[str, Any] = {"__name__": "case"}
    exec(compile(source, "<case>", "exec"), room)
    run: Callable[..., Any] = room["run"]
    return run


def _from_file(source: str) -> Callable[..., Any]:
    import importlib.util

    path = _folder() / f"case_{sha256(source.encode()).hexdigest()[:16]}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    run: Callable[..., Any] = module.run
    return run


@cache
def _folder() -> Path:
    """Return where sources lie as long as this process lives."""
    made = TemporaryDirectory(prefix="tilewright-cases-", ignore_cleanup_errors=True)
    atexit.register(made.cleanup)
    return Path(made.name)


def same(got: Any, wanted: Any) -> bool:
    """Return whether two plain values are equal; NaN equals NaN, 0.0 is not -0.0.

    Example:
        >>> same([1, float("nan")], (1, float("nan"))), same(0.0, -0.0), same(1, True)
        (True, False, False)
    """
    if isinstance(wanted, list | tuple):
        return (
            isinstance(got, list | tuple)
            and len(got) == len(wanted)
            and all(map(same, got, wanted))
        )
    if isinstance(wanted, float) and isinstance(got, float):
        if math.isnan(wanted) or math.isnan(got):
            return math.isnan(wanted) and math.isnan(got)
        return got == wanted and math.copysign(1, got) == math.copysign(1, wanted)
    return type(got) is type(wanted) and bool(got == wanted)


def _printed() -> int:
    """Return how much standard error holds, 0 unless it goes to a file."""
    found = os.fstat(2)
    return found.st_size if stat.S_ISREG(found.st_mode) else 0


def _complaint(mark: int) -> str:
    """Return the first error that a compiler printed since the mark."""
    if not stat.S_ISREG(os.fstat(2).st_mode):
        return ""
    with open("/proc/self/fd/2", "rb") as file:
        file.seek(mark)
        text = file.read(1 << 20).decode(errors="replace")
    for line in text.splitlines():
        _, found, rest = line.partition("error: ")
        if found:
            return rest.strip()
    return ""


def judge(operation: Operation, arguments: Arguments) -> dict[str, Any]:
    """Run a case.

    Returns:
        ``status`` is ``"ok"``, ``"undefined"`` (no promise), ``"malformed"`` (no
        arguments of this operation), ``"refused"`` (with one of the operation's
        refusals), ``"mismatch"`` or ``"error"`` (another exception); the last two have
        ``kind``, ``detail`` and ``expected`` as text.
    """
    try:
        wanted = operation.expected(*arguments)
    except UndefinedError as error:
        return {"status": "undefined", "detail": str(error)}
    except (TypeError, ValueError, IndexError) as error:
        # shrinking tries arguments that are none; drawn ones never end here
        return {"status": "malformed", "detail": str(error)}
    mark = _printed()
    try:
        got = function(operation.source)(*arguments)
    except Exception as error:
        kind = type(error).__name__
        lines = str(error).strip().splitlines() or [""]
        said = [line for line in (_complaint(mark), lines[0]) if line]
        answer = {"status": "error", "kind": kind, "detail": "; ".join(said)[:DETAIL]}
        if kind in operation.refusals:
            answer["status"] = "refused"
        return {**answer, "expected": repr(wanted)}
    if same(got, wanted):
        return {"status": "ok"}
    return {
        "status": "mismatch",
        "kind": "value",
        "detail": f"{got!r}, not {wanted!r}"[:DETAIL],
        "expected": repr(wanted),
    }
