"""Programs, drawn one statement at a time."""

import contextlib
import re
import warnings
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from hypothesis import strategies as st

from verify.oracle.outcome import outcome, seed_generators
from verify.strategies.tensors import (
    CONTENTS,
    DTYPES,
    FLOATS,
    TensorSpec,
    built,
    contiguous,
    tensors,
)

from .draw import Draw
from .operations import (
    CONSTANT_WRITES,
    EXPRESSIONS,
    FAMILIES,
    SHARES,
    STATEMENTS,
    WRITTEN_COPIES,
)
from .prelude import prelude
from .program import IMPORTS, Program
from .scope import Scope, tensor_holes

NEEDED = {
    name: tensor_holes(template)
    for name, template in {**EXPRESSIONS, **STATEMENTS}.items()
}
"""Operation -> tensor holes of its template."""

_ATTEMPTS = 4

_FORMS = (
    *((), (2, 3), (4, 4), (2, 3, 4), (2, 2, 3, 4), (1, 4, 8, 5)) * 2,
    *((20,), (3, 20), (12, 9), (33,), (9, 9), (2, 3, 17), (17, 19), ()),
    *((40, 9), (33, 35), (200,), (1025,), (2, 1023), (2049,)),
)
"""Shapes that give matrices, signals and images a chance; () draws any. Some have rows
beyond a few vectors, and a few reach beyond a tile in two dims, or just beyond a
block."""

