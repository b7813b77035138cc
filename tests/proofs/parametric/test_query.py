from algebra.verdict import Proved, Refuted, Unknown
from proofs.parametric.query import Parametric, Query
from verify.terms import Formula, Size, equal, less, lift, negate, variable

X = variable("x", 6)


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
