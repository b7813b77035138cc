import shutil

import pytest

from algebra.verdict import Proved, Refuted, Unknown
from proofs.parametric import query
from proofs.parametric.query import Parametric, Query
from verify.terms import Formula, Size, equal, less, lift, negate, variable

X = variable("x", 6)
needs_cadical = pytest.mark.skipif(
    shutil.which("cadical") is None, reason="cadical is not installed"
)


def theorem(*claims: Formula, instances: int = 64) -> Parametric:
    return Parametric(
        name="some_sentence",
        statement="x is x",
        scope="x: 6 bits",
        source="by hand",
        instances=instances,
        build=lambda: [Query(str(i), claim) for i, claim in enumerate(claims)],
    )


def test_all_questions_must_be_proved_by_both() -> None:
    verdict = theorem(equal(X, X), less(X, 64)).prove(10)
    assert isinstance(verdict, Proved)
    facts = dict(verdict.facts)
    assert facts["questions"] == 2 and facts["instances"] == 64
    assert facts["z3_seconds"] >= 0 and facts["bitwuzla_seconds"] >= 0


def test_one_refuted_question_refutes() -> None:
    verdict = theorem(less(X, 64), less(X, 63)).prove(10)
    assert isinstance(verdict, Refuted) and verdict.counterexample == {"x": 63}


def test_a_time_out_is_unknown_with_its_limit() -> None:
    mixed = lift(1)
    for i in range(6):
        number, power = variable(f"w{i}", 40), Size(variable(f"k{i}", 5))
        mixed = (mixed * power + number) ^ (number // power)
    verdict = theorem(negate(equal(mixed, 0x123456789ABCDEF0F1E2D3))).prove(0.001)
    assert isinstance(verdict, Unknown) and "0.001 s" in verdict.reason


def test_the_entry_of_the_catalogue() -> None:
    entry = theorem(equal(X, X)).theorem()
    assert entry.scope == "x: 6 bits; 64 parameter sets"
    assert entry.method == "z3 and bitwuzla, direct"
    assert isinstance(entry.prove(), Proved)
    assert theorem(equal(X, X), instances=0).theorem().scope == "x: 6 bits"


@needs_cadical
def test_a_certificate_is_checked_after_the_solvers() -> None:
    verdict = theorem(equal(X // 4 * 4 + X % 4, X), less(X, 64)).certify(10)
    assert isinstance(verdict, Proved)
    assert "checked" in dict(verdict.facts)["certificate"]
    assert isinstance(theorem(less(X, 63)).certify(10), Refuted)


def test_without_a_certificate_the_solvers_stand(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(query, "certify", lambda *_, **__: Unknown("no cadical"))
    verdict = theorem(equal(X, X)).certify(10)
    assert isinstance(verdict, Proved)
    assert dict(verdict.facts)["certificate"] == "none: no cadical"


def test_a_contradiction_between_provers_is_unknown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(query, "certify", lambda *_, **__: Refuted({"x": 1}))
    verdict = theorem(equal(X, X)).certify(10)
    assert isinstance(verdict, Unknown) and "cadical refutes" in verdict.reason
