"""Why a proof stops before the end: a construct outside the model, or a fault.

Both carry the line of the PTX text. They never leave this package: the prover turns
the first into ``Unknown`` and the second into ``Refuted``.
"""

from dataclasses import dataclass


class UnsupportedError(Exception):
    """The text has something that the model does not cover."""

    def __init__(self, line: int, reason: str) -> None:
        """Name the line and the construct."""
        super().__init__(f"line {line}: {reason}")
        self.line = line


@dataclass(frozen=True, slots=True)
class Fault:
    """A concrete execution that goes wrong: the counterexample of ``Refuted``.

    Attributes:
        kind: What is wrong, e.g. ``"wrong element"`` or ``"race"``.
        line: Line of the PTX text, counted from 1; 0 where no line is at fault.
        instruction: The instruction as written.
        thread: Index of the thread in its CTA.
        expected: What should be there.
        actual: What is there.
        given: The input that shows it; empty where any input does.

    Example:
        >>> print(Fault("race", 7, "ld.shared.b32 %r1, [%r2]", 33, "own byte", "other"))
        race: thread 33 (warp 1, lane 1) at line 7 `ld.shared.b32 %r1, [%r2]`: \
expected own byte, got other
    """

    kind: str
    line: int
    instruction: str
    thread: int
    expected: str
    actual: str
    given: str = ""

    def __str__(self) -> str:
        warp, lane = divmod(self.thread, 32)
        where = f" at line {self.line} `{self.instruction}`" if self.line else ""
        given = f", for the input {self.given}" if self.given else ""
        return (
            f"{self.kind}: thread {self.thread} (warp {warp}, lane {lane}){where}: "
            f"expected {self.expected}, got {self.actual}{given}"
        )


class FaultError(Exception):
    """Carries a ``Fault`` to the prover."""

    def __init__(self, fault: Fault) -> None:
        """Keep the fault."""
        super().__init__(str(fault))
        self.fault = fault
