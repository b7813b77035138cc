"""What is tested: compilers that take a Python function over torch."""

import importlib
import warnings
from collections.abc import Callable
from typing import Any

import torch

from verify.oracle.mismatch import Mismatch, compare
from verify.oracle.rounding import expected

from .case import Case

SUBJECTS = ("eager", "dynamo", "aot_eager", "inductor", "tilewright")
"""``eager`` is PyTorch against itself (no false alarms), ``dynamo`` is capture without
a compiler, ``aot_eager`` adds functionalisation: they tell faults of the capture from
faults of the compiler. ``module:function`` is any other backend of torch.compile."""


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
    return torch.compile(
        function, backend=backend, dynamic=True if case.dynamic else None
    )


def run(case: Case) -> dict[str, Any]:
    """Run a case in this process, which it may end.

    Returns:
        ``{"status": "ok"}``, ``"mismatch"`` with kind and detail, ``"error"`` with type
        and message of what the subject raised, or ``"skip"`` where eager mode fails.
    """
    wanted = expected(case.program.function(), case.program.build)
    if wanted.error is not None:
        return {"status": "skip", "detail": str(wanted.error)}
    inputs = case.program.build(case.device)
    torch.manual_seed(0)
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = [*compiled(case)(*inputs), *inputs]
    except Exception as error:
        return {
            "status": "error",
            "kind": type(error).__name__,
            "detail": str(error)[:4000],
        }
    tensors = [value for value in results if isinstance(value, torch.Tensor)]
    found: Mismatch | None = compare(wanted, tensors)
    if found is None:
        return {"status": "ok"}
    return {"status": "mismatch", "kind": found.kind, "detail": found.detail}
