from itertools import product
from random import Random

import pytest

from algebra.encodings import AmdRotatingShared, SwizzledShared
from algebra.verdict import Proved, Refuted
from proofs.parametric import swizzled
from proofs.parametric.swizzled import (
    EXPECTED,
    PARAMETERS,
    found_precondition,
    layout,
    parametric,
    precondition,
)
from verify.legacy import amd_rotating_shared, swizzled_shared
from verify.solver import prove
from verify.terms import evaluate, holds, negate, variable

MAKERS = [swizzled_shared, amd_rotating_shared]


@pytest.mark.parametrize("theorem", parametric(), ids=lambda theorem: theorem.name)
def test_all_are_proved(theorem) -> None:  # type: ignore[no-untyped-def]
    assert isinstance(theorem.prove(60), Proved)


@pytest.mark.parametrize("make", MAKERS)
def test_the_search_finds_the_weakest_precondition(make) -> None:  # type: ignore[no-untyped-def]
    assert str(found_precondition(make)) == EXPECTED


def test_the_usual_condition_is_too_strong() -> None:
    """``vec * max_phase <= columns`` rejects 1,558 of 3,125 good parameter sets."""
    good = usual = 0
    for exponents in product(range(5), repeat=5):
        values = dict(zip(("v", "pp", "mp", "r", "c"), exponents, strict=True))
        ours = holds(precondition(), values)
        theirs = values["v"] + values["mp"] <= values["c"]
        assert ours or not theirs
        good += ours
        usual += theirs
    assert good - usual == 1558


def test_another_condition_is_not_weakest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(swizzled, "EXPECTED", "max_phase == 1")
    theorem = next(t for t in parametric() if "weakest" in t.name)
    assert isinstance(theorem.prove(10), Refuted)


def test_the_plain_formula_without_the_condition_is_refuted() -> None:
    assert isinstance(prove(precondition()), Refuted)
    assert isinstance(prove(negate(precondition())), Refuted)


@pytest.mark.parametrize("rotating", [False, True])
def test_the_pieces_are_the_bases_of_the_algebra(rotating: bool) -> None:
    kind = AmdRotatingShared if rotating else SwizzledShared
    rng = Random(3)
    for _ in range(40):
        values = {p.name: rng.randint(0, min(p.high, 5)) for p in PARAMETERS}
        rows, columns = 1 << values["r"], 1 << values["c"]
        encoding = kind(
            vec=1 << values["v"],
            per_phase=1 << values["pp"],
            max_phase=1 << values["mp"],
            order=(1, 0),
        )
        bases = encoding.to_linear_layout([rows, columns]).bases["offset"]
        row, column = layout(variable("offset", 14), rotating=rotating)
        for bit, basis in enumerate(bases):
            at = {**values, "offset": 1 << bit}
            assert (evaluate(row, at), evaluate(column, at)) == basis
