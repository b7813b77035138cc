"""Every mistake that a caller of the algebra can make, one class each.

A message says what was needed, what came as ``name=value``, a witness where there
is one, and the way out. The same facts are attributes of the exception, so that a
program can act on them.
"""

from typing import Any


class LayoutError(ValueError):
    """Root of all errors that the algebra raises for bad input.

    Keyword arguments become attributes: ``LayoutError("...", dim="lane").dim``.
    """

    def __init__(self, message: str, **facts: Any) -> None:
        """Store ``message`` and each fact as an attribute."""
        super().__init__(message)
        self.facts = facts
        for name, value in facts.items():
            setattr(self, name, value)


class ArgumentError(LayoutError, TypeError):
    """An argument is of another kind; has ``argument`` and ``value``."""


class BasisError(LayoutError):
    """A basis vector has a wrong length, type, sign or range."""


class NotPowerOfTwoError(LayoutError):
    """A size that must be a power of two is not one."""


class DimMismatchError(LayoutError):
    """A dim is missing, unexpected, repeated, or has another size."""


class NotSurjectiveError(LayoutError):
    """The bases do not reach the whole output space; ``missing`` is a witness."""


class NotInvertibleError(LayoutError):
    """A bijection was needed; ``kernel`` is a nonzero input that maps to zero."""


class NotSolvableError(LayoutError):
    """An output has no preimage; ``column`` is a witness."""


class OutOfRangeError(LayoutError):
    """An index lies outside its dim."""


class UnsupportedLayoutError(LayoutError):
    """The layout exists but this operation has no meaning for it."""


class EncodingError(LayoutError):
    """The parameters of an encoding contradict each other or the shape."""


class ParseError(LayoutError):
    """A text is not the spelling of an encoding; ``line`` and ``column`` locate it."""
