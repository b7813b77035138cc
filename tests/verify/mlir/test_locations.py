from verify.mlir.locations import Location, described, frames

USER = Location("file", "/home/a/k.py", 7, 3)
LIBRARY = Location("file", "/site/triton/language/standard.py", 170, 2)


def test_the_users_line_is_described() -> None:
    call = Location("callsite", inner=(LIBRARY, Location("alias", "#loc1")))
    aliases = {"#loc1": Location("name", "x", inner=(USER,))}
    assert frames(call, aliases) == (LIBRARY, USER)
    assert described(call, aliases) == "k.py:7:3"
    assert described(LIBRARY, {}) == "standard.py:170:2"


def test_unknown_and_cyclic_places_are_empty() -> None:
    assert described(Location(), {}) == ""
    loop = {"#a": Location("alias", "#b"), "#b": Location("alias", "#a")}
    assert described(Location("alias", "#a"), loop) == ""


def test_of_fused_places_the_first_counts() -> None:
    assert frames(Location("fused", inner=(USER, LIBRARY)), {}) == (USER,)
