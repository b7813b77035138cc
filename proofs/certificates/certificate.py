"""A claim with a proof that anyone can check again, without any solver.

``certify`` translates the claim to clauses, lets cadical refute them, checks the
refutation and keeps it. What is trusted is the translation and the checker, neither
z3, bitwuzla nor cadical; docs/trust.md tells the whole story.
"""

import gzip
import time
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from algebra.errors import ParseError
from algebra.verdict import Proved, Refuted, Unknown, Verdict
from compiler.runtime.cache import cached_file, content_key
from verify.terms import Formula, all_of, holds

from .bit_blaster import Question, question_of
from .cadical import Model, Refutation, solve
from .rup import check, lemmas_of


@dataclass(frozen=True, slots=True)
class Certificate:
    """A refutation of the clauses of a claim's negation.

    Attributes:
        question: The clauses.
        proof: DRAT text.
    """

    question: Question
    proof: str

    def check(self) -> Verdict:
        """Check the proof again; see ``rup.check``. What cannot be read is wrong."""
        try:
            lemmas = lemmas_of(self.proof)
        except ParseError as error:
            return Refuted({"proof": str(error)})
        return check(self.question, lemmas)


def certify(
    claim: Formula, assumptions: Iterable[Formula] = (), *, timeout: float = 60.0
) -> Verdict:
    """Prove a claim by a refutation that our own checker accepts.

    The refutation is kept in the cache; a later call only checks it again. One from
    the cache that is rejected, because the file was damaged, is made anew once.

    Args:
        claim: What should hold for all values of its variables.
        assumptions: What may be taken for granted.
        timeout: Limit for cadical [seconds].

    Returns:
        ``Proved`` with facts (variables, clauses, lemmas, bytes of the proof, seconds),
        ``Refuted`` with values that were evaluated on the claim, or ``Unknown``.

    Example:
        >>> from verify.terms import equal, variable
        >>> x = variable("x", 8)
        >>> certify(equal(x // 4, x), [equal(x, 0)])  # doctest: +SKIP
        Proved(method='certificate', ...)
    """
    given = tuple(assumptions)
    question = question_of(claim, given)
    for fresh in (False, True):
        found = obtain(question, timeout, fresh=fresh)
        if not isinstance(found, Refutation):
            break
        start = time.perf_counter()
        verdict = Certificate(question, found.text).check()
        if not isinstance(verdict, Refuted):
            break
    if isinstance(found, Model):
        values = question.values(found.literals)
        if holds(claim, values) or not holds(all_of(given), values):
            return Unknown(f"cadical's model does not refute the claim: {values}")
        return Refuted(values)
    if isinstance(found, Unknown):
        return found
    if isinstance(verdict, Refuted):
        return Unknown(f"the proof was rejected: {verdict.counterexample}")
    if isinstance(verdict, Unknown):
        return verdict
    facts = (
        ("variables", question.literals),
        ("clauses", len(question.clauses)),
        *verdict.facts,
        ("proof_bytes", len(found.text)),
        ("check_seconds", time.perf_counter() - start),
    )
    return Proved("certificate", facts)


def obtain(
    question: Question, timeout: float, *, fresh: bool = False
) -> Model | Refutation | Unknown:
    """Return cadical's answer; a refutation is read from the cache if it is there.

    Args:
        question: The clauses.
        timeout: Limit for cadical [seconds].
        fresh: Ask cadical, whatever the cache has.
    """
    answers: list[Model | Refutation | Unknown] = []

    def make(path: Path) -> None:
        answer = solve(question, timeout)
        answers.append(answer)
        if not isinstance(answer, Refutation):
            raise _NoProofError
        path.write_bytes(gzip.compress(answer.text.encode(), mtime=0))

    name = f"{content_key('drat', question.dimacs())}.drat.gz"
    try:
        path = cached_file(name, make, renew=fresh)
        return Refutation(gzip.decompress(path.read_bytes()).decode())
    except _NoProofError:
        return answers[-1]
    except (OSError, EOFError, zlib.error, UnicodeDecodeError):
        return solve(question, timeout)


class _NoProofError(Exception):
    """Cadical found no refutation, so that there is nothing to keep."""
