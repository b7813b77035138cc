"""Make a failing program small: fewer lines, fewer results, plainer inputs."""

import ast
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import replace

import torch

from verify.strategies.programs import Program
from verify.strategies.programs.program import targets
from verify.strategies.tensors import TensorSpec, contiguous


def shrink(
    program: Program, fails: Callable[[Program], bool], limit: int = 200
) -> Program:
    """Return a program that still fails and that no single step makes smaller.

    Args:
        program: One that fails.
        fails: Whether a program fails in the same way.
        limit: At most so many tries.
    """
    tries = 0
    changed = True
    while changed:
        changed = False
        for smaller in _smaller(program):
            if tries >= limit:
                return program
            tries += 1
            if fails(smaller):
                program = smaller
                changed = True
                break
    return program


def sliced(program: Program, fails: Callable[[Program], bool]) -> Program:
    """Return the program with one result and what leads to it, if that still fails.

    Args:
        program: One that fails.
        fails: Whether a program fails in the same way; asked once for each result.
    """
    return next(filter(fails, _slices(program)), program)


def _slices(program: Program) -> Iterator[Program]:
    """For each result: the statements that name what it is made of, and no others."""
    for result in program.returns:
        needed, drop = {result}, []
        for number in range(len(program.lines) - 1, -1, -1):
            line = program.lines[number]
            words = set(re.findall(r"\b[a-z]\w*\b", line))
            if needed & (set(targets(line)) or words):
                needed |= words
            else:
                drop.append(number)
        smaller = replace(program, returns=(result,)).without(drop)
        if smaller is not None and smaller != program:
            yield smaller


def _smaller(program: Program) -> Iterator[Program]:
    yield from _slices(program)
    count = len(program.lines)
    size = count // 2
    while size >= 1:
        for start in range(count - size, -1, -size):
            found = program.without(range(start, start + size))
            if found is not None:
                yield _pruned(found)
        size //= 2
    yield from _plainer(program)
    yield from _cut(program)
    yield from _bypassed(program)
    yield from _inside(program)
    if len(program.returns) > 1:
        for name in program.returns:
            yield replace(program, returns=(name,))
    for name in list(program.inputs):
        text = "\n".join([*program.lines, *program.returns])
        if name not in text and len(program.inputs) > 1:
            rest = {k: v for k, v in program.inputs.items() if k != name}
            others = tuple(
                {k: v for k, v in specs.items() if k != name}
                for specs in program.others
            )
            yield replace(program, inputs=rest, others=others)
    for name, spec in program.inputs.items():
        for simpler in _simpler(spec):
            yield replace(program, inputs={**program.inputs, name: simpler})


def _plainer(program: Program) -> Iterator[Program]:
    """Drop further calls, gradients, and objects that nothing names."""
    for number in range(len(program.others)):
        rest = (*program.others[:number], *program.others[number + 1 :])
        yield replace(program, others=rest)
    if program.others:
        # the call that fails may be a later one, on its own
        yield replace(program, inputs=program.others[-1], others=())
    if program.gradients:
        plain = {
            name: replace(spec, requires_grad=False)
            for name, spec in program.inputs.items()
        }
        yield replace(program, gradients=False, inputs=plain)
    text = "\n".join([*program.lines, *program.returns])
    unused = [name for name in program.objects if not re.search(rf"\b{name}\b", text)]
    for names in ([unused] if len(unused) > 1 else []) + [[name] for name in unused]:
        kept = {k: v for k, v in program.objects.items() if k not in names}
        yield replace(program, objects=kept)


def _inside(program: Program) -> Iterator[Program]:
    """Leave text out of statements that go over several lines.

    What is no Python any more fails in another way, and is not taken.
    """
    for number, line in enumerate(program.lines):
        rows = line.split("\n")
        for row in range(len(rows) - 1, -1, -1) if len(rows) > 1 else ():
            if not rows[row].strip() or not (rows[:row] + rows[row + 1 :]):
                continue
            for text in _shorter(rows, row):
                lines = (*program.lines[:number], text, *program.lines[number + 1 :])
                smaller = replace(program, lines=lines)
                if _is_python(smaller):
                    yield smaller


def _shorter(rows: list[str], row: int) -> Iterator[str]:
    """Leave a row out with its block, alone, or take its block in its place."""
    indent = len(rows[row]) - len(rows[row].lstrip())
    end = row + 1
    while end < len(rows) and (
        not rows[end].strip() or len(rows[end]) - len(rows[end].lstrip()) > indent
    ):
        end += 1
    if rows[:row] or rows[end:]:
        yield "\n".join([*rows[:row], *rows[end:]])
    if end > row + 1:
        block = "\n".join(rows[row + 1 : end])
        moved = textwrap.indent(textwrap.dedent(block), " " * indent)
        yield "\n".join([*rows[:row], *moved.split("\n"), *rows[end:]])


def _is_python(program: Program) -> bool:
    try:
        ast.parse(program.source)
    except SyntaxError:
        return False
    return True


def _cut(program: Program) -> Iterator[Program]:
    """Return an earlier value, without the lines behind it."""
    for count in range(1, len(program.lines)):
        names = targets(program.lines[count - 1])
        if names:
            yield replace(
                program,
                lines=program.lines[:count],
                operations=program.operations[:count],
                returns=tuple(names[:1]),
            )


def _bypassed(program: Program) -> Iterator[Program]:
    """Leave a line out, and take one of its operands for its value."""
    for number, line in enumerate(program.lines):
        names = targets(line)
        if len(names) != 1:
            continue
        used = [name for name in re.findall(r"\b[xv]\d+\b", line) if name != names[0]]
        for operand in dict.fromkeys(used):
            word = re.compile(rf"\b{names[0]}\b")
            lines = [word.sub(operand, text) for text in program.lines]
            del lines[number]
            returns = [operand if name in names else name for name in program.returns]
            kept = program.operations
            yield replace(
                program,
                lines=tuple(lines),
                operations=(*kept[:number], *kept[number + 1 :]),
                returns=tuple(dict.fromkeys(returns)),
            )


def _pruned(program: Program) -> Program:
    """Drop results that are inputs where others are left."""
    made = {name for line in program.lines for name in targets(line)}
    kept = tuple(name for name in program.returns if name in made)
    return replace(program, returns=kept) if kept else program


def _simpler(spec: TensorSpec) -> Iterator[TensorSpec]:
    if spec.base:
        yield replace(spec, base="")
    if not spec.is_plain:
        yield replace(spec, strides=contiguous(spec.shape), offset=0)
        if spec.offset:
            yield replace(spec, offset=0)
    for dim, extent in enumerate(spec.shape):
        for smaller in (1, 2, 3, extent // 2):
            if smaller < extent:
                shape = (*spec.shape[:dim], smaller, *spec.shape[dim + 1 :])
                if spec.is_plain:
                    yield replace(spec, shape=shape, strides=contiguous(shape))
                else:
                    yield replace(spec, shape=shape)
    if spec.shape and spec.is_plain:
        shape = spec.shape[1:]
        yield replace(spec, shape=shape, strides=contiguous(shape))
    if spec.dtype != torch.float32:
        yield replace(spec, dtype=torch.float32)
    for content in ("integers", "normal"):
        if spec.content not in ("integers", content):
            yield replace(spec, content=content)
    if spec.seed:
        yield replace(spec, seed=0)
