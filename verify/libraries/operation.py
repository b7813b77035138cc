"""An operation of a library: how it is called, and what must come out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

Arguments = tuple[Any, ...]


class UndefinedError(Exception):
    """The documentation promises nothing about these arguments."""


@dataclass(frozen=True, slots=True)
class Operation:
    """What is called with which arguments, and what the documentation promises.

    Attributes:
        name: Of the operation; unique within its library.
        source: Python text that defines ``run(*arguments)``. It imports what it needs,
            and returns plain data (ints, strings, lists, None).
        draw: Arguments, plain data whose ``repr`` can be read back.
        expected: The right answer for arguments, from a definition that does not use
            the library.

            Raises :class:`UndefinedError` outside the contract.
        promise: What the documentation says, in a line.
        refusals: Names of exceptions with which it may refuse arguments.
        small: The simplest arguments, all of them, before anything is drawn.
        trait: What shrunk arguments add to the name of a cause: failures that show
            themselves alike may have several.
    """

    name: str
    source: str
    draw: Callable[[Random], Arguments]
    expected: Callable[..., Any]
    promise: str
    refusals: tuple[str, ...] = ()
    small: Sequence[Arguments] = ()
    trait: Callable[[Arguments], str] | None = None


@dataclass(frozen=True, slots=True)
class Library:
    """A library with its operations.

    Attributes:
        name: Key of ``LIBRARIES``.
        package: Distribution whose version counts.
        operations: Name -> operation.
    """

    name: str
    package: str
    operations: tuple[Operation, ...]

    def named(self, name: str) -> Operation:
        """Return an operation.

        Raises:
            KeyError: There is none of this name.
        """
        for operation in self.operations:
            if operation.name == name:
                return operation
        raise KeyError(name)

    def draw(self, seed: int, number: int) -> tuple[Operation, Arguments]:
        """Return a case of a campaign; it depends on the two numbers alone.

        The operations take turns; each first runs through its small arguments.
        """
        turn, place = divmod(number, len(self.operations))
        operation = self.operations[place]
        if seed == 0 and turn < len(operation.small):
            return operation, operation.small[turn]
        return operation, operation.draw(Random(f"{seed}/{number}"))
