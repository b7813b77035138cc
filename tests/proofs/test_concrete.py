import pytest

from algebra.verdict import Proved, Refuted, Unknown
from proofs import concrete
from proofs.concrete import prove_recorded, theorems
from proofs.recorded import KINDS, Vector, vectors_of


@pytest.mark.parametrize("theorem", theorems(), ids=lambda theorem: theorem.name)
def test_recorded_encodings_are_proved(theorem) -> None:  # type: ignore[no-untyped-def]
    verdict = theorem.prove(10)
    assert isinstance(verdict, Proved)
    facts = dict(verdict.facts)
    assert facts["cases"] == theorem.instances >= 40
    assert facts["largest"] <= facts["positions"]


def test_names_are_sentences() -> None:
    names = [theorem.name for theorem in theorems()]
    assert len(set(names)) == len(KINDS)
    assert all("_is_its_" in name for name in names)


def change(monkeypatch: pytest.MonkeyPatch, vector: Vector) -> None:
    monkeypatch.setattr(concrete, "vectors_of", lambda kind: (vector,))


def test_a_wrong_record_is_a_refutation(monkeypatch: pytest.MonkeyPatch) -> None:
    first = vectors_of("blocked")[0]
    wrong = Vector(first.encoding, first.shape, first.release, {"lane": []})
    change(monkeypatch, wrong)
    verdict = prove_recorded("blocked", 10)
    assert isinstance(verdict, Refuted)
    assert "recorded" in verdict.counterexample


@pytest.mark.parametrize(
    "answer", [Refuted({"lane": 3}), Unknown("time-out: 1 s")], ids=["no", "unknown"]
)
def test_another_verdict_names_the_encoding(
    monkeypatch: pytest.MonkeyPatch, answer: Refuted | Unknown
) -> None:
    monkeypatch.setattr(concrete, "prove_encoding", lambda *a, **k: answer)
    verdict = prove_recorded("blocked", 10)
    if isinstance(answer, Refuted):
        assert isinstance(verdict, Refuted)
        assert verdict.counterexample["lane"] == 3
        assert "Blocked" in verdict.counterexample["encoding"]
    else:
        assert isinstance(verdict, Unknown)
        assert "time-out: 1 s" in verdict.reason
