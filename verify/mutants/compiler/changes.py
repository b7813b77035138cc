"""What several faults are made of: wrong text, wrong stages, probes."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

from verify.strategies.programs import Program
from verify.strategies.tensors import TensorSpec, contiguous

from .fault import Change

Text = Callable[[str], str]


def cpp(change: Text) -> Change:
    """Return the change of each C++ function's text."""

    def make(right: Callable[..., str]) -> Callable[..., str]:
        return lambda *args, **kwargs: change(right(*args, **kwargs))

    return Change("compiler.codegen.cpp.writer:Writer.function", make)


def triton(change: Text) -> Change:
    """Return the change of each Triton kernel's text."""

    def make(right: Callable[..., Any]) -> Callable[..., Any]:
        def wrong(*args: Any, **kwargs: Any) -> Any:
            printed = right(*args, **kwargs)
            return replace(printed, source=change(printed.source))

        return wrong

    return Change("compiler.codegen.triton.printer:_module", make)


def replacing(pattern: str, by: str | Callable[[re.Match[str]], str]) -> Text:
    """Return the replacement of all matches of a pattern in a text."""
    found = re.compile(pattern, re.MULTILINE)
    return lambda text: found.sub(by, text)


def instead(place: str, wrong: Callable[..., Any]) -> Change:
    """Return the change that calls ``wrong(right, *args)`` where ``right(*args)`` was.

    Args:
        place: Of a function or method.
        wrong: Gets the original first.
    """

    def make(right: Any) -> Any:
        return lambda *args, **kwargs: wrong(right, *args, **kwargs)

    return Change(place, make)


def substituted(value: Any, replacements: dict[Any, Any]) -> Any:
    """Return an expression of the compiler with leaves replaced."""
    from importlib import import_module

    change = import_module("compiler.ir.expression").substitute
    return change(value, replacements)


def constant_index(value: int) -> Any:
    """Return a constant index of the compiler."""
    from importlib import import_module

    return import_module("compiler.ir.index").index(value)


def tensor(
    *shape: int,
    dtype: torch.dtype = torch.float32,
    strides: Sequence[int] | None = None,
    offset: int = 0,
    content: str = "integers",
    seed: int = 1,
) -> TensorSpec:
    """Return an input of a probe."""
    steps = contiguous(shape) if strides is None else tuple(strides)
    return TensorSpec(shape, steps, offset, dtype, content, seed)


def probe(*lines: str, returns: str = "", **inputs: TensorSpec) -> Program:
    """Return a program that shows a fault.

    Args:
        lines: Statements.
        returns: Names; the last line's target if left out.
        inputs: Parameter -> tensor.
    """
    names = returns or lines[-1].partition(" = ")[0]
    return Program(inputs, lines, tuple(names.split(", ")), ("probe",) * len(lines))
