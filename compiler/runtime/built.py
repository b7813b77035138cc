"""What a printer returns: a kernel that can be called."""

from collections.abc import Mapping
from typing import Any, Protocol

from compiler.ir.expression import Expression


class Built(Protocol):
    """A kernel, compiled.

    A call takes the tensors of ``parameters`` and then the sizes of ``symbols``, writes
    into the tensors, and returns None. It raises IndexError where an index was out of
    range.
    """

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of buffers, in the order of the call."""
        ...

    @property
    def symbols(self) -> tuple[Expression, ...]:
        """Sizes, in the order of the call."""
        ...

    @property
    def source(self) -> str:
        """Text that it was compiled from."""
        ...

    def __call__(self, *arguments: Any) -> None:
        """Run the kernel."""
        ...


class Shared:
    """A kernel that does what another one does, with arrays of other names.

    Attributes:
        built: The other one, compiled.
        parameters: Names of buffers, in the order of the call.
    """

    def __init__(self, built: Built, names: Mapping[str, str]) -> None:
        """Take the other one.

        Args:
            built: It may be shared by many.
            names: Its name of an array -> this kernel's.
        """
        self.built = built
        self.parameters = tuple(names[name] for name in built.parameters)

    @property
    def symbols(self) -> tuple[Expression, ...]:
        """Sizes, in the order of the call."""
        return self.built.symbols

    @property
    def source(self) -> str:
        """Text that it was compiled from."""
        return self.built.source

    @property
    def entry(self) -> Any:
        """What a wrapper calls directly; None where there is nothing of the kind."""
        return getattr(self.built, "entry", None)

    def __call__(self, *arguments: Any) -> None:
        """Run the kernel."""
        self.built(*arguments)
