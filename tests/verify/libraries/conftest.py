"""A library with planted faults: on some arguments wrong, raising or dead."""

from collections.abc import Callable
from random import Random

import pytest

from verify.libraries.operation import Arguments, Library, Operation, UndefinedError

SOURCE = """import os


def run(a, b):
    if a == 97:
        os.abort()
    if a == 99:
        raise KeyError(f"no {a}")
    if a > 40 and b > 2:
        return a
    return a + b
"""


def draw(rng: Random) -> Arguments:
    return rng.randint(0, 100), rng.randint(0, 9)


def right(a: int, b: int) -> int:
    if a < 0 or b < 0:
        raise UndefinedError("numbers from 0 on")
    return a + b


def make_library(top: int = 100) -> Library:
    """Return the library with arguments up to a number."""

    def below(rng: Random) -> Arguments:
        return rng.randint(0, top), rng.randint(0, 9)

    add = Operation("add", SOURCE, below, right, "the sum", (), ((0, 0), (0, 1)))
    return Library("planted", "pytest", (add,))


PLANTED = make_library()


@pytest.fixture
def add() -> Operation:
    return PLANTED.operations[0]


@pytest.fixture
def planted() -> Callable[..., Library]:
    """Makes the library, with arguments up to a number."""
    return make_library
