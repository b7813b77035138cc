"""What the compiler asks of whoever checks its kernels.

The compiler knows no solver. ``verify.obligations`` has a validator, and the front door
``tilewright.backend`` hands it over.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from algebra.verdict import Verdict
from compiler.ir.expression import Expression
from compiler.ir.kernel import Kernel


@dataclass(frozen=True, slots=True)
class Certificate:
    """What was found about one kernel.

    Attributes:
        kernel: Its name.
        verdicts: Obligation -> verdict: ``"in_bounds"``, ``"write_once"``,
            ``"no_wrap"``, ``"coverage"``, ``"no_race"``, ``"fused_read"``.
        seconds: What it took [s].
    """

    kernel: str
    verdicts: Mapping[str, Verdict]
    seconds: float = 0.0


class Validator(Protocol):
    """Checks kernels before they run."""

    def __call__(
        self, kernels: Sequence[Kernel], least: Mapping[Expression, int]
    ) -> Sequence[Certificate]:
        """Return a certificate for each kernel, in order.

        Must not raise: what goes wrong inside is an Unknown with the reason. A kernel
        with a Refuted verdict never runs, and its user is told.

        Args:
            kernels: As the scheduler made them.
            least: Symbol -> the least that it can be.
        """
        ...
