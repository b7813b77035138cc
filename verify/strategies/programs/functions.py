"""Python functions that test capture: control flow, closures, side effects.

A compiler that captures Python must leave behind what plain execution leaves: results,
changed lists, dicts and attributes, exceptions that were caught. The functions are
drawn from the table of :mod:`statements`, nested a few levels deep; each is run as it
grows, and a statement at which it fails is left out.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch
from hypothesis import strategies as st

from verify.strategies.tensors import TensorSpec, contiguous

from .draw import Draw
from .program import Program
from .statements import (
    BLOCKS,
    CONDITIONS,
    DATA_CONDITIONS,
    NUMBER_EXPRESSIONS,
    TENSOR_EXPRESSIONS,
)
from .strategy import runs

OBJECTS = {
    "s0": "[1, 2, 3][: CALL + 2]",
    "d0": "{'a': 1 + CALL, 'b': 2}",
    "o0": "Box(torch.ones(SHAPE), CALL)",
    "l0": "[torch.ones(SHAPE), torch.full(SHAPE, 2.0)][: 2 - CALL]",
    "g0": "fresh_state()",
}
"""Parameters beside the tensors; ``CALL`` is the number of the call, so that a second
call finds other values where the first was compiled."""

SHAPES = ((2,), (2, 3), (4, 1))

_HOLE = re.compile(r"\{\{|\}\}|\{(\w+)\}")
_SIMPLE_BLOCKS = tuple(
    name for name, text in BLOCKS.items() if "{B}" not in text and "def " not in text
)


@dataclass
class _Writer:
    """Fills templates.

    Attributes:
        tensors: Names of tensors that are bound here on every path.
        returned: What an early return returns, one expression for each result.
        count: Names given so far.
    """

    tensors: list[str]
    returned: int
    count: int = 0
    defined: list[str] = field(default_factory=list)

    def text(self, draw: Draw, template: str, depth: int) -> str:
        """Return a template with its holes filled; new tensors become ``defined``."""
        names: dict[str, str] = {}
        self.defined = []

        def fill(hole: re.Match[str]) -> str:
            kind = hole.group(1)
            if kind is None:
                return hole.group(0)[0]
            if kind in ("v", "w"):
                if kind not in names:
                    names[kind] = f"v{self.count}" if kind == "v" else f"w{self.count}"
                    self.count += 1
                return names[kind]
            if kind == "a":
                return str(draw(st.sampled_from(self.tensors)))
            if kind == "B":
                indent = hole.string[: hole.start()].rpartition("\n")[2]
                return self.block(draw, depth + 1).replace("\n", "\n" + indent)
            if kind == "RETURN":
                parts = [
                    self.expression(draw, "T", depth) for _ in range(self.returned)
                ]
                return ", ".join(parts) + ","
            return self.expression(draw, kind, depth)

        text = _HOLE.sub(fill, template)
        if "v" in names:
            self.defined = [names["v"]]
        return text

    def expression(self, draw: Draw, kind: str, depth: int) -> str:
        """Return an expression of a kind of hole."""
        table = {
            "T": TENSOR_EXPRESSIONS,
            "N": NUMBER_EXPRESSIONS,
            "C": CONDITIONS,
            "D": DATA_CONDITIONS,
        }[kind]
        if depth > 3:
            table = table[:2]
        text = self.text(draw, draw(st.sampled_from(table)), depth + 1)
        return f"({text})" if kind == "N" and " " in text else text

    def block(self, draw: Draw, depth: int) -> str:
        """Return a few statements; what they define is not bound behind them."""
        outer = list(self.tensors)
        lines = []
        for _ in range(draw(st.integers(1, 2))):
            names = tuple(BLOCKS) if depth < 2 else _SIMPLE_BLOCKS
            lines.append(self.text(draw, BLOCKS[draw(st.sampled_from(names))], depth))
            self.tensors.extend(self.defined)
        self.tensors = outer
        self.defined = []
        return "\n".join(lines)


@st.composite
def functions(
    draw: st.DrawFn,
    max_statements: int = 5,
    max_calls: int = 2,
    statements: Sequence[str] = tuple(BLOCKS),
) -> Program:
    """Draw a Python function that plain execution runs; shrinks to one statement.

    Args:
        draw: Given by hypothesis.
        max_statements: At most so many statements at the outermost level.
        max_calls: At most so many calls of one compiled function; later ones come with
            other lists, dicts and attributes.
        statements: Keys of ``statements.BLOCKS`` for the outermost level.

    Raises:
        ValueError: A statement is not known.

    Example:
        >>> from hypothesis import find, settings
        >>> found = find(
        ...     functions(statements=["append"]), lambda program: True,
        ...     settings=settings(database=None, deadline=None),
        ... )
        >>> found.lines
        ('s0.append(1)',)
    """
    wrong = [name for name in statements if name not in BLOCKS]
    if wrong or not statements:
        raise ValueError(
            f"statements among {', '.join(BLOCKS)} were needed, got {list(statements)}"
        )
    shape = draw(st.sampled_from(SHAPES))
    seeds = st.integers(0, 20)
    inputs = {
        name: TensorSpec(
            shape, contiguous(shape), 0, torch.float32, "integers", draw(seeds)
        )
        for name in ("x0", "x1")
    }
    objects = {
        name: text.replace("SHAPE", str(shape)) for name, text in OBJECTS.items()
    }
    count = draw(st.integers(1, 2))
    writer = _Writer(list(inputs), count)
    program = Program(inputs, (), ("x0",) * count, (), objects)
    for _ in range(draw(st.integers(1, max_statements))):
        name = draw(st.sampled_from(list(statements)))
        line = writer.text(draw, BLOCKS[name], 0)
        defined = writer.defined
        longer = replace(
            program,
            lines=(*program.lines, line),
            operations=(*program.operations, name),
        )
        if runs(longer):
            program = longer
            writer.tensors.extend(defined)
    latest = writer.tensors[-count:]
    program = replace(program, returns=tuple(latest))
    if max_calls > 1 and draw(st.booleans()):
        again = replace(program, others=(inputs,) * (max_calls - 1))
        if all(runs(again, call) for call in range(1, max_calls)):
            program = again
    return program
