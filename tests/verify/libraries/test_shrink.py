from typing import Any

from verify.libraries.shrink import candidates, shrink


def test_numbers_shrink_to_the_least_that_fails() -> None:
    assert shrink((70, 9), lambda x: x[0] > 40 and x[1] > 2) == (41, 3)


def test_shape_and_strides_lose_a_mode_together() -> None:
    layout = (((4, 8), 2), ((1, 4), 32))

    def fails(arguments: tuple[Any, ...]) -> bool:
        return "4" in repr(arguments)

    found = shrink((layout,), fails)
    assert found == (4,)
    pairs = [a[0] for a in candidates((layout,)) if len(a[0]) == 2]
    assert ((4, 8), (1, 4)) in pairs
    assert (2, 32) in pairs


def test_tries_are_bounded() -> None:
    tries: list[Any] = []

    def fails(arguments: tuple[Any, ...]) -> bool:
        tries.append(arguments)
        return bool(arguments[0] > 9)

    shrink((10**6,), fails, limit=7)
    assert len(tries) == 7
