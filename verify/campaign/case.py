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
        has_parity: Whether random numbers must be eager mode's (backends that have
            a setting for it get it); else only types, shapes, strides and the same
            numbers from the same seed are asked for.
    """

    program: Program
    subject: str
    device: str = "cpu"
    dynamic: bool = False
    seed: int = -1
    has_parity: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        program = self.program
        return {
            "subject": self.subject,
            "device": self.device,
            "dynamic": self.dynamic,
            "seed": self.seed,
            "has_parity": self.has_parity,
            "inputs": _specs_to_json(program.inputs),
            "others": [_specs_to_json(specs) for specs in program.others],
            "objects": dict(program.objects),
            "gradients": program.gradients,
            "lines": list(program.lines),
            "returns": list(program.returns),
            "operations": list(program.operations),
        }


def from_json(data: Mapping[str, Any]) -> Case:
    """Return the case that :meth:`Case.to_json` wrote.

    Raises:
        KeyError: A part is missing.
    """
    program = Program(
        _specs_from_json(data["inputs"]),
        tuple(data["lines"]),
        tuple(data["returns"]),
        tuple(data["operations"]),
        dict(data.get("objects", {})),
        tuple(_specs_from_json(specs) for specs in data.get("others", [])),
        data.get("gradients", False),
    )
    return Case(
        program,
        data["subject"],
        data.get("device", "cpu"),
        data.get("dynamic", False),
        data.get("seed", -1),
        data.get("has_parity", False),
    )


def _specs_to_json(specs: Mapping[str, TensorSpec]) -> dict[str, Any]:
    return {
        name: {**asdict(spec), "dtype": str(spec.dtype).removeprefix("torch.")}
        for name, spec in specs.items()
    }


def _specs_from_json(data: Mapping[str, Any]) -> dict[str, TensorSpec]:
    return {name: spec_from_json(fields) for name, fields in data.items()}


def spec_from_json(fields: Mapping[str, Any]) -> TensorSpec:
    """Return a tensor from its fields as plain data."""
    given = dict(fields)
    given["dtype"] = getattr(torch, given["dtype"])
    for part in ("shape", "strides"):
        given[part] = tuple(given[part])
    return TensorSpec(**given)
