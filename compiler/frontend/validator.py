"""What the compiler asks of whoever checks what it makes.

The compiler knows no solver. ``verify.obligations`` has a validator, and the front door
``tilewright.backend`` hands it over.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from algebra.verdict import Verdict
from compiler.ir.expression import Expression
from compiler.ir.kernel import Kernel, Schedule
from compiler.ir.node import Program

MEMORY = "memory"
"""Name of the certificate of a schedule's memory plan."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """What was found about one kernel, or about the memory plan.

    Attributes:
        kernel: Its name; :data:`MEMORY` for the plan.
        verdicts: Obligation -> verdict: ``"in_bounds"``, ``"write_once"``,
            ``"no_wrap"``, ``"coverage"``, ``"no_race"``, ``"fused_read"``;
            ``"ttir_in_bounds"`` and the like of the text that was emitted.
        seconds: What it took, of the processor [s].
    """

    kernel: str
    verdicts: Mapping[str, Verdict]
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Emitted:
    """A kernel as Triton has it, and what a launch gives it.

    Attributes:
        kernel: What it was printed from: its arrays have shapes and strides.
        text: TTIR.
        arguments: Names of the function's parameters: arrays, then sizes.
        parameters: Names of the arrays.
        symbols: The sizes.
        types: Pointer types of the arrays, in Triton's spelling.
        grid: Number of programs, an index over symbols.
    """

    kernel: Kernel
    text: str
    arguments: tuple[str, ...]
    parameters: tuple[str, ...]
    symbols: tuple[Expression, ...]
    types: tuple[str, ...]
    grid: Expression


class Validator(Protocol):
    """Checks what is made before it runs.

    Nothing here may raise: what goes wrong inside is an Unknown with the reason. A
    kernel with a Refuted verdict never runs, nor does a refuted memory plan, and the
    user is told.
    """

    def scheduled(
        self, schedule: Schedule, program: Program | None
    ) -> Sequence[Certificate]:
        """Return a certificate for each kernel, in order, and one for the plan.

        Args:
            schedule: What will run.
            program: What it was made from; None: reads are not compared with it.
        """
        ...

    def emitted(
        self, kernels: Sequence[Emitted], schedule: Schedule
    ) -> Sequence[Certificate]:
        """Return a certificate for each emitted text, in order.

        Args:
            kernels: Texts of kernels of the schedule.
            schedule: Says which arrays share memory.
        """
        ...
