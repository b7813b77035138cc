from proofs import Theorem, catalogue


def test_names_are_unique_sentences() -> None:
    theorems = catalogue()
    names = [theorem.name for theorem in theorems]
    assert len(names) == len(set(names))
    for theorem in theorems:
        assert isinstance(theorem, Theorem)
        assert theorem.name.replace("_", "").isalnum() and theorem.name.islower()
        assert theorem.statement and theorem.scope and theorem.method and theorem.source


def test_the_kinds_of_evidence_are_all_there() -> None:
    methods = {theorem.method.split(",")[0] for theorem in catalogue()}
    assert {"z3", "z3 and bitwuzla", "Coq"} <= methods
