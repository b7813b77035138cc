from collections.abc import Callable
from itertools import product

from proofs.parametric.preconditions import Condition, weakest_precondition

POWERS = (1, 2, 4, 8)


def cases(
    statement: Callable[[int, int, int], bool],
) -> list[tuple[dict[str, int], bool]]:
    return [
        ({"a": a, "b": b, "c": c}, statement(a, b, c))
        for a, b, c in product(POWERS, repeat=3)
    ]


def test_simple_conditions_are_found() -> None:
    for statement, text in (
        (lambda a, b, c: a == 1, "a == 1"),
        (lambda a, b, c: a <= b, "a <= b"),
        (lambda a, b, c: a * b <= c, "a*b <= c"),
        (lambda a, b, c: a == 1 or b <= c, "a == 1 or b <= c"),
    ):
        assert str(weakest_precondition(cases(statement))) == text


def test_none_fits() -> None:
    assert weakest_precondition(cases(lambda a, b, c: (a + b + c) % 5 == 0)) is None


def test_a_condition_is_a_predicate() -> None:
    condition = Condition(((("a", "b"), ("c",)), (("a",), ())))
    assert condition.holds({"a": 2, "b": 2, "c": 4})
    assert condition.holds({"a": 1, "b": 8, "c": 1})
    assert not condition.holds({"a": 2, "b": 4, "c": 4})
    assert str(condition) == "a*b <= c or a == 1"
