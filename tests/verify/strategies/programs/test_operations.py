"""The table of operations is consistent."""

from verify.strategies.programs.operations import EXPRESSIONS, FAMILIES, STATEMENTS
from verify.strategies.programs.scope import BESIDE, HOLE, HOLES, PLAIN, TENSORS


def test_every_hole_is_known_and_every_name_has_a_family() -> None:
    known = {*BESIDE, *HOLES, *PLAIN, *TENSORS}
    for name, template in {**EXPRESSIONS, **STATEMENTS}.items():
        unknown = set(HOLE.findall(template)) - known
        assert not unknown, (name, unknown)
    listed = [name for names in FAMILIES.values() for name in names]
    assert sorted(listed) == sorted([*EXPRESSIONS, *STATEMENTS])
    assert len(listed) == len(set(listed)) >= 105
