"""Errors of the compiler are errors of the algebra too, and of Python's own kinds."""

import pytest

from algebra.errors import LayoutError
from compiler import errors


@pytest.mark.parametrize(
    ("error", "parent"),
    [
        (errors.NotATensorError, TypeError),
        (errors.SizeMismatchError, ValueError),
        (errors.OutputError, ValueError),
        (errors.BackendError, ValueError),
        (errors.BuildError, RuntimeError),
        (errors.SimulationError, RuntimeError),
        (errors.OptionError, ValueError),
        (errors.CompileError, RuntimeError),
    ],
)
def test_parents_and_facts(error: type[LayoutError], parent: type[Exception]) -> None:
    caught = error("needed x, got y=1", y=1)
    assert isinstance(caught, LayoutError) and isinstance(caught, parent)
    assert caught.facts == {"y": 1} and str(caught) == "needed x, got y=1"
