"""Steps that make the program of a graph smaller: cuts, inputs for values, sizes."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import torch

from verify.strategies.programs import Program
from verify.strategies.programs.program import targets
from verify.strategies.tensors import DTYPES, TensorSpec, contiguous

_NAME = re.compile(r"\b[xv]\d+\b")
_IN_PLACE = re.compile(r"[a-z0-9]_(\.\w+)?\(")


def names_in(text: str) -> set[str]:
    """Return the inputs and values that a text names.

    Example:
        >>> sorted(names_in("v3 = torch.add(x0, v12)"))
        ['v12', 'v3', 'x0']
    """
    return set(_NAME.findall(text))


def alive(program: Program) -> Program:
    """Return the program without what its results do not need.

    A statement that writes in place counts as a use of what it names, as soon as
    something that it names is needed.
    """
    needed = set(program.returns)
    kept: list[int] = []
    changed = True
    while changed:
        changed = False
        for number in range(len(program.lines) - 1, -1, -1):
            line = program.lines[number]
            if number in kept:
                continue
            made = targets(line)
            writes = not made or bool(_IN_PLACE.search(line))
            if needed.intersection(made) or (writes and needed & names_in(line)):
                kept.append(number)
                needed |= names_in(line)
                changed = True
    order = sorted(kept)
    return replace(
        program,
        lines=tuple(program.lines[n] for n in order),
        operations=tuple(program.operations[n] for n in order),
        inputs={k: v for k, v in program.inputs.items() if k in needed},
        objects={k: v for k, v in program.objects.items() if k in needed},
    )


def values_of(program: Program) -> dict[str, TensorSpec]:
    """Return name -> type, shape and strides of each tensor that eager mode makes.

    What eager mode refuses ends the run; what came before it is returned.
    """
    room: dict[str, Any] = {
        "torch": torch,
        "F": torch.nn.functional,
        **dict(zip([*program.inputs, *program.objects], program.build(), strict=True)),
    }
    found: dict[str, TensorSpec] = {}
    with torch.no_grad():
        for line in program.lines:
            try:
                exec(line, room)
            except Exception:
                break
            for name in targets(line):
                value = room[name]
                if isinstance(value, torch.Tensor) and value.dtype in DTYPES:
                    found[name] = like(value)
    return found


def like(value: torch.Tensor) -> TensorSpec:
    """Return drawn numbers in the shape of a tensor."""
    shape, strides = tuple(value.shape), tuple(value.stride())
    if value.numel() == 0 or 0 in strides:
        strides = contiguous(shape)
    return TensorSpec(shape, strides, 0, value.dtype, "normal")


def results_alone(program: Program) -> Iterator[Program]:
    """Return one result, then halves of them."""
    count = len(program.returns)
    if count > 1:
        half = count // 2
        for part in (program.returns[:half], program.returns[half:]):
            yield alive(replace(program, returns=part))
        if count <= 8:
            for name in program.returns:
                yield alive(replace(program, returns=(name,)))


def earlier(program: Program) -> Iterator[Program]:
    """Return a value of the middle, of the first quarter, ... for the results."""
    known = values_of(program)
    count = len(program.lines)
    places = (count // 2, count // 4, 3 * count // 4, 7 * count // 8, count - 2)
    for place in dict.fromkeys(places):
        made = targets(program.lines[place]) if 0 <= place < count - 1 else []
        if len(made) == 1 and made[0] in known:
            yield alive(replace(program, returns=(made[0],)))


def inputs_for_values(program: Program) -> Iterator[Program]:
    """Take inputs for values: for all of a first part, then for each on its own."""
    known = values_of(program)
    count = len(program.lines)
    for place in dict.fromkeys((count // 2, 3 * count // 4, count // 4)):
        if place:
            found = _from(program, known, place)
            if found is not None:
                yield found
    for number in range(count - 1, -1, -1):
        made = targets(program.lines[number])
        if len(made) == 1 and made[0] in known and not _is_last(program, number):
            yield _given(program, known, [number])


def _is_last(program: Program, number: int) -> bool:
    made = targets(program.lines[number])
    return set(program.returns) <= set(made)


def _from(
    program: Program, known: Mapping[str, TensorSpec], place: int
) -> Program | None:
    """Start at a statement: what it and later ones read is given."""
    later = set().union(*(names_in(line) for line in program.lines[place:]))
    dropped = [
        n
        for n, line in enumerate(program.lines[:place])
        if later.intersection(targets(line))
        or set(program.returns) & set(targets(line))
    ]
    if any(name not in known for n in dropped for name in targets(program.lines[n])):
        return None
    return _given(program, known, dropped)


def _given(
    program: Program, known: Mapping[str, TensorSpec], numbers: list[int]
) -> Program:
    inputs = dict(program.inputs)
    objects = dict(program.objects)
    gone = set(numbers)
    for number in numbers:
        for name in targets(program.lines[number]):
            spec = known[name]
            if spec.dtype.is_floating_point:
                inputs[name] = spec
            else:
                objects[name] = numbers_of(spec)
    order = [n for n in range(len(program.lines)) if n not in gone]
    return alive(
        replace(
            program,
            inputs=inputs,
            objects=objects,
            lines=tuple(program.lines[n] for n in order),
            operations=tuple(program.operations[n] for n in order),
        )
    )


def numbers_of(spec: TensorSpec) -> str:
    """Return an expression for integers that are indices of whatever has two places.

    Example:
        >>> numbers_of(TensorSpec((2, 2), (2, 1), 0, torch.int64))
        '(torch.arange(4) % 2).reshape(2, 2).to(torch.int64)'
    """
    count = 1
    for extent in spec.shape:
        count *= extent
    shape = ", ".join(map(str, spec.shape)) or "()"
    return f"(torch.arange({count}) % 2).reshape({shape}).to({spec.dtype})"


def drawn_values(program: Program) -> Iterator[Program]:
    """Take drawn numbers for saved ones: for all, then for each on its own."""
    saved = [name for name, text in program.objects.items() if "torch.load" in text]
    for names in ([saved] if len(saved) > 1 else []) + [[name] for name in saved]:
        for content in ("integers", "normal"):
            inputs, objects = dict(program.inputs), dict(program.objects)
            for name in names:
                value = eval(objects.pop(name), {"torch": torch})
                spec = replace(like(value), content=content)
                if spec.dtype.is_floating_point:
                    inputs[name] = spec
                else:
                    objects[name] = numbers_of(spec)
            yield replace(program, inputs=inputs, objects=objects)


def smaller_sizes(program: Program) -> Iterator[Program]:
    """Make one extent smaller in all inputs, and in the statements, at once."""
    extents = {n for spec in program.inputs.values() for n in spec.shape if n > 3}
    for text in program.objects.values():
        extents.update(int(n) for n in re.findall(r"\b\d+\b", text) if int(n) > 3)
    for extent in sorted(extents, reverse=True):
        for new in (2, 3, max(extent // 4, 4), extent // 2):
            if 1 < new < extent:
                yield _resized(program, extent, new)


def _resized(program: Program, old: int, new: int) -> Program:
    inputs = {}
    for name, spec in program.inputs.items():
        shape = tuple(new if n == old else n for n in spec.shape)
        same = shape == spec.shape
        inputs[name] = (
            spec
            if same
            else replace(spec, shape=shape, strides=contiguous(shape), offset=0)
        )
    word = re.compile(rf"(?<![\w.]){old}(?![\w.])")
    return replace(
        program,
        inputs=inputs,
        lines=tuple(word.sub(str(new), line) for line in program.lines),
    )


def literal_values(program: Program, most: int = 4096) -> Program:
    """Return the program with saved numbers written out, where they are not many."""
    objects = dict(program.objects)
    for name, text in program.objects.items():
        if "torch.load" in text:
            value = eval(text, {"torch": torch})
            if value.numel() <= most:
                flat = value.flatten()
                wide = flat.double() if flat.is_floating_point() else flat
                objects[name] = (
                    f"torch.tensor({wide.tolist()!r}, dtype={value.dtype})"
                    f".reshape({tuple(value.shape)})"
                )
    return replace(program, objects=objects)
