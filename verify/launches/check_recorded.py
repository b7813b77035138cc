"""Check a kernel for all sizes, from recorded launches."""

from dataclasses import replace
from typing import Any

from algebra.verdict import Proved, Refuted, Unknown, Verdict
from verify.checking.check import check
from verify.checking.report import Report

from .generalise import Statement, generalised
from .record import Recording


def check_recorded(
    first: Recording, second: Recording, *more: Recording, **options: Any
) -> Report:
    """Check the kernel of launches at different sizes, for all sizes.

    What is read off the launches is an assumption, and is listed in the report. Nothing
    is proved from a grid of several programs that is the same in all, nor refuted where
    the number of programs has no form in the sizes or is one number in all.

    Args:
        first: A launch.
        second: Another of the same kernel, with other sizes.
        more: Further ones, with which what is read off must agree.
        options: Further arguments of ``verify.check``.

    Raises:
        ArgumentError: the launches do not fit together.
    """
    statement = generalised(first, second, *more)
    assume = (*statement.assume, *options.pop("assume", ()))
    report = check(
        first.kernel,
        statement.args,
        statement.constants,
        statement.grid,
        assume,
        **options,
    )
    recorded = [f"{note}, in all launches" for note in statement.notes]
    return replace(
        report,
        verdicts=believed(statement, report),
        assumptions=(*report.assumptions, *recorded),
    )


def believed(statement: Statement, report: Report) -> dict[str, Verdict]:
    """Return the verdicts that hold for a wrapper whose grid is only known so far."""
    verdicts = dict(report.verdicts)
    if statement.grid_is_fixed:
        open_ = Unknown(f"the grid is {statement.grid} in all launches")
        verdicts = {
            name: open_ if isinstance(verdict, Proved) else verdict
            for name, verdict in verdicts.items()
        }
    if statement.grid_is_free or statement.guessed:
        what = "has no form in the sizes"
        if statement.guessed:
            what = "was one number in all launches"
        open_ = Unknown(f"the grid {statement.grid} {what}")
        verdicts = {
            name: open_ if isinstance(verdict, Refuted) else verdict
            for name, verdict in verdicts.items()
        }
    return verdicts
