from algebra.verdict import Proved, Refuted
from proofs.parametric.padded import parametric, questions
from verify.solver import prove
from verify.terms import negate


def test_it_is_proved() -> None:
    (theorem,) = parametric()
    assert isinstance(theorem.prove(60), Proved)


def test_no_step_is_empty() -> None:
    for step in questions():
        assert isinstance(prove(negate(step.claim), step.assumptions), Refuted)
