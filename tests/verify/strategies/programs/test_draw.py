"""The type of ``draw`` is a callable."""

from typing import get_origin

from verify.strategies.programs.draw import Draw


def test_draw_is_a_callable_type() -> None:
    assert get_origin(Draw) is not None
