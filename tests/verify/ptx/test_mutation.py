from collections import Counter

import pytest

from algebra.verdict import Proved, Refuted
from verify.ptx import prove_conversion
from verify.ptx.campaign import Outcome
from verify.ptx.mutation import EXCHANGES, FAULTS, Mutant, mutants

HARMLESS = {
    # another thread with a copy of the element stores it, or all of them do
    ("broadcast", "guard negated"),
    ("wide", "guard negated"),
    ("broadcast", "wrong mask"),
    ("wide", "wrong mask"),
}


def judge(outcome: Outcome, mutant: Mutant) -> object:
    conversion = outcome.conversion
    return prove_conversion(
        mutant.text, *conversion.layouts("3.7"), conversion.element_bits
    )


def test_each_mutant_that_does_harm_is_refuted(outcomes: dict[str, Outcome]) -> None:
    """Two of a kind in each kernel; all of them are in the slow test."""
    refuted: Counter[str] = Counter()
    survivors = []
    for name, outcome in outcomes.items():
        for fault in [*FAULTS, *EXCHANGES]:
            for mutant in list(mutants(outcome.ptx, fault))[:2]:
                verdict = judge(outcome, mutant)
                if isinstance(verdict, Refuted):
                    refuted[fault] += 1
                elif (name, fault) not in HARMLESS:
                    survivors.append((name, fault, mutant.before, verdict))
    assert not survivors
    assert sum(refuted.values()) >= 100
    assert len(refuted) >= 20


@pytest.mark.slow
def test_all_mutants(outcomes: dict[str, Outcome]) -> None:
    verdicts: Counter[str] = Counter()
    for name, outcome in outcomes.items():
        for mutant in mutants(outcome.ptx):
            verdict = judge(outcome, mutant)
            verdicts[type(verdict).__name__] += 1
            if not isinstance(verdict, Refuted):
                assert isinstance(verdict, Proved)
                assert (name, mutant.fault) in HARMLESS
    assert verdicts["Refuted"] >= 400


def test_a_mutant_says_where_it_differs() -> None:
    text = "  mov.b32 %r1, 0;\n  bar.sync \t0;\n  ret;"
    (mutant,) = mutants(text, "missing barrier")
    assert (mutant.line, mutant.before) == (2, "bar.sync \t0;")
    assert mutant.text.split("\n") == ["  mov.b32 %r1, 0;", "", "  ret;"]


def test_an_exchange_changes_two_lines() -> None:
    text = "st.shared.b32 [%r1], %r3;\nst.shared.b32 [%r2], %r4;"
    (mutant,) = mutants(text, "shared stores swapped")
    assert mutant.text == "st.shared.b32 [%r1], %r4;\nst.shared.b32 [%r2], %r3;"


def test_nothing_to_change() -> None:
    assert not list(mutants("ret;"))
    assert not list(mutants("st.shared.b32 [%r1], %r3;", "shared stores swapped"))
