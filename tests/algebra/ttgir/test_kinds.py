"""Attributes become encodings; unknown and contradictory ones are located."""

import pytest

from algebra.encodings import SwizzledShared
from algebra.errors import ParseError
from algebra.ttgir.kinds import BUILDERS, DIALECTS, encode
from algebra.ttgir.reader import read_attributes

FIELDS = "<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_is_read(dialect: str) -> None:
    (attribute,) = read_attributes(f"#{dialect}.swizzled_shared{FIELDS}")
    expected = SwizzledShared(vec=8, per_phase=1, max_phase=8, order=(1, 0))
    assert encode(attribute) == expected


@pytest.mark.parametrize("name", ["ttg.swizzled", "gluon.swizzled_shared"])
def test_an_unknown_kind_lists_all_known_ones(name: str) -> None:
    (attribute,) = read_attributes(f"#{name}{FIELDS}")
    with pytest.raises(ParseError) as caught:
        encode(attribute)
    assert all(kind in str(caught.value) for kind in BUILDERS)


@pytest.mark.parametrize("kind", sorted(BUILDERS))
def test_every_kind_rejects_what_it_does_not_know(kind: str) -> None:
    (attribute,) = read_attributes(f"#ttg.{kind}<{{surprise = 1}}>")
    with pytest.raises(ParseError, match=r"^line 1, column \d+: expected "):
        encode(attribute)


def test_parameters_that_contradict_each_other_are_located() -> None:
    text = "#x = #ttg.swizzled_shared" + FIELDS.replace("8", "6")
    (attribute,) = read_attributes("\n" + text)
    with pytest.raises(ParseError, match=r"^line 2, column 6: .*vec=6"):
        encode(attribute)


def test_a_parent_is_located_where_it_stands() -> None:
    text = "#ttg.slice<{dim = 0, parent = #ttg.nothing}>"
    (attribute,) = read_attributes(text)
    with pytest.raises(ParseError, match=r"^line 1, column 31: .*'#ttg\.nothing'"):
        encode(attribute)
