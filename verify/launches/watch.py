"""Check every Triton kernel that a block of code launches; print a table at the end."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TextIO

from algebra.errors import LayoutError
from algebra.verdict import Proved, Refuted, Unknown
from verify.checking.check import check
from verify.checking.report import Report, verdict_name

from .check_recorded import check_recorded
from .generalise import by_kernel, generalised
from .record import Recording, recorded

MOST_MORE = 6
"""Most further launches with which what is read off two must agree."""


@dataclass(slots=True)
class Watch:
    """What was launched, and, after the block, what was found.

    Attributes:
        launches: Each launch, in order.
        reports: A report for each kernel and set of constants.
    """

    launches: list[Recording] = field(default_factory=list)
    reports: list[Report] = field(default_factory=list)

    @property
    def refuted(self) -> list[Report]:
        """The reports of kernels that are wrong."""
        return [r for r in self.reports if isinstance(r.verdict, Refuted)]

    def table(self) -> str:
        """Return a line for each kernel."""
        if not self.reports:
            return "no Triton kernel was launched"
        width = max(len(report.kernel) for report in self.reports)
        lines = [f"{'kernel':<{width}}  verdict  what is wrong or open"]
        for report in self.reports:
            verdict = report.verdict
            note = report.precondition and f"right where {report.precondition}"
            if isinstance(verdict, Unknown):
                note = verdict.reason
            elif isinstance(verdict, Refuted) and not note:
                note = str(verdict.counterexample).split("\n")[0]
            lines.append(
                f"{report.kernel:<{width}}  {verdict_name(verdict):<7}  {note or ''}"
            )
        return "\n".join(line.rstrip() for line in lines)


@contextmanager
def watch(
    *,
    launch: bool | None = None,
    file: TextIO | None = None,
    on_end: Callable[[Watch], None] | None = None,
    **options: Any,
) -> Iterator[Watch]:
    """Check every Triton kernel that is launched in the block.

    A kernel that is launched at two sizes is checked for all sizes. One that is
    launched at one size is checked for that size: it may be refuted, never proved.

    Args:
        launch: Whether the kernels run too; default whether there is a GPU.
        file: Where the table goes; default standard error.
        on_end: Called after the block in place of printing the table.
        options: Further arguments of ``verify.check``.

    Example:
        >>> with watch(file=sys.stdout) as seen:
        ...     pass
        no Triton kernel was launched
    """
    if launch is None:
        import torch

        launch = torch.cuda.is_available()
    seen = Watch()
    with recorded(launch=launch) as found:
        yield seen
    seen.launches = found
    seen.reports = [judged(launches, options) for launches in grouped(found)]
    if on_end is not None:
        on_end(seen)
    else:
        print(seen.table(), file=file or sys.stderr)


def grouped(launches: Sequence[Recording]) -> list[list[Recording]]:
    """Return the launches of each kernel and set of constants together."""
    found: dict[Any, list[Recording]] = {}
    for launch in launches:
        (key,) = by_kernel([launch])
        found.setdefault(key, []).append(launch)
    return list(found.values())


def judged(launches: Sequence[Recording], options: dict[str, Any]) -> Report:
    """Return the report on one kernel."""
    first = launches[0]
    for other in reversed(launches[1:]):
        if _sizes(other) == _sizes(first):
            continue
        rest = [launch for launch in launches[1:] if launch is not other]
        try:
            return check_recorded(first, other, *rest[:MOST_MORE], **options)
        except LayoutError:
            continue
    try:
        return fixed(first, options)
    except LayoutError as error:
        return Report(first.name, {"in_bounds": Unknown(str(error))})


def _sizes(launch: Recording) -> tuple[Any, ...]:
    shapes = tuple(t.shape for t in launch.tensors.values())
    return shapes, tuple(launch.scalars.values()), launch.grid


def fixed(launch: Recording, options: dict[str, Any]) -> Report:
    """Return the report on one launch as it is; nothing is proved by one size."""
    statement = generalised(launch, launch)
    report = check(
        launch.kernel,
        statement.args,
        statement.constants,
        launch.grid,
        statement.assume,
        **options,
    )
    one = Unknown("launched at one size only")
    return replace(
        report,
        verdicts={
            name: one if isinstance(verdict, Proved) else verdict
            for name, verdict in report.verdicts.items()
        },
        precondition=None,
    )
