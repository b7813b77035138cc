"""Programs, drawn one statement at a time."""

import contextlib
import warnings
from collections.abc import Collection
from typing import Any

import torch
from hypothesis import strategies as st

from verify.strategies.tensors import CONTENTS, DTYPES, TensorSpec, tensors

from .operations import EXPRESSIONS, FAMILIES, STATEMENTS
from .program import Program
from .scope import Scope

_ATTEMPTS = 4


@st.composite
def programs(
    draw: st.DrawFn,
    max_operations: int = 8,
    families: Collection[str] = tuple(FAMILIES),
    contents: Collection[str] = CONTENTS,
    *,
    strided: bool = True,
    max_inputs: int = 3,
    max_elements: int = 512,
) -> Program:
    """Draw a program that eager PyTorch runs; shrinks to one operation.

    Each statement is tried on the tensors as they are at its place; one that eager
    mode refuses is left out, so what is returned runs.

    Args:
        draw: Given by hypothesis.
        max_operations: At most so many statements.
        families: Keys of ``operations.FAMILIES``.
        contents: Keys of ``tensors.CONTENTS``.
        strided: Whether inputs may be other than contiguous.
        max_inputs: At most so many inputs.
        max_elements: At most so many elements an input.
    """
    specs: dict[str, TensorSpec] = {}
    flag: st.SearchStrategy[Any] = st.booleans()
    for number in range(draw(st.integers(1, max_inputs))):
        shape: tuple[int, ...] | None = None
        dtypes: tuple[torch.dtype, ...] = DTYPES
        if specs and draw(flag):
            shape = next(iter(specs.values())).shape
            if draw(flag):
                dtypes = (next(iter(specs.values())).dtype,)
        specs[f"x{number}"] = draw(
            tensors(
                dtypes,
                tuple(contents),
                shape,
                strided=strided,
                max_elements=max_elements,
            )
        )
    scope = Scope({name: spec.build() for name, spec in specs.items()})
    names = [name for family in families for name in FAMILIES[family]]
    lines: list[str] = []
    operations: list[str] = []
    wanted = draw(st.integers(1, max_operations))
    for _ in range(wanted):
        for _ in range(_ATTEMPTS):
            name = draw(st.sampled_from(names))
            line = _statement(draw, scope, name, len(lines))
            if line is not None:
                lines.append(line)
                operations.append(name)
                break
    made = [name for name in scope.values if name not in specs]
    latest = made[-1:] or list(specs)[:1]
    more = draw(st.lists(st.sampled_from(list(scope.values)), max_size=2, unique=True))
    returns = tuple(dict.fromkeys([*latest, *more]))
    return Program(specs, tuple(lines), returns, tuple(operations))


def _statement(draw: st.DrawFn, scope: Scope, name: str, number: int) -> str | None:
    """Draw a statement, run it in the scope; None if nothing fits or eager refuses."""
    template = STATEMENTS.get(name) or EXPRESSIONS[name]
    text = scope.fill(draw, template)
    if text is None:
        return None
    if name in STATEMENTS:
        return text if _executed(text, scope, None) else None
    target = f"v{number}"
    return f"{target} = {text}" if _executed(text, scope, target) else None


def _executed(text: str, scope: Scope, target: str | None) -> bool:
    room: dict[str, Any] = {"torch": torch, "F": torch.nn.functional, **scope.values}
    with contextlib.suppress(Exception), warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        if target is None:
            exec(text, room)
            return True
        value = eval(text, room)
        if isinstance(value, torch.Tensor) and value.numel() <= scope.max_elements:
            scope.values[target] = value
            return True
    return False
