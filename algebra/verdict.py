"""The three answers that a check can give.

A verdict is ``Proved``, ``Refuted`` with a counterexample that a person can run, or
``Unknown`` with the reason (a time-out is Unknown). A verdict has no truth value:
``if verdict:`` would let an Unknown pass, so it raises; match on the class.
"""

from dataclasses import dataclass
from typing import Any, NoReturn


class _NoTruthValue:
    """Mixin: forbid ``bool(verdict)``."""

    __slots__ = ()

    def __bool__(self) -> NoReturn:
        raise TypeError(
            f"a verdict has no truth value ({type(self).__name__}); "
            "use isinstance(verdict, Proved)"
        )


@dataclass(frozen=True, slots=True)
class Proved(_NoTruthValue):
    """The statement holds for everything in its scope.

    Attributes:
        method: How it was proved, e.g. ``"z3"`` or ``"exact F2 algebra"``.
        facts: Details worth printing (cases, seconds, ...).
    """

    method: str = ""
    facts: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Refuted(_NoTruthValue):
    """The statement is false.

    Attributes:
        counterexample: A concrete case that shows it, as a mapping or an object
            whose ``str`` a person can follow and run.
    """

    counterexample: Any


@dataclass(frozen=True, slots=True)
class Unknown(_NoTruthValue):
    """Neither proved nor refuted.

    Attributes:
        reason: Why, e.g. ``"time-out after 10 s"`` or the unsupported construct.
    """

    reason: str


Verdict = Proved | Refuted | Unknown
