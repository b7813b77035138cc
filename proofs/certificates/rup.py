"""Our own checker of refutations: every lemma must follow by unit propagation.

A proof is a list of clauses. Each must follow from the clauses before it by *reverse
unit propagation*: assume all its literals false, propagate units, reach a conflict. The
last one to matter is the empty clause, a contradiction. Deletions are skipped, which
is sound. The loop is compiled (rup.cpp); ``accepts`` is the same in Python, for tests
and for readers.

Source: E. Goldberg, Y. Novikov, "Verification of proofs of unsatisfiability for CNF
formulas"; N. Wetzler et al., DRAT-trim (only the RUP part is accepted here).
"""

import ctypes
from array import array
from collections.abc import Iterable, Sequence
from importlib.resources import files

from algebra.errors import ParseError
from algebra.verdict import Proved, Refuted, Unknown, Verdict
from compiler.errors import BuildError
from compiler.runtime.build import load_library

from .bit_blaster import Question

Clause = Sequence[int]
_FLAGS = ("-std=c++17", "-O2", "-shared", "-fPIC", "-Werror=return-type")
_ACCEPTED, _NOT_IMPLIED, _NO_CONTRADICTION = 0, 1, 2


def lemmas_of(text: str) -> list[tuple[int, ...]]:
    r"""Return the clauses that a proof in DRAT text adds, without the deletions.

    Raises:
        ParseError: a line is not a clause; has ``line``.

    Example:
        >>> lemmas_of("1 -2 0\nd 1 2 0\n0\n")
        [(1, -2), ()]
    """
    lemmas = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("d ") or not line.strip():
            continue
        try:
            *clause, end = map(int, line.split())
        except ValueError:
            clause, end = [], 1
        if end or 0 in clause:
            raise ParseError(
                f"line {number} of the proof must be literals that end with 0, got "
                f"{line[:60]!r}",
                line=number,
                column=1,
            )
        lemmas.append(tuple(clause))
    return lemmas


def check(question: Question, lemmas: Iterable[Clause]) -> Verdict:
    """Decide whether ``lemmas`` derive a contradiction from the clauses.

    Returns:
        ``Proved`` if they do: the question has no model. ``Refuted`` with the first
        lemma that does not follow, or where no contradiction is reached: then the
        *proof* is wrong, and nothing is known of the question. ``Unknown`` where the
        checker cannot be built.
    """
    listed = list(lemmas)
    try:
        library = load_library("rup", _source(), _FLAGS)
    except BuildError as error:
        return Unknown(f"the checker cannot be built: {error}")
    given = _packed(question.clauses)
    try:
        added = _packed(listed)
    except OverflowError:
        return Refuted({"proof": "is malformed", "lemmas": len(listed)})
    step = ctypes.c_long(-1)
    library.rup_check.restype = ctypes.c_int
    answer = library.rup_check(
        ctypes.c_int(question.literals),
        _pointer(given),
        ctypes.c_long(len(given)),
        _pointer(added),
        ctypes.c_long(len(added)),
        ctypes.byref(step),
    )
    if answer == _ACCEPTED:
        return Proved("reverse unit propagation", (("lemmas", step.value),))
    if answer == _NO_CONTRADICTION:
        return Refuted({"proof": "ends without a contradiction", "lemmas": len(listed)})
    wrong = listed[step.value - 1] if step.value > 0 else ()
    reason = "does not follow" if answer == _NOT_IMPLIED else "is malformed"
    return Refuted({"lemma": step.value, "clause": wrong, "proof": reason})


def accepts(clauses: Iterable[Clause], lemmas: Iterable[Clause]) -> bool:
    """Say what ``check`` says, slowly and plainly: by propagation over all clauses.

    Example:
        >>> accepts([(1, 2), (-1, 2), (1, -2), (-1, -2)], [(2,), ()])
        True
        >>> accepts([(1, 2), (-1, 2), (1, -2), (-1, -2)], [()])
        False
    """
    known = [frozenset(clause) for clause in clauses]
    for lemma in lemmas:
        if _conflicts(known, {-literal for literal in lemma}):
            known.append(frozenset(lemma))
        elif not _conflicts(known, set()):
            return False
    return _conflicts(known, set())


def _conflicts(clauses: Sequence[frozenset[int]], true: set[int]) -> bool:
    """Propagate units from the literals ``true``; say whether a clause is false."""
    if any(-literal in true for literal in true):
        return True
    progress = True
    while progress:
        progress = False
        for clause in clauses:
            if clause & true:
                continue
            open_literals = [literal for literal in clause if -literal not in true]
            if not open_literals:
                return True
            if len(open_literals) == 1:
                true.add(open_literals[0])
                progress = True
    return False


def _source() -> str:
    return files(__package__).joinpath("rup.cpp").read_text()


def _packed(clauses: Iterable[Clause]) -> "array[int]":
    packed = array("i")
    for clause in clauses:
        packed.extend(clause)
        packed.append(0)
    return packed


def _pointer(numbers: "array[int]") -> ctypes.Array[ctypes.c_int]:
    return (ctypes.c_int * len(numbers)).from_buffer(numbers)
