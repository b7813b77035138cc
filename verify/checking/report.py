"""What a check found: one verdict an obligation, and what they rest on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from algebra.verdict import Proved, Refuted, Unknown, Verdict

from .finding import Counterexample, Finding

OBLIGATIONS = (
    "in_bounds",
    "no_wrap",
    "write_once",
    "no_race",
    "coverage",
    "no_poison",
    "alignment",
    "reference",
)


@dataclass(frozen=True, slots=True)
class Report:
    """The result of ``verify.check``.

    Attributes:
        kernel: Name.
        verdicts: Obligation -> verdict, of those that were checked.
        findings: Each checked statement.
        precondition: A condition on the scalars under which the kernel is right,
            where it is not right for all; ``None`` otherwise.
        assumptions: What the verdicts rest on, in words.
        seconds: How long it took.
        questions: Questions that went to the solver.
    """

    kernel: str
    verdicts: Mapping[str, Verdict]
    findings: Sequence[Finding] = ()
    precondition: str | None = None
    assumptions: Sequence[str] = ()
    seconds: float = 0.0
    questions: int = 0
    notes: Sequence[str] = field(default_factory=tuple)

    def __getitem__(self, obligation: str) -> Verdict:
        try:
            return self.verdicts[obligation]
        except KeyError:
            raise KeyError(
                f"{obligation!r} was not checked; checked: {', '.join(self.verdicts)}"
            ) from None

    @property
    def verdict(self) -> Verdict:
        """The verdict for all obligations together: one refutation refutes it."""
        unknown = None
        for verdict in self.verdicts.values():
            if isinstance(verdict, Refuted):
                return verdict
            if unknown is None and isinstance(verdict, Unknown):
                unknown = verdict
        if unknown is not None:
            return unknown
        return Proved("z3", (("obligations", len(self.verdicts)),))

    def as_record(self) -> dict[str, Any]:
        """Return the report as data for JSON."""
        return {
            "kernel": self.kernel,
            "verdict": verdict_name(self.verdict),
            "obligations": {
                name: verdict_record(verdict) for name, verdict in self.verdicts.items()
            },
            "precondition": self.precondition,
            "assumptions": list(self.assumptions),
            "notes": list(self.notes),
            "seconds": round(self.seconds, 4),
            "questions": self.questions,
        }

    def __str__(self) -> str:
        lines = [f"{self.kernel}: {verdict_name(self.verdict)}"]
        for name, verdict in self.verdicts.items():
            lines.append(f"  {name:<11} {_line(verdict)}")
        if self.precondition:
            lines.append(f"  right where: {self.precondition}")
        for text in self.assumptions:
            lines.append(f"  assumed: {text}")
        for text in self.notes:
            lines.append(f"  note: {text}")
        return "\n".join(lines)


def verdict_name(verdict: Verdict) -> str:
    """Return ``proved``, ``refuted`` or ``unknown``."""
    return type(verdict).__name__.lower()


def verdict_record(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as data for JSON."""
    found: dict[str, Any] = {"verdict": verdict_name(verdict)}
    if isinstance(verdict, Refuted):
        example = verdict.counterexample
        found["counterexample"] = (
            {
                "statement": example.statement,
                "source": example.source,
                "arguments": dict(example.arguments),
                "grid": list(example.grid),
                "programs": [dict(program) for program in example.programs],
                "places": dict(example.places),
                "contents": {k: dict(v) for k, v in example.contents.items()},
                "detail": {k: str(v) for k, v in example.detail.items()},
                "confirmed": example.confirmed,
            }
            if isinstance(example, Counterexample)
            else str(example)
        )
    if isinstance(verdict, Unknown):
        found["reason"] = verdict.reason
    return found


def _line(verdict: Verdict) -> str:
    if isinstance(verdict, Proved):
        return "proved"
    if isinstance(verdict, Unknown):
        return f"unknown: {verdict.reason}"
    return "refuted: " + str(verdict.counterexample).replace("\n", "\n" + " " * 14)
