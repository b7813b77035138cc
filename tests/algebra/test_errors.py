import pytest

from algebra import errors


def test_facts_are_attributes() -> None:
    error = errors.DimMismatchError("dim1 is 4 here, 8 there", dim="dim1", size=4)
    assert (error.dim, error.size) == ("dim1", 4)  # type: ignore[attr-defined]
    assert str(error) == "dim1 is 4 here, 8 there"


@pytest.mark.parametrize(
    "kind",
    [value for value in vars(errors).values() if isinstance(value, type)],
)
def test_every_mistake_is_a_layout_error(kind: type) -> None:
    if kind.__module__ == errors.__name__:
        assert issubclass(kind, errors.LayoutError)
        assert issubclass(kind, ValueError)
        assert kind.__doc__
