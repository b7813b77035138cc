"""Checks by solver, by execution and by search; see ``algebra.verdict``.

Importing this package loads neither z3 nor hypothesis.
"""

from algebra.verdict import Proved, Refuted, Unknown, Verdict

from .equivalence import prove_encoding

__all__ = ["Proved", "Refuted", "Unknown", "Verdict", "prove_encoding"]
