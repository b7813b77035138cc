"""Checks by solver, by execution and by search; see ``algebra.verdict``.

Importing this package loads neither z3 nor hypothesis.
"""

from algebra.verdict import Proved, Refuted, Unknown, Verdict

from .checking.arguments import Buffer, Scalar
from .checking.check import check
from .checking.report import Report
from .equivalence import prove_encoding
from .launches.watch import watch

__all__ = [
    "Buffer",
    "Proved",
    "Refuted",
    "Report",
    "Scalar",
    "Unknown",
    "Verdict",
    "check",
    "prove_encoding",
    "watch",
]
