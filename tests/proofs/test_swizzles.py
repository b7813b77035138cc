from dataclasses import replace

import pytest

from algebra import LinearLayout
from algebra.bank_conflicts import bank_conflicts
from algebra.swizzle import Swizzling, swizzle_for
from algebra.swizzle_certificate import certify
from algebra.verdict import Proved, Refuted
from proofs import swizzles
from proofs.swizzles import CONVERSIONS, Conversion, check, theorems


@pytest.mark.slow
@pytest.mark.parametrize("conversion", CONVERSIONS, ids=lambda c: c.name)
def test_each_certificate_holds(conversion: Conversion) -> None:
    assert isinstance(check(conversion, 1.0), Proved)
    memory = swizzle_for(conversion.patterns(), conversion.element_bits).memory
    for pattern in conversion.patterns():
        assert bank_conflicts(pattern, memory, conversion.element_bits) == 0


def test_names_are_sentences_of_the_catalogue() -> None:
    names = [theorem.name for theorem in theorems()]
    assert len(set(names)) == len(names) == len(CONVERSIONS)
    assert all(isinstance(theorem.prove(), Proved) for theorem in theorems()[:1])


def unswizzled() -> LinearLayout:
    rows, columns = [[1 << i, 0] for i in range(6)], [[0, 1 << i] for i in range(6)]
    return LinearLayout.from_bases(
        {"offset": [*columns, *rows], "block": []}, {"dim0": 64, "dim1": 64}
    )


def test_a_memory_with_conflicts_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    conversion = CONVERSIONS[3]

    def plain(patterns: list[LinearLayout], bits: int) -> Swizzling:
        memory = unswizzled()
        certificate = certify(patterns, memory, bits, 32, [None] * len(patterns))
        return Swizzling(memory, 0, 0, certificate)

    monkeypatch.setattr(swizzles, "swizzle_for", plain)
    verdict = check(conversion, 1.0)
    assert isinstance(verdict, Refuted)
    assert any(verdict.counterexample["conflicts"])


def test_a_false_bound_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    conversion = CONVERSIONS[3]
    good = swizzle_for(conversion.patterns(), conversion.element_bits)
    false = replace(good.certificate, least_wavefronts=1)
    monkeypatch.setattr(
        swizzles, "swizzle_for", lambda *_: Swizzling(good.memory, 0, 0, false)
    )
    assert isinstance(check(conversion, 1.0), Refuted)
