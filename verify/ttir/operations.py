"""Which operation has which meaning: the table of handlers."""

from .control import CONTROL
from .elementwise import ELEMENTWISE, elementwise_of
from .machine import Handler
from .memory import MEMORY
from .reductions import REDUCTIONS
from .views import VIEWS

_TABLE: dict[str, Handler] = {
    **ELEMENTWISE,
    **VIEWS,
    **MEMORY,
    **REDUCTIONS,
    **CONTROL,
}


def handler_of(name: str) -> Handler | None:
    """Return the handler of an operation; ``None`` where it has no meaning here.

    Example:
        >>> handler_of("tt.load") is not None, handler_of("tt.nonsense") is None
        (True, True)
    """
    return _TABLE.get(name) or elementwise_of(name)


def supported() -> tuple[str, ...]:
    """Return the names of the operations that have a handler of their own."""
    return tuple(sorted(_TABLE))
