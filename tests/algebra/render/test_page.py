import string

from algebra.render.page import PAGE, SCRIPT, STYLE


def test_the_frame_has_these_fields() -> None:
    fields = {name for _, name, _, _ in string.Formatter().parse(PAGE) if name}
    assert fields == {
        *("title", "style", "switch", "picture", "bases", "hardware", "script")
    }


def test_the_script_is_balanced_and_does_not_close_itself() -> None:
    for opening, closing in ("()", "[]", "{}"):
        assert SCRIPT.count(opening) == SCRIPT.count(closing)
    assert "</" not in SCRIPT + STYLE
    assert SCRIPT.count("COLOURS") == 1
