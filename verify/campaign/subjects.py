"""What is tested: compilers that take a Python function over torch."""

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from verify.oracle.mismatch import Mismatch, compare
from verify.oracle.outcome import outcome
from verify.oracle.rounding import eager, expected
from verify.strategies.programs import FAMILIES

from .case import Case

SUBJECTS = ("eager", "dynamo", "aot_eager", "inductor", "tilewright")
"""``eager`` is PyTorch against itself (no false alarms), ``dynamo`` is capture without
a compiler, ``aot_eager`` adds functionalisation: they tell faults of the capture from
faults of the compiler. ``module:function`` is any other backend of torch.compile."""


SAME_NUMBERS = ("dynamo", "aot_eager")
"""Compilers that draw eager mode's random numbers without a setting."""

PARITY: dict[str, dict[str, Any]] = {
    "tilewright": {"eager_parity": True},
    "inductor": {"fallback_random": True},
}
"""Settings with which a backend draws eager mode's random numbers."""


def compiled(case: Case) -> Callable[..., Any]:
    """Return the program as its subject runs it."""
    function = case.program.function()
    if case.subject == "eager":
        return function
    torch.compiler.reset()
    backend: Any = "eager" if case.subject == "dynamo" else case.subject
    if ":" in case.subject:
        module, _, name = case.subject.partition(":")
        backend = getattr(importlib.import_module(module), name)
    options = PARITY.get(case.subject) if case.has_parity else None
    return torch.compile(
        function,
        backend=backend,
        dynamic=True if case.dynamic else None,
        options=options,
    )


def open_places(case: Case) -> frozenset[int]:
    """Return the places of a case's outcome whose values are open.

    Where a compiler draws eager mode's numbers, none is; but a program that draws
    twice may lose one draw whose result is not used, and then the other changes.
    """
    drawn = sum(name in FAMILIES["random"] for name in case.program.operations)
    parity = case.subject in SAME_NUMBERS or (
        case.has_parity and case.subject in PARITY
    )
    if case.subject == "eager" or (parity and drawn <= 1):
        return frozenset()
    return case.program.random_places()


def run(case: Case) -> dict[str, Any]:
    """Run a case in this process, which it may end.

    Returns:
        ``{"status": "ok"}``, ``"mismatch"`` with kind and detail, ``"error"`` with type
        and message of what the subject raised, ``"skip"`` where eager mode fails, or
        ``"open"`` where rounding can change the path through the program.
    """
    function = compiled(case)
    for call in range(case.program.calls):
        answer = _call(case, function, call)
        if answer["status"] != "ok":
            if call and "detail" in answer:
                answer["detail"] = f"in call {call + 1}: {answer['detail']}"
            return answer
    return {"status": "ok"}


def _call(case: Case, function: Callable[..., Any], call: int) -> dict[str, Any]:
    program = case.program
    plain = program.function()
    build = partial(program.build, call=call)
    random = open_places(case)
    wanted = eager(plain, build, gradients=program.gradients, random=random)
    if wanted.error is not None:
        return {"status": "skip", "detail": str(wanted.error)}
    again: list[tuple[int, Any]] | None = None
    try:
        arguments = program.build(case.device, call)
        found = outcome(function, arguments, gradients=program.gradients)
        if random:
            arguments = program.build(case.device, call)
            again = outcome(function, arguments, gradients=program.gradients)
    except Exception as error:
        return {
            "status": "error",
            "kind": type(error).__name__,
            "detail": str(error)[:4000],
        }
    got = [leaf for _, leaf in found]
    wrong: Mismatch | None = compare(wanted, got)
    if wrong is not None:  # equal results need no bounds
        wanted = expected(plain, build, gradients=program.gradients, random=random)
        if wanted.is_open:
            return {"status": "open"}
        wrong = compare(wanted, got)
    if wrong is None and again is not None:
        wrong = differs(got, [leaf for _, leaf in again])
    if wrong is None:
        return {"status": "ok"}
    return {"status": "mismatch", "kind": wrong.kind, "detail": wrong.detail}


def differs(first: list[Any], second: list[Any]) -> Mismatch | None:
    """Return where two runs from one seed differ, bit for bit but for NaN payloads."""
    for number, (a, b) in enumerate(zip(first, second, strict=True)):
        if isinstance(a, torch.Tensor):
            same = torch.equal(a.isnan(), b.isnan()) and torch.equal(
                a.nan_to_num(), b.nan_to_num()
            )
            if not same:
                return Mismatch("seed", number, "two runs from one seed differ")
    return None
