"""The table of operations is consistent."""

from verify.strategies.programs.module_operations import MODULE_HOLES
from verify.strategies.programs.operations import (
    CONSTANT_WRITES,
    DRAWN_AT_RANDOM,
    EXPRESSIONS,
    FAMILIES,
    SHARES,
    STATEMENTS,
)
from verify.strategies.programs.scope import BESIDE, HOLE, HOLES, PLAIN, TENSORS


def test_every_hole_is_known_and_every_name_has_a_family() -> None:
    known = {*BESIDE, *HOLES, *PLAIN, *TENSORS, *MODULE_HOLES, "it", "that"}
    for name, template in {**EXPRESSIONS, **STATEMENTS}.items():
        unknown = set(HOLE.findall(template)) - known
        assert not unknown, (name, unknown)
    listed = [name for names in FAMILIES.values() for name in names]
    assert sorted(listed) == sorted([*EXPRESSIONS, *STATEMENTS])
    assert len(listed) == len(set(listed)) >= 105


def test_what_is_drawn_at_random_is_in_the_table() -> None:
    assert {"rand_like", "normal_"} <= DRAWN_AT_RANDOM <= set(FAMILIES["random"])
    assert not CONSTANT_WRITES - STATEMENTS.keys()
    assert "dropout_none" not in DRAWN_AT_RANDOM


def test_shares_are_of_families() -> None:
    assert SHARES.keys() <= FAMILIES.keys()
    assert all(share > 1 for share in SHARES.values())
