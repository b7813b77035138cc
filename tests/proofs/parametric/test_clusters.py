from algebra.verdict import Proved, Refuted
from proofs.parametric.clusters import parametric, question
from verify.solver import prove
from verify.terms import negate


def test_it_is_proved() -> None:
    (theorem,) = parametric()
    assert isinstance(theorem.prove(60), Proved)


def test_the_question_is_not_empty() -> None:
    asked = question((1, 0))
    assert isinstance(prove(negate(asked.claim), asked.assumptions), Refuted)
