import gzip
import shutil
from pathlib import Path

import pytest

from algebra.verdict import Proved, Refuted, Unknown
from proofs.certificates import Certificate, certificate, certify, question_of
from proofs.certificates.cadical import Model, Refutation
from verify.terms import Formula, Size, equal, variable

X, Y = variable("x", 16), variable("y", 16)
K = Size(variable("k", 4))
needs_cadical = pytest.mark.skipif(
    shutil.which("cadical") is None, reason="cadical is not installed"
)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path))
    return tmp_path


@needs_cadical
@pytest.mark.parametrize(
    ("claim", "assumptions"),
    [
        (equal(X + Y, X ^ Y), [equal(X & Y, 0)]),
        (equal(X // K * K + X % K, X), []),
        (equal(X + Y, Y + X), []),
        (equal(X * K // K, X), []),
    ],
)
def test_true_claims(claim: Formula, assumptions: list[Formula]) -> None:
    verdict = certify(claim, assumptions)
    assert isinstance(verdict, Proved)
    assert verdict.method == "certificate"
    assert dict(verdict.facts)["clauses"] > 10


@needs_cadical
def test_a_false_claim_comes_with_values() -> None:
    verdict = certify(equal(X + Y, X ^ Y))
    assert isinstance(verdict, Refuted)
    x, y = verdict.counterexample["x"], verdict.counterexample["y"]
    assert x + y != x ^ y


@needs_cadical
def test_the_proof_is_kept_and_checked_again(own_cache: Path) -> None:
    claim = equal(X // K * K + X % K, X)
    assert isinstance(certify(claim), Proved)
    (kept,) = own_cache.glob("*.drat.gz")
    stamp = kept.stat().st_mtime_ns
    assert isinstance(certify(claim), Proved)
    assert kept.stat().st_mtime_ns == stamp
    whole = kept.read_bytes()
    torn = whole[:40] + bytes(40) + whole[80:]
    texts = b"0\n", b"", b"hello\n", b"99999999999 0\n0\n", b"\xff"
    for damaged in (b"torn", b"", torn, *map(gzip.compress, texts)):
        kept.write_bytes(damaged)
        assert isinstance(certify(claim), Proved)


def test_a_certificate_can_be_checked_by_itself() -> None:
    question = question_of(equal(X, X))
    assert isinstance(Certificate(question, "").check(), Proved)
    other = question_of(equal(X, Y))
    for wrong in ("0\n", "hello\n", "99999999999 0\n", "1 -99999999999 0\n0\n"):
        assert isinstance(Certificate(other, wrong).check(), Refuted)


def test_a_wrong_model_is_no_refutation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificate, "solve", lambda *_: Model(()))
    verdict = certify(equal(X, X))
    assert isinstance(verdict, Unknown) and "does not refute" in verdict.reason


def test_a_model_against_the_assumptions_is_no_refutation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    claim, given = equal(X, Y), [equal(X, 0)]
    bits = question_of(claim, given).variables
    monkeypatch.setattr(certificate, "solve", lambda *_: Model(bits["x"][:1]))
    verdict = certify(claim, given)
    assert isinstance(verdict, Unknown) and "does not refute" in verdict.reason
    monkeypatch.setattr(certificate, "solve", lambda *_: Model(bits["y"][:1]))
    assert certify(claim, given) == Refuted({"x": 0, "y": 1})


def test_a_wrong_proof_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificate, "solve", lambda *_: Refutation("0\n"))
    verdict = certify(equal(X + Y, X ^ Y))
    assert isinstance(verdict, Unknown) and "rejected" in verdict.reason


def test_unknown_stays_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificate, "solve", lambda *_: Unknown("time-out"))
    assert certify(equal(X, X)) == Unknown("time-out")
    monkeypatch.undo()
    monkeypatch.setenv("CXX", "no-such-compiler")
    monkeypatch.setattr(certificate, "solve", lambda *_: Refutation("0\n"))
    verdict = certify(equal(X, X))
    assert isinstance(verdict, Unknown) and "cannot be built" in verdict.reason
