"""A failing graph made small: the same failure from a few operations.

Every try runs in a process of its own, which may crash or hang. The failure has to stay
the same: equal status, kind and message, numbers and names apart. After each success
the smallest program so far is kept in the folder, and the next run goes on from it.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from verify.campaign.case import Case, from_json
from verify.campaign.cause import cause, is_failure, symptom
from verify.campaign.diagnosis import diagnose
from verify.campaign.process import SubjectProcess
from verify.campaign.regression import write
from verify.campaign.shrink import shrink
from verify.strategies.programs import Program

from .graph import GRAPH, Captured, GraphError
from .steps import (
    alive,
    drawn_values,
    earlier,
    inputs_for_values,
    literal_values,
    numbers_of,
    results_alone,
    smaller_sizes,
)

STATE = "reduced.json"
CONTENTS = ("normal", "integers", "special", "ties")
"""Contents of inputs that are tried where their values were not saved."""

SHRINKS = 400
"""Tries of the campaign's shrinker, which comes last."""

CONFIRMATIONS = 2
"""Fresh processes in which the reduced program has to fail again."""


class GoneError(ValueError):
    """The failure does not happen (any more)."""


@dataclass(frozen=True, slots=True)
class Reduced:
    """What became of a failing graph.

    Attributes:
        case: The smallest program that fails in the same way.
        answer: How it fails.
        stage: The stage of the compiler at fault, in words.
        tries: Programs run.
        text: A test file.
    """

    case: Case
    answer: dict[str, Any]
    stage: str
    tries: int
    text: str


Report = Callable[[Program, int], None]
"""Told the smallest program so far, and how many were tried."""


class Reduction:
    """The reduction of one graph's program, which can be interrupted and go on.

    Args:
        captured: The program.
        subject: Key of ``subjects.SUBJECTS`` or ``module:function``.
        folder: Where the smallest program so far is kept.
        process: Runs programs.
        report: Told of progress.
    """

    def __init__(
        self,
        captured: Captured,
        subject: str,
        folder: Path,
        process: SubjectProcess,
        report: Report | None = None,
    ) -> None:
        self.captured, self.subject, self.folder = captured, subject, folder
        self.process, self.report = process, report
        self.tries = 0
        self.sign = ""
        self.best: Case | None = None

    def run(self) -> Reduced:
        """Reduce to the end.

        Raises:
            GoneError: The program does not fail.
        """
        case = self._resumed() or self._failing()
        self._keep(case.program)
        self._steps()
        return self.result()

    def result(self) -> Reduced:
        """Return the smallest so far, with a test file.

        Raises:
            GoneError: It does not fail again in fresh processes.
        """
        case = self.best
        assert case is not None, "run comes first"
        case = replace(case, program=literal_values(case.program))
        answer: dict[str, Any] = {}
        for _ in range(CONFIRMATIONS):
            self.process.close_child()
            answer = self._run(case)
            if not is_failure(answer):
                raise GoneError(
                    "the reduced program fails in one process and not in the next: "
                    f"{STATE} in {str(self.folder)!r} has it"
                )
        stage = diagnose(case, self.process.run, answer)
        name = cause(case, answer)
        title = f"{self.subject}: {symptom(answer)[:70]}"
        text = write(name, case, answer, stage, title)
        found = f"Found by `tilewright hunt --subject {self.subject}`, seed -1."
        made = f"Reduced by `tilewright reduce --subject {self.subject}`."
        return Reduced(case, answer, stage, self.tries, text.replace(found, made))

    def _run(self, case: Case) -> dict[str, Any]:
        self.tries += 1
        answer = self.process.run(case)
        if self.report is not None and self.best is not None:
            self.report(self.best.program, self.tries)
        return answer

    def _resumed(self) -> Case | None:
        """Return what an earlier run kept, if it still fails."""
        try:
            kept = json.loads((self.folder / STATE).read_text())
            case = from_json(kept["case"])
            source = kept["source"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        if case.subject != self.subject or source != self.captured.program.source:
            return None
        answer = self._run(case)
        self.sign = symptom(answer)
        return case if is_failure(answer) else None

    def _failing(self) -> Case:
        """Return a case that fails; draws inputs where they were not saved."""
        seen: list[str] = []
        for program in self._candidates():
            case = Case(program, self.subject)
            answer = self._run(case)
            if is_failure(answer):
                self.sign = symptom(answer)
                return case
            said = str(answer.get("detail", "")).strip().splitlines()
            seen.append(f"{answer['status']} {said[0] if said else ''}".strip())
        drawn = "" if self.captured.has_values else " with drawn inputs"
        help_ = (
            "; the inputs of the failure may matter: verify.reduction.save keeps them"
            if drawn
            else ""
        )
        raise GoneError(
            f"{GRAPH} does not fail with {self.subject}{drawn}: "
            f"{', '.join(dict.fromkeys(seen))[:300]}{help_}"
        )

    def _candidates(self) -> Iterator[Program]:
        program = self.captured.program
        if self.captured.has_values:
            yield program
            return
        for content in CONTENTS:
            inputs, objects = {}, dict(program.objects)
            for number, (name, spec) in enumerate(program.inputs.items()):
                if spec.dtype.is_floating_point:
                    inputs[name] = replace(spec, content=content, seed=number)
                else:
                    objects[name] = numbers_of(spec)
            yield replace(program, inputs=inputs, objects=objects)

    def _keep(self, program: Program) -> None:
        self.best = Case(program, self.subject)
        kept = {"case": self.best.to_json(), "source": self.captured.program.source}
        part = self.folder / f"{STATE}.part"
        part.write_text(json.dumps(kept, indent=1) + "\n")
        part.replace(self.folder / STATE)

    def _fails(self, program: Program) -> bool:
        answer = self._run(Case(program, self.subject))
        same = is_failure(answer) and symptom(answer) == self.sign
        if same:
            self._keep(program)
        return same

    def _steps(self) -> None:
        assert self.best is not None
        self._fails(alive(self.best.program))
        passes = (
            results_alone,
            drawn_values,
            earlier,
            inputs_for_values,
            smaller_sizes,
        )
        changed = True
        while changed:
            size = _size(self.best.program)
            for step in passes:
                while self._one(step):
                    pass
            changed = _size(self.best.program) < size
        shrink(self.best.program, self._fails, SHRINKS)

    def _one(self, step: Callable[[Program], Iterator[Program]]) -> bool:
        """Take the first program of a step that fails in the same way."""
        assert self.best is not None
        before = self.best.program
        return any(
            program != before and self._fails(program) for program in step(before)
        )


def _size(program: Program) -> tuple[int, ...]:
    elements = sum(spec.storage for spec in program.inputs.values())
    return len(program.lines), len(program.inputs) + len(program.objects), elements


__all__ = ["Captured", "GoneError", "GraphError", "Reduced", "Reduction"]
