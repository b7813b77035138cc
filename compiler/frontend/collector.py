"""No collections of cyclic garbage while a graph is compiled.

Compiling makes many objects that live until it ends, so a collection in its midst walks
over all of them, again and again, and finds next to nothing.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """Leave cyclic garbage alone in the block, where it is collected outside.

    Law: the collector is on after the block where it was on before it, however the
    block ends; a block within a block changes nothing.

    Example:
        >>> with collector_paused():
        ...     gc.isenabled()
        False
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
