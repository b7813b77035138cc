"""The pieces of an attribute's text."""

from algebra.encodings import Cga, CtaLayout, SwizzledShared
from algebra.ttgir.fields import bases, braces, cga, fields, value


def test_values() -> None:
    assert value(7) == "7"
    assert value(False) == "false"
    assert value("#ttg.x") == "#ttg.x"
    assert value(()) == "[]"
    assert value(((1, 0), (0, 2))) == "[[1, 0], [0, 2]]"


def test_fields_and_braces() -> None:
    assert fields([]) == ""
    assert braces([("n", 1), ("f", True)]) == "{n = 1, f = true}"


def test_one_cta_is_not_written() -> None:
    one = SwizzledShared(vec=1, per_phase=1, max_phase=1, order=(0,))
    two = SwizzledShared(
        vec=1, per_phase=1, max_phase=1, order=(0,), cga=Cga(bases=((1,),))
    )
    assert cga(one) == []
    assert cga(two) == [("CGALayout", ((1,),))]


def test_optional_bases_are_written_where_there_are_some() -> None:
    layout = CtaLayout(warp=((1, 0),))
    names = ("register", "warp")
    assert bases(layout, names) == [("register", ()), ("warp", ((1, 0),))]
    assert bases(layout, names, optional=2) == [("warp", ((1, 0),))]
    assert bases(CtaLayout(), names, optional=1) == [("register", ())]
