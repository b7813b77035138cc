from random import Random

import pytest

from algebra import LayoutError
from algebra.encodings import from_dict
from algebra.verdict import Refuted, Unknown
from verify.equivalence import prove_encoding
from verify.mutants import COMPILER_FAULTS, CONVERSION_MUTANTS, LAYOUT_MUTANTS
from verify.oracle.random_encodings import random_case


def test_every_kind_of_fault_is_registered_under_a_name_of_its_own() -> None:
    mutants = (*LAYOUT_MUTANTS, *CONVERSION_MUTANTS)
    numbers = {one.number for one in mutants} | {one.number for one in COMPILER_FAULTS}
    assert numbers == set(range(1, 49))
    names = [one.name for one in mutants] + [one.name for one in COMPILER_FAULTS]
    assert len(set(names)) == len(names)


def test_every_kind_of_layout_fault_has_a_mutant() -> None:
    assert {mutant.number for mutant in LAYOUT_MUTANTS} == set(range(1, 18))
    names = [mutant.name for mutant in LAYOUT_MUTANTS]
    assert len(set(names)) == len(names)
    assert all(mutant.precedent for mutant in LAYOUT_MUTANTS)


def alarms(seed: int, count: int) -> tuple[list[object], int]:
    """Refutations of right layouts, and how many encodings have a formula."""
    rng = Random(seed)
    found: list[object] = []
    decided = 0
    for _ in range(count):
        case = random_case(rng)
        encoding = from_dict(case.encoding)
        try:
            verdict = prove_encoding(encoding, case.shape)
        except LayoutError as error:
            found.append((case, error))
            continue
        if isinstance(verdict, Refuted):
            found.append((case, verdict))
        decided += not isinstance(verdict, Unknown)
    return found, decided


def test_right_layouts_are_not_refuted() -> None:
    found, decided = alarms(5, 400)
    assert not found
    assert decided > 150


@pytest.mark.slow
def test_twenty_thousand_right_layouts_are_not_refuted() -> None:
    found, decided = alarms(6, 20_000)
    assert not found
    assert decided > 8_000
