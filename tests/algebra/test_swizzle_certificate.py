"""Certificates: true ones check, every single changed fact is refuted."""

from dataclasses import replace

import pytest

from algebra import LinearLayout, Proved, Refuted, Unknown
from algebra.bank_conflicts import LaneTile
from algebra.swizzle import optimal_swizzle
from algebra.swizzle_certificate import (
    Certificate,
    certify,
    least_total_wavefronts,
    served_lanes,
)


def transposition(element_bits: int) -> Certificate:
    rows = [1 << i for i in range(5)]
    columns = [1 << i for i in range(5, 10)]
    src, dst = (
        LinearLayout.from_columns({"register": 5, "lane": 5}, {"dim0": 10}, order)
        for order in (rows + columns, columns + rows)
    )
    return optimal_swizzle(src, dst, element_bits).certificate


def test_a_true_certificate_is_proved() -> None:
    verdict = transposition(16).check()
    assert isinstance(verdict, Proved)
    assert dict(verdict.facts)["wavefronts"] == transposition(16).wavefronts


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"elements": 4}, "not contiguous"),
        ({"conflicts": 1}, "are simulated, not 1"),
        ({"instructions": 1}, "are held"),
        ({"lane_groups": 7}, "lane groups, not 7"),
        ({"lane_tile": LaneTile((), (0,))}, "lane groups, not"),
    ],
)
def test_every_changed_fact_of_an_access_is_refuted(
    change: dict[str, object], words: str
) -> None:
    certificate = transposition(32)
    narrow = min(certificate.accesses, key=lambda access: access.elements)
    position = certificate.accesses.index(narrow)
    accesses = list(certificate.accesses)
    accesses[position] = replace(narrow, **change)  # type: ignore[arg-type]
    verdict = replace(certificate, accesses=tuple(accesses)).check()
    assert isinstance(verdict, Refuted)
    assert verdict.counterexample.startswith(f"pattern {position}: ")
    assert words in verdict.counterexample


def test_a_changed_lower_bound_or_memory_is_refuted() -> None:
    certificate = transposition(32)
    wrong = replace(certificate, least_wavefronts=certificate.least_wavefronts - 1)
    verdict = wrong.check()
    assert isinstance(verdict, Refuted)
    assert "lower bound" in verdict.counterexample
    columns = [1 << i for i in range(10)]
    plain = LinearLayout.from_columns({"offset": 10}, {"dim0": 10}, columns)
    assert isinstance(replace(certificate, memory=plain).check(), Refuted)


def test_a_memory_with_conflicts_is_not_proved() -> None:
    patterns = [access.pattern for access in transposition(32).accesses]
    plain = LinearLayout.identity_1d(1024, "offset", "dim0")
    certificate = certify(patterns, plain, 32, 32, [None, None])
    assert [access.conflicts for access in certificate.accesses] == [7, 0]
    assert certificate.wavefronts > certificate.least_wavefronts
    verdict = certificate.check()
    assert isinstance(verdict, Unknown)
    assert "was cut" in verdict.reason


def test_narrow_vectors_without_conflicts_are_not_proved() -> None:
    row = LinearLayout.identity_1d(4, "register", "dim0") * LinearLayout.identity_1d(
        32, "lane", "dim0"
    )
    columns = [2, 1, 4, 8, 16, 32, 64]
    apart = LinearLayout.from_columns({"offset": 7}, {"dim0": 7}, [*columns[2:], 1, 2])
    certificate = certify([row], apart, 16, 32, [None])
    assert [access.conflicts for access in certificate.accesses] == [0]
    verdict = certificate.check()
    assert isinstance(verdict, Unknown)
    assert "no access has a conflict more than it must" in verdict.reason


def test_least_conflicts_count_words() -> None:
    access = transposition(32).accesses[0]
    assert access.least_conflicts(32, 32) == 0
    assert replace(access, span_rank=7).least_conflicts(32, 32) == 3
    assert replace(access, span_rank=7).least_conflicts(8, 32) == 0


def test_patterns_that_share_no_register_cannot_both_fill_words() -> None:
    certificate = transposition(8)
    patterns = [access.pattern for access in certificate.accesses]
    assert certificate.least_wavefronts == 8 + 32
    assert [access.wavefronts for access in certificate.accesses] in ([8, 32], [32, 8])
    alone = least_total_wavefronts(patterns[:1], 8, 32)
    assert alone == 8
    assert least_total_wavefronts(patterns[:1] * 6, 8, 32) == 6 * alone
    assert least_total_wavefronts(patterns * 3, 8, 32) == 6 * alone


def test_served_lanes_fill_a_row_of_banks() -> None:
    assert served_lanes(5, 0, 8, 32).lane_addr == (0, 1, 2, 3, 4)
    assert served_lanes(6, 0, 32, 32).lane_addr == (0, 1, 2, 3, 4)
    assert served_lanes(6, 0, 32, 64).lane_addr == (0, 1, 2, 3, 4, 5)
    assert served_lanes(2, 0, 32, 32).lane_addr == (0, 1)
    assert served_lanes(5, 0, 128, 32).lane_addr == (0, 1, 2)
    wave = LaneTile((), (0, 1, 4))
    assert served_lanes(6, 3, 16, 32, wave) == wave
    assert served_lanes(6, 2, 16, 32, wave).lane_addr == (0, 1, 2, 3)
