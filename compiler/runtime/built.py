"""What a printer returns: a kernel that can be called."""

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
