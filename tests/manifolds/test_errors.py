import pytest

from algebra.errors import LayoutError
from manifolds import errors

CLASSES = [
    value
    for value in vars(errors).values()
    if isinstance(value, type) and value.__module__ == errors.__name__
]


@pytest.mark.parametrize("error", CLASSES, ids=lambda error: error.__name__)
def test_each_error_carries_its_facts(error: type[LayoutError]) -> None:
    raised = error("needed that, came x=1", x=1)
    assert raised.facts == {"x": 1}
    assert issubclass(error, ValueError)
    assert error.__doc__
