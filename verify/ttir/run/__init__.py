"""Run programs of a kernel on numbers, in guarded memory; see ``interpreter``.

Shares the reader with the symbolic semantics and nothing else: loops run, integers
wrap, and an access is looked at element by element. It confirms counterexamples.
"""

from .interpreter import DEFAULT_FLOAT, Launch, RunError, run_program
from .memory import Event, GuardedMemory

__all__ = [
    "DEFAULT_FLOAT",
    "Event",
    "GuardedMemory",
    "Launch",
    "RunError",
    "run_program",
]
