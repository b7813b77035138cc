import pytest

from algebra.verdict import Proved, Refuted
from proofs.parametric.lemmas import parametric, permuted_dims, sum_of_bases
from verify.solver import prove
from verify.terms import negate


@pytest.mark.parametrize("theorem", parametric(), ids=lambda theorem: theorem.name)
def test_all_are_proved(theorem) -> None:  # type: ignore[no-untyped-def]
    assert isinstance(theorem.prove(60), Proved)


def test_the_lemmas_are_not_empty() -> None:
    for query in (*sum_of_bases(), permuted_dims((1, 0))):
        assert isinstance(prove(negate(query.claim), query.assumptions), Refuted)
