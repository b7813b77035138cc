"""A named, reversible fault of the fusing compiler.

A fault replaces functions of the compiler by wrong ones, in memory and for a while: no
source is touched, and leaving the context puts everything back, also in modules that
were imported meanwhile.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from verify.strategies.programs import Program

ROUTES = ("evaluated", "cpp", "triton")
"""How kernels run: by PyTorch's operators, as C++, in Triton's interpreter."""


@dataclass(frozen=True, slots=True)
class Change:
    """One function, method or constant, replaced.

    Attributes:
        place: ``"module:name"`` or ``"module:Class.method"``.
        make: Original -> what stands there instead.
    """

    place: str
    make: Callable[[Any], Any]

    def target(self) -> tuple[Any, str]:
        """Return the module or class, and the name in it.

        Raises:
            AttributeError: The compiler has no such thing (any more).
        """
        module, _, path = self.place.partition(":")
        owner: Any = import_module(module)
        *outer, name = path.split(".")
        for part in outer:
            owner = getattr(owner, part)
        getattr(owner, name)
        return owner, name


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of the compiler.

    Attributes:
        number: Kind of fault in the project's catalogue of faults.
        name: The fault in snake_case.
        precedent: Public thread where this fault was real.
        changes: What is replaced.
        route: One of :data:`ROUTES`: where the fault lives.
        probe: A program that shows it.
    """

    number: int
    name: str
    precedent: str
    changes: tuple[Change, ...]
    route: str
    probe: Program


@contextmanager
def applied(changes: Sequence[Change]) -> Iterator[None]:
    """Replace what the changes name, and put it back.

    Example:
        >>> from compiler.ir.index import mul
        >>> place = "compiler.ir.index:mul"
        >>> with applied([Change(place, lambda right: lambda *v: right(1, *v))]):
        ...     from compiler.ir import index
        ...     index.mul is mul
        False
        >>> index.mul is mul
        True
    """
    with ExitStack() as stack:
        for change in changes:
            owner, name = change.target()
            right = vars(owner)[name]
            wrong = change.make(right)
            if isinstance(owner, type):
                _replace([(owner, name)], wrong)
                stack.callback(_replace, [(owner, name)], right)
            elif callable(right):
                # modules that took it with "from ... import" have names of their own
                _replace(_names_of(right), wrong)
                stack.callback(_put_back, wrong, right)
            else:
                _replace([(owner, name)], wrong)
                stack.callback(_replace, [(owner, name)], right)
        yield


def _names_of(value: Any) -> list[tuple[Any, str]]:
    return [
        (module, name)
        for key, module in list(sys.modules.items())
        if key.partition(".")[0] == "compiler"
        for name, found in list(vars(module).items())
        if found is value
    ]


def _replace(places: Sequence[tuple[Any, str]], value: Any) -> None:
    for owner, name in places:
        setattr(owner, name, value)


def _put_back(wrong: Any, right: Any) -> None:
    _replace(_names_of(wrong), right)