_TYPES = (*DTYPES, *FLOATS)
"""Floating types come twice as often as others."""


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
    gradients: bool | None = None,
    max_calls: int = 2,
    dtypes: Sequence[torch.dtype] = _TYPES,
) -> Program:
    """Draw a program that eager PyTorch runs; shrinks to one operation.

    Each statement is tried on the tensors as they are at its place; one that eager
    mode refuses is left out, so what is returned runs. Gradients and further calls
    with other sizes are kept only where eager mode has them.

    Args:
        draw: Given by hypothesis.
        max_operations: At most so many statements.
        families: Keys of ``operations.FAMILIES``.
        contents: Keys of ``tensors.CONTENTS``.
        strided: Whether inputs may be other than contiguous.
        max_inputs: At most so many inputs.
        max_elements: At most so many elements an input.
        gradients: Whether gradients are compared; None draws it.
        max_calls: At most so many calls, each of other sizes.
        dtypes: Types of inputs to choose from, simplest first.

    Raises:
        ValueError: A family or a content is not known.
    """
    for given, known in ((families, FAMILIES), (contents, CONTENTS)):
        wrong = [name for name in given if name not in known]
        if wrong or not given:
            raise ValueError(
                f"names among {', '.join(known)} were needed, got {list(given)!r}"
            )
    flag: st.SearchStrategy[Any] = st.booleans()
    mostly: st.SearchStrategy[Any] = st.sampled_from([False, True, True])
    wants = draw(st.sampled_from([False, False, True]))
    if gradients is not None:
        wants = gradients
    specs: dict[str, TensorSpec] = {}
    for number in range(draw(st.integers(1, max_inputs))):
        shape: tuple[int, ...] | None = draw(st.sampled_from(_FORMS)) or None
        types = dtypes
        if specs and draw(mostly):
            shape = next(iter(specs.values())).shape
            if draw(mostly):
                types = (next(iter(specs.values())).dtype,)
        spec = draw(
            tensors(
                types,
                tuple(contents),
                shape,
                strided=strided,
                max_elements=max_elements,
            )
        )
        if specs and not wants and draw(st.sampled_from([False, False, False, True])):
            base = draw(
                st.sampled_from([n for n, one in specs.items() if not one.base])
            )
            spec = replace(spec, base=base, dtype=specs[base].dtype)
        specs[f"x{number}"] = spec
    if wants:
        specs = {
            name: replace(spec, requires_grad=spec.dtype.is_floating_point)
            for name, spec in specs.items()
        }
    chosen = [name for name in families for _ in range(SHARES.get(name, 1))]
    if "mutations" in chosen and any(spec.base for spec in specs.values()):
        chosen += ["mutations"] * (len(chosen) // 2)  # else it hardly matters
    scope = Scope(built(specs))
    lines: list[str] = []
    operations: list[str] = []
    for _ in range(draw(st.integers(1, max_operations))):
        for _ in range(_ATTEMPTS):
            family = draw(st.sampled_from(chosen))
            names = scope.fitting(FAMILIES[family], NEEDED)
            if not names:
                continue
            name = draw(st.sampled_from(names))
            line = _statement(draw, scope, name, len(lines), wants)
            if line is not None:
                lines.append(line)
                operations.append(name)
                break
    made = [name for name in scope.values if name not in specs]
    latest = made[-1:] or list(specs)[:1]
    more = draw(st.lists(st.sampled_from(list(scope.values)), max_size=2, unique=True))
    if draw(flag):  # nothing is dead
        more = [*more, *unread(made, lines)]
    returns = tuple(dict.fromkeys([*latest, *more]))
    program = Program(specs, tuple(lines), returns, tuple(operations), scope.objects)
    if wants:
        program = _with_gradients(program)
    if max_calls > 1 and any(spec.base for spec in specs.values()) and draw(flag):
        program = _first_apart(program)
    elif max_calls > 1 and draw(flag):
        program = _called_again(draw, program, max_calls)
    return program


def unread(names: Collection[str], lines: Collection[str]) -> list[str]:
    """Return the names that lines mention once: where they get their value.

    Example:
        >>> unread(["v0", "v1"], ["v0 = x0 + 1", "v1 = v0 * 2"])
        ['v1']
    """
    words = Counter(word for line in lines for word in re.findall(r"\bv\d+\b", line))
    return [name for name in names if words[name] == 1]


def _first_apart(program: Program) -> Program:
    """Put a call before, of tensors in storages of their own, if eager mode runs it."""
    apart = {name: replace(spec, base="") for name, spec in program.inputs.items()}
    first = replace(program, inputs=apart, others=(program.inputs,))
    return first if runs(first) else program


def _with_gradients(program: Program) -> Program:
    """Return the program with gradients if eager mode has them, else without."""
    if runs(replace(program, gradients=True)):
        return replace(program, gradients=True)
    plain = {
        name: replace(spec, requires_grad=False)
        for name, spec in program.inputs.items()
    }
    return replace(program, inputs=plain)


def _called_again(draw: st.DrawFn, program: Program, max_calls: int) -> Program:
    """Add calls in which all dims of one size have another one."""
    sizes = sorted({n for spec in program.inputs.values() for n in spec.shape})
    if not sizes:
        return program
    others: list[Mapping[str, TensorSpec]] = []
    for _ in range(draw(st.integers(1, max_calls - 1))):
        old = draw(st.sampled_from(sizes))
        new = draw(st.sampled_from([2, 3, 5, 8, 17, 1]))
        specs = {
            name: resized(spec, {old: new}) for name, spec in program.inputs.items()
        }
        within = all(spec.storage <= 4096 for spec in specs.values())
        alone = replace(program, inputs=specs)
        if new != old and within and runs(alone):
            others.append(specs)
    return replace(program, others=tuple(others))


def resized(spec: TensorSpec, sizes: Mapping[int, int]) -> TensorSpec:
    """Return the tensor with other extents; strides stay where they were special.

    Args:
        spec: The tensor.
        sizes: Old extent -> new one, for every dim that has it.
    """
    shape = tuple(sizes.get(extent, extent) for extent in spec.shape)
    strides = contiguous(shape) if spec.is_plain else spec.strides
    return replace(spec, shape=shape, strides=strides)


def runs(program: Program, call: int = 0) -> bool:
    """Return whether eager mode runs a call of the program, gradients included."""
    with contextlib.suppress(Exception):
        given = program.build(call=call)
        outcome(program.function(), given, gradients=program.gradients)
        return True
    return False


def _statement(
    draw: Draw, scope: Scope, name: str, number: int, gradients: bool
) -> str | None:
    """Draw a statement, run it in the scope; None if nothing fits or eager refuses."""
    template = STATEMENTS.get(name) or EXPRESSIONS[name]
    before = dict(scope.objects)
    text = scope.fill(draw, template)
    if text is not None:
        target = None if name in STATEMENTS else f"v{number}"
        writes = name in STATEMENTS and name not in CONSTANT_WRITES
        writes |= name in WRITTEN_COPIES
        named = [
            value
            for other, value in scope.values.items()
            if re.search(rf"\b{other}\b", text)
        ]
        if writes and (any(map(overlaps, named)) or lie_within(named)):
            scope.objects = before
            return None
        if _executed(text, scope, target, gradients):
            return text if target is None else f"{target} = {text}"
    scope.objects = before
    return None


def overlaps(value: torch.Tensor) -> bool:
    """Return whether two elements of a tensor may lie at one place.

    Example:
        >>> overlaps(torch.ones(1, 3).expand(2, 3)), overlaps(torch.ones(4, 2).t())
        (True, False)
    """
    reach = 0
    for step, extent in sorted(zip(value.stride(), value.shape, strict=True)):
        if extent > 1:
            if step <= reach:
                return True
            reach += (extent - 1) * step
    return False


def lie_within(values: Sequence[torch.Tensor]) -> bool:
    """Return whether one tensor lies within another with gaps, in one storage.

    What a write into one of them leaves depends on the order of its elements. Eager
    mode refuses that for contiguous tensors, and for others it does not look.

    Example:
        >>> memory = torch.ones(8)
        >>> lie_within([memory[::2], memory[:4]]), lie_within([memory, memory])
        (True, False)
    """
    by_storage: dict[int, list[torch.Tensor]] = {}
    for value in values:
        by_storage.setdefault(value.untyped_storage().data_ptr(), []).append(value)
    return any(
        len(group) > 1 and not all(value.is_contiguous() for value in group)
        for group in by_storage.values()
    )


def _executed(text: str, scope: Scope, target: str | None, gradients: bool) -> bool:
    room: dict[str, Any] = {"torch": torch, "F": torch.nn.functional, **scope.values}
    with contextlib.suppress(Exception), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seed_generators(0)  # what is drawn must not depend on what ran before
        for name, made in scope.objects.items():
            exec(IMPORTS + prelude(made) + f"{name} = {made}", room)
        with torch.set_grad_enabled(gradients):
            if target is None:
                exec(text, room)
                return True
            value = eval(text, room)
        if isinstance(value, torch.Tensor) and value.numel() <= scope.max_elements:
            scope.values[target] = value
            return True
    return False
