"""A program: Python text over torch, with the tensors that it starts from."""

import linecache
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from verify.strategies.tensors import TensorSpec


@dataclass(frozen=True, slots=True)
class Program:
    """A function of tensors, as text.

    Attributes:
        inputs: Parameter -> tensor, in order.
        lines: Statements of the body.
        returns: Names that it returns.
        operations: Names of the rows of the operation table, one for each line.
    """

    inputs: Mapping[str, TensorSpec]
    lines: tuple[str, ...]
    returns: tuple[str, ...]
    operations: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """The function ``program`` as Python text; it imports nothing but torch."""
        head = f"def program({', '.join(self.inputs)}):"
        tail = f"    return {', '.join(self.returns)}"
        if len(self.returns) == 1:
            tail += ","
        return "\n".join([head, *(f"    {line}" for line in self.lines), tail]) + "\n"

    def function(self) -> Callable[..., tuple[Any, ...]]:
        """Return the function, with its text where tracebacks look for it."""
        name = f"<program {hash(self.source) & 0xFFFFFFFF:08x}>"
        text = "import torch\nimport torch.nn.functional as F\n\n" + self.source
        lines = text.splitlines(keepends=True)
        linecache.cache[name] = (len(text), None, lines, name)
        room: dict[str, Any] = {"__name__": "program"}
        exec(compile(text, name, "exec"), room)
        function: Callable[..., tuple[Any, ...]] = room["program"]
        return function

    def build(self, device: str = "cpu") -> list[torch.Tensor]:
        """Return fresh inputs."""
        return [spec.build(device) for spec in self.inputs.values()]

    def without(self, drop: Sequence[int]) -> "Program | None":
        """Return the program without some lines, pruned to what is still used.

        None if what it returns would be gone.
        """
        kept = [k for k in range(len(self.lines)) if k not in set(drop)]
        lines = tuple(self.lines[k] for k in kept)
        operations = tuple(self.operations[k] for k in kept)
        defined = set(self.inputs)
        for line in lines:
            defined.update(targets(line))
        returns = tuple(name for name in self.returns if name in defined)
        if not returns:
            return None
        return replace(self, lines=lines, operations=operations, returns=returns)


def targets(line: str) -> list[str]:
    """Return the names that a line assigns.

    Example:
        >>> targets("v1, v2 = torch.sort(x0)"), targets("x0.add_(1)")
        (['v1', 'v2'], [])
    """
    head, equals, _ = line.partition(" = ")
    names = [name.strip() for name in head.split(",")]
    if equals and all(name.isidentifier() for name in names if name):
        return [name for name in names if name]
    return []
