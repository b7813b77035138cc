import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from algebra.errors import OutOfRangeError
from algebra.verdict import Proved, Refuted, Unknown
from verify import solver
from verify.solver import BITWUZLA, BOTH, Z3, prove, variables_of, width_of
from verify.terms import (
    FALSE,
    TRUE,
    Size,
    all_of,
    any_of,
    choose,
    equal,
    evaluate,
    holds,
    less,
    lift,
    negate,
    variable,
)

X, Y, Z = variable("x", 8), variable("y", 8), variable("z", 8)


@pytest.mark.parametrize("name", [Z3, BITWUZLA, BOTH])
def test_laws_are_proved(name: str) -> None:
    for law in (
        equal(X // 4 * 4 + X % 4, X),
        equal((X ^ Y) ^ Y, X),
        equal((X + Y) * 2, X * 2 + Y * 2),
        less(X, 256),
        TRUE,
    ):
        verdict = prove(law, solver=name)
        assert isinstance(verdict, Proved)
        assert all(seconds >= 0 for _, seconds in verdict.facts)


@pytest.mark.parametrize("name", [Z3, BITWUZLA, BOTH])
def test_a_refutation_is_a_case_where_the_claim_is_false(name: str) -> None:
    for claim in (
        equal(X // 4 * 4, X),
        less(X + Y, 256),
        equal(choose(less(X, Y), X, Y), X),
        FALSE,
        any_of([less(X, Y), less(Y, X)]),
    ):
        verdict = prove(claim, solver=name)
        assert isinstance(verdict, Refuted)
        values = {"x": 0, "y": 0} | verdict.counterexample
        assert not holds(claim, values)


@pytest.mark.parametrize("name", ["Z3", "cvc5", ""])
def test_an_unknown_solver_is_not_replaced_by_another(name: str) -> None:
    with pytest.raises(OutOfRangeError, match=r"solver must be one of .*got solver="):
        prove(TRUE, solver=name)


@pytest.mark.parametrize("limit", [0, -1.0, float("nan"), float("inf"), 1e6])
def test_a_limit_is_a_time(limit: float) -> None:
    with pytest.raises(OutOfRangeError, match="timeout must be seconds"):
        prove(TRUE, timeout=limit)


def test_sums_do_not_wrap() -> None:
    assert isinstance(prove(negate(less(X + Y, X))), Proved)
    assert isinstance(prove(less(X * 16, 1 << 12), solver=BOTH), Proved)


def test_assumptions() -> None:
    assert isinstance(prove(less(X, 9)), Refuted)
    assert isinstance(prove(less(X, 9), [less(X, 5)]), Proved)


@pytest.mark.parametrize("name", [Z3, BITWUZLA])
def test_a_time_out_is_unknown_with_its_limit(name: str) -> None:
    wide = [variable(f"w{i}", 40) for i in range(6)]
    powers = [Size(variable(f"k{i}", 5)) for i in range(6)]
    mixed = lift(1)
    for number, power in zip(wide, powers, strict=True):
        mixed = (mixed * power + number) ^ (number // power)
    verdict = prove(
        negate(equal(mixed, 0x123456789ABCDEF0F1E2D3C4)), solver=name, timeout=0.001
    )
    assert isinstance(verdict, Unknown)
    assert "0.001 s" in verdict.reason and name in verdict.reason


def test_disagreement_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    class Liar:
        name = BITWUZLA

        def satisfy(
            self, formula: object, width: int, timeout: float
        ) -> dict[str, int]:
            return {"x": 1}

    monkeypatch.setitem(solver._BACKENDS, BITWUZLA, Liar())
    verdict = prove(TRUE, solver=BOTH)
    assert isinstance(verdict, Unknown) and "disagree" in verdict.reason


@given(
    st.integers(0, 255),
    st.integers(0, 255),
    st.sampled_from(["+", "^", "&", "-"]),
    st.integers(0, 7),
)
@settings(max_examples=60)
def test_solvers_compute_as_the_reference(x: int, y: int, op: str, shift: int) -> None:
    a, b = max(x, y), min(x, y)
    term = {"+": X + Y, "^": X ^ Y, "&": X & Y, "-": X - Y}[op]
    term = (term + X // (1 << shift)) * Size(variable("k", 2)) // Size(Z)
    values = {"x": a, "y": b, "k": shift % 4, "z": shift}
    given_values = [
        equal(variable(n, 2 if n == "k" else 8), v) for n, v in values.items()
    ]
    claim = equal(term, evaluate(term, values))
    assert isinstance(prove(claim, given_values, solver=BOTH), Proved)


def test_contexts_are_renewed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solver, "_QUESTIONS_PER_CONTEXT", 2)
    for _ in range(5):
        assert isinstance(prove(equal(X, Y)), Refuted)


def test_what_a_question_contains() -> None:
    question = all_of([equal(X, Y * 8), less(lift(3), variable("z", 2))])
    assert variables_of(question) == {"x": 8, "y": 8, "z": 2}
    assert width_of(question) == 11


def test_importing_verify_loads_no_solver() -> None:
    code = (
        "import sys, verify\n"
        "heavy = {'z3', 'bitwuzla', 'hypothesis', 'torch', 'triton'}\n"
        "assert not heavy & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
