"""Mistakes that a caller of the compiler can make, one class each.

They extend the errors of the algebra: a message names what was needed, what came as
``name=value`` and the way out, and the facts are attributes.
"""

from algebra.errors import LayoutError


class NotATensorError(LayoutError, TypeError):
    """A dense tensor in memory was needed; ``type_name`` says what came."""


class SizeMismatchError(LayoutError):
    """A tensor's number of elements does not fit the layout."""


class OutputError(LayoutError):
    """The tensor given as ``out`` cannot take the result."""


class BackendError(LayoutError):
    """The chosen backend cannot run on this device, or its name is unknown."""


class BuildError(LayoutError, RuntimeError):
    """The C++ compiler is missing or refused a generated source."""


class SimulationError(LayoutError, RuntimeError):
    """A plan breaks a rule of the hardware; ``step`` says where."""


class PointwiseError(LayoutError):
    """Pointwise work that a permutation cannot do on the way."""


class OptionError(LayoutError):
    """An option of the fusing compiler is unknown or has no such value."""


class CompileError(LayoutError, RuntimeError):
    """A graph could not be compiled, and falling back was not wanted."""


class FallbackWarning(UserWarning):
    """Something runs by PyTorch's own operators because it could not be compiled."""


class NotTiledError(LayoutError):
    """A kernel of the fusing compiler that no tile graph of ours can express."""
