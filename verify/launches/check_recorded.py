"""Check a kernel for all sizes, from two recorded launches."""

from dataclasses import replace
from typing import Any

from verify.checking.check import check
from verify.checking.report import Report

from .generalise import generalised
from .record import Recording


def check_recorded(first: Recording, second: Recording, **options: Any) -> Report:
    """Check the kernel of two launches at different sizes, for all sizes.

    What is read off the launches is an assumption, and is listed in the report.

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
    return replace(report, assumptions=(*report.assumptions, *recorded))
