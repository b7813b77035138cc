"""Check a kernel for all sizes, from two recorded launches."""

from dataclasses import replace
from typing import Any

from algebra.verdict import Proved, Unknown
from verify.checking.check import check
from verify.checking.report import Report

from .generalise import generalised
from .record import Recording


def check_recorded(first: Recording, second: Recording, **options: Any) -> Report:
    """Check the kernel of two launches at different sizes, for all sizes.

    What is read off the launches is an assumption, and is listed in the report. Nothing
    is proved from a grid of several programs that is the same in both.

    Args:
        first: A launch.
        second: Another of the same kernel, with other sizes.
        options: Further arguments of ``verify.check``.

    Raises:
        ArgumentError: the launches do not fit together.
    """
    statement = generalised(first, second)
    assume = (*statement.assume, *options.pop("assume", ()))
    report = check(
        first.kernel,
        statement.args,
        statement.constants,
        statement.grid,
        assume,
        **options,
    )
    recorded = [f"{note}, in both launches" for note in statement.notes]
    verdicts = dict(report.verdicts)
    if statement.grid_is_fixed:
        open_ = Unknown(f"the grid is {statement.grid} in both launches")
        verdicts = {
            name: open_ if isinstance(verdict, Proved) else verdict
            for name, verdict in verdicts.items()
        }
    return replace(
        report, verdicts=verdicts, assumptions=(*report.assumptions, *recorded)
    )
