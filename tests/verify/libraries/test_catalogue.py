import pytest

from verify.libraries.catalogue import LIBRARIES, library


@pytest.mark.parametrize("name", sorted(LIBRARIES))
def test_each_library_is_there(name: str) -> None:
    found = library(name)
    assert found.name == name
    names = [operation.name for operation in found.operations]
    assert len(set(names)) == len(names)


def test_another_is_none() -> None:
    with pytest.raises(KeyError):
        library("nothing")
