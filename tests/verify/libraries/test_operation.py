from collections.abc import Callable

import pytest

from verify.libraries.operation import Library


def test_a_case_depends_on_its_two_numbers_alone(
    planted: Callable[..., Library],
) -> None:
    source = planted()
    first = [source.draw(3, number)[1] for number in range(50)]
    assert first == [source.draw(3, number)[1] for number in range(50)]
    assert first != [source.draw(4, number)[1] for number in range(50)]


def test_the_small_arguments_come_first(planted: Callable[..., Library]) -> None:
    source = planted()
    first = [source.draw(0, number)[1] for number in range(2)]
    assert first == list(source.operations[0].small)


def test_an_unknown_name_is_an_error(planted: Callable[..., Library]) -> None:
    source = planted()
    assert source.named("add") is source.operations[0]
    with pytest.raises(KeyError):
        source.named("subtract")
