"""A case: a program for a subject, as JSON that a person can read."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import torch

from verify.strategies.programs import Program
from verify.strategies.tensors import TensorSpec


@dataclass(frozen=True, slots=True)
class Case:
    """What is run.

    Attributes:
        program: The program.
        subject: Key of ``subjects.SUBJECTS``.
        device: ``"cpu"`` or ``"cuda"``.
        dynamic: Whether sizes are compiled as symbols.
        seed: Of the campaign's batch that drew it, -1 if by hand.
    """

    program: Program
    subject: str
    device: str = "cpu"
    dynamic: bool = False
    seed: int = -1

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        inputs = {
            name: {**asdict(spec), "dtype": str(spec.dtype).removeprefix("torch.")}
            for name, spec in self.program.inputs.items()
        }
        return {
            "subject": self.subject,
            "device": self.device,
            "dynamic": self.dynamic,
            "seed": self.seed,
            "inputs": inputs,
            "lines": list(self.program.lines),
            "returns": list(self.program.returns),
            "operations": list(self.program.operations),
        }


def from_json(data: Mapping[str, Any]) -> Case:
    """Return the case that :meth:`Case.to_json` wrote.

    Raises:
        KeyError: A part is missing.
    """
    inputs = {}
    for name, fields in data["inputs"].items():
        given = dict(fields)
        given["dtype"] = getattr(torch, given["dtype"])
        for part in ("shape", "strides"):
            given[part] = tuple(given[part])
        inputs[name] = TensorSpec(**given)
    program = Program(
        inputs,
        tuple(data["lines"]),
        tuple(data["returns"]),
        tuple(data["operations"]),
    )
    return Case(
        program,
        data["subject"],
        data.get("device", "cpu"),
        data.get("dynamic", False),
        data.get("seed", -1),
    )
