"""What one question about one access found out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from algebra.verdict import Proved, Refuted, Unknown, Verdict
from verify.symbolic.terms import Term


@dataclass(frozen=True, slots=True)
class Finding:
    """One checked statement.

    Attributes:
        obligation: ``in_bounds``, ``no_wrap``, ...
        text: The statement, for a person.
        source: Source line.
        verdict: The answer.
        formulas: What the solver was asked; a solution refutes the statement.
    """

    obligation: str
    text: str
    source: str
    verdict: Verdict
    formulas: tuple[Term, ...] = ()


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A launch, and the lanes of a program, that break a statement.

    Attributes:
        statement: What is broken.
        source: Where.
        arguments: Scalar -> value.
        grid: Number of programs along each axis.
        programs: The program ids; two of them for a race.
        places: Lanes and iterations, in words.
        contents: Buffer -> offset -> integer that it has to hold.
        detail: Offsets and extents.
        confirmed: How it was confirmed by running; empty where it was not.
    """

    statement: str
    source: str
    arguments: Mapping[str, int]
    grid: tuple[int, ...]
    programs: Sequence[Mapping[str, int]]
    places: Mapping[str, int]
    contents: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    detail: Mapping[str, Any] = field(default_factory=dict)
    confirmed: str = ""

    def __str__(self) -> str:
        def listed(values: Mapping[str, Any]) -> str:
            return ", ".join(f"{name}={value}" for name, value in values.items())

        lines = [f"{self.statement} ({self.source})"]
        if self.arguments:
            lines.append(f"  arguments: {listed(self.arguments)}")
        lines.append(f"  grid: {self.grid}")
        for program in self.programs:
            lines.append(f"  program: {listed(program) or 'the only one'}")
        if self.places:
            lines.append(f"  at: {listed(self.places)}")
        for name, held in self.contents.items():
            cells = ", ".join(f"[{offset}] = {value}" for offset, value in held.items())
            lines.append(f"  {name}{cells}")
        if self.detail:
            lines.append(f"  {listed(self.detail)}")
        if self.confirmed:
            lines.append(f"  confirmed: {self.confirmed}")
        return "\n".join(lines)


def combined(findings: Sequence[Finding], method: str = "z3") -> Verdict:
    """Return the verdict of an obligation: one refutation refutes it.

    Law: ``Proved`` only where each finding is.
    """
    unknown = None
    for finding in findings:
        if isinstance(finding.verdict, Refuted):
            return finding.verdict
        if unknown is None and isinstance(finding.verdict, Unknown):
            unknown = finding.verdict
    if unknown is not None:
        return unknown
    return Proved(method, (("statements", len(findings)),))
