"""A program: Python text over torch, with the values that it starts from."""

import linecache
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import torch

from verify.strategies.tensors import TensorSpec, built

from .operations import DRAWN_AT_RANDOM, STATEMENTS
from .prelude import prelude

IMPORTS = "import torch\nimport torch.nn.functional as F\n\n\n"


@dataclass(frozen=True, slots=True)
class Program:
    """A function of tensors and Python objects, as text.

    Attributes:
        inputs: Parameter -> tensor, in order.
        lines: Statements of the body; one may go over several lines of text.
        returns: Names that it returns.
        operations: Names of the rows of the operation table, one for each statement.
        objects: Parameters after the tensors -> expression that builds a fresh one: a
            module with its parameters, a list, a dict. ``CALL`` in it stands for the
            number of the call.
        others: Tensors of further calls of the same compiled function: of other sizes,
            or lying in one another's storage where those of the first do not.
        gradients: Whether gradients of the results are compared too.
    """

    inputs: Mapping[str, TensorSpec]
    lines: tuple[str, ...]
    returns: tuple[str, ...]
    operations: tuple[str, ...] = ()
    objects: Mapping[str, str] = field(default_factory=dict)
    others: tuple[Mapping[str, TensorSpec], ...] = ()
    gradients: bool = False

    @property
    def calls(self) -> int:
        """Calls of the compiled function."""
        return 1 + len(self.others)

    @property
    def source(self) -> str:
        """The function ``program`` as Python text; it imports nothing but torch."""
        head = f"def program({', '.join([*self.inputs, *self.objects])}):"
        tail = f"    return {', '.join(self.returns)}"
        if len(self.returns) == 1:
            tail += ","
        body = [textwrap.indent(line, "    ") for line in self.lines]
        text = "\n".join([head, *body, tail]) + "\n"
        return prelude("\n".join([text, *self.objects.values()])) + text

    def function(self) -> Callable[..., tuple[Any, ...]]:
        """Return the function, with its text where tracebacks look for it.

        Raises:
            SyntaxError: The lines are no Python.
        """
        function: Callable[..., tuple[Any, ...]] = _room(self.source)["program"]
        return function

    def build(self, device: str = "cpu", call: int = 0) -> list[Any]:
        """Return fresh arguments.

        Args:
            device: Of the tensors and modules.
            call: Number of the call, 0 for the first.
        """
        specs = self.inputs if call == 0 else self.others[call - 1]
        made: list[Any] = [*built(specs, device).values()]
        room = _room(self.source)
        for text in self.objects.values():
            value = eval(text.replace("CALL", str(call)), room)
            if device != "cpu" and isinstance(value, torch.nn.Module):
                value = value.to(device)
            made.append(value)
        return made

    def without(self, drop: Sequence[int]) -> "Program | None":
        """Return the program without some statements, pruned to what is still used.

        None if what it returns would be gone.
        """
        kept = [k for k in range(len(self.lines)) if k not in set(drop)]
        lines = tuple(self.lines[k] for k in kept)
        operations = tuple(self.operations[k] for k in kept)
        defined = {*self.inputs, *self.objects}
        for line in lines:
            defined.update(targets(line))
        returns = tuple(name for name in self.returns if name in defined)
        if not returns:
            return None
        return replace(self, lines=lines, operations=operations, returns=returns)

    def random_places(self) -> frozenset[int]:
        """Return what depends on random numbers: numbers of results and arguments.

        Results count from 0, then the arguments after the run, then all gradients. A
        statement that writes random values somewhere may reach, through a view, all
        that statements name together with what it names.
        """
        if DRAWN_AT_RANDOM.isdisjoint(self.operations):
            return frozenset()
        arguments = [*self.inputs, *self.objects]
        beside = self._beside()
        open_names: set[str] = set()
        for line, operation in zip(self.lines, self.operations, strict=True):
            words = _words(line)
            if operation in DRAWN_AT_RANDOM or words & open_names:
                names = targets(line)
                open_names.update(names, words & set(self.objects))
                if not names or operation in STATEMENTS:
                    open_names.update(*(beside.get(name, ()) for name in words))
        names = [*self.returns, *arguments, ""]
        return frozenset(
            place for place, name in enumerate(names) if name in open_names or not name
        )

    def _beside(self) -> dict[str, set[str]]:
        """Return for each name those that may share memory with it.

        Two names share some only if statements name them together, in steps, or if the
        tensors lie in one storage from the start.
        """
        known = {*self.inputs, *self.objects, *self.returns}
        known.update(name for line in self.lines for name in targets(line))
        groups = [_words(line) & known for line in self.lines]
        for specs in (self.inputs, *self.others):
            groups += [{name, one.base} & known for name, one in specs.items()]
        found = {name: {name} for name in known}
        for group in groups:
            whole = set().union(*(found[name] for name in group))
            found.update(dict.fromkeys(whole, whole))
        return found


def _words(line: str) -> set[str]:
    return set(re.findall(r"\b[a-z]\w*\b", line))


@lru_cache(maxsize=16)
def _room(source: str) -> dict[str, Any]:
    """Return what a program's text defines."""
    name = f"<program {hash(source) & 0xFFFFFFFF:08x}>"
    text = IMPORTS + source
    lines = text.splitlines(keepends=True)
    linecache.cache[name] = (len(text), None, lines, name)
    room: dict[str, Any] = {"__name__": "program"}
    exec(compile(text, name, "exec"), room)
    return room


def targets(statement: str) -> list[str]:
    """Return the names that a statement assigns in its own block.

    Example:
        >>> targets("v1, v2 = torch.sort(x0)"), targets("x0.add_(1)")
        (['v1', 'v2'], [])
    """
    found: list[str] = []
    for line in statement.splitlines():
        if line.startswith("def "):
            found.append(line[4:].partition("(")[0])
        head, equals, _ = line.partition(" = ")
        names = [name.strip() for name in head.split(",")]
        if equals and all(name.isidentifier() for name in names if name):
            found.extend(name for name in names if name)
    return list(dict.fromkeys(found))
