import shutil
from pathlib import Path

import pytest

from algebra.verdict import Unknown
from proofs.certificates.bit_blaster import Question, question_of
from proofs.certificates.cadical import Model, Refutation, solve
from proofs.certificates.rup import accepts, lemmas_of
from verify.terms import equal, variable

X = variable("x", 4)
needs_cadical = pytest.mark.skipif(
    shutil.which("cadical") is None, reason="cadical is not installed"
)


@needs_cadical
def test_a_true_claim_is_refuted_as_a_question() -> None:
    question = question_of(equal(X // 4 * 4 + X % 4, X))
    answer = solve(question, 10)
    assert isinstance(answer, Refutation)
    assert accepts(question.clauses, lemmas_of(answer.text))


@needs_cadical
def test_a_false_claim_has_a_model() -> None:
    question = question_of(equal(X // 4 * 4, X))
    answer = solve(question, 10)
    assert isinstance(answer, Model)
    assert question.values(answer.literals)["x"] % 4


def program(folder: Path, body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "cadical"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_what_goes_wrong_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = Question(((1,),), 1, {})
    monkeypatch.setenv("PATH", str(tmp_path))
    missing = solve(question, 1)
    assert isinstance(missing, Unknown) and "install cadical" in missing.reason
    program(tmp_path, "exec sleep 30", monkeypatch)
    late = solve(question, 0.2)
    assert isinstance(late, Unknown) and "within 0.2 s" in late.reason
    program(tmp_path, "echo 'out of memory' >&2; exit 3", monkeypatch)
    failed = solve(question, 5)
    assert failed == Unknown("cadical ended with status 3: out of memory")
