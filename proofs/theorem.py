"""One statement of the catalogue, with the means to check it again."""

from collections.abc import Callable
from dataclasses import dataclass, field

from algebra.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Theorem:
    """A sentence that a machine can check.

    Attributes:
        name: The sentence in snake_case, e.g. ``swizzled_address_is_injective``.
        statement: The same in words and formulas.
        scope: What is quantified over: all sizes, a parameter box, or instances.
        method: How it is checked, e.g. ``"z3 and bitwuzla"``.
        source: The paper section, upstream symbol or file that it is about.
        check: Function of a time limit [seconds] that returns the verdict.
        instances: How many parameter sets the scope stands for; 0 = not counted.
    """

    name: str
    statement: str
    scope: str
    method: str
    source: str
    check: Callable[[float], Verdict] = field(repr=False, compare=False)
    instances: int = 0

    def prove(self, timeout: float | None = None) -> Verdict:
        """Check the statement; what it took is in ``Proved.facts``.

        Args:
            timeout: Limit of each solver call [seconds]; default 60.

        Returns:
            ``Proved`` with facts such as the seconds of each solver, ``Refuted`` with
            a counterexample, or ``Unknown`` with the limit that was reached.
        """
        return self.check(60.0 if timeout is None else timeout)
