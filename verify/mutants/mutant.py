"""A named fault, where it applies, and the check that has to see it.

A mutant replaces one computation by a wrong one; nothing of the algebra is touched. It
is *equivalent* on a configuration where both give the same bases, which is decided
exactly; on every other configuration its judge must answer ``Refuted`` with an element.
The judge must stay silent on the right computation.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from algebra.verdict import Refuted, Verdict

TRIES_PER_CONFIGURATION = 400


@dataclass(frozen=True, slots=True)
class Mutant:
    """One fault.

    Attributes:
        number: Kind of fault in the project's catalogue of faults.
        name: The fault as a sentence in snake_case.
        precedent: Public thread where this fault was real.
        configure: Draws a configuration, or None where the fault has no meaning.
        right: What a configuration gives.
        wrong: What it gives with the fault.
        judge: Decides whether a result is right for a configuration.
    """

    number: int
    name: str
    precedent: str
    configure: Callable[[Random], Any] = field(repr=False)
    right: Callable[[Any], Any] = field(repr=False)
    wrong: Callable[[Any], Any] = field(repr=False)
    judge: Callable[[Any, Any], Verdict] = field(repr=False)

    def configurations(self, seed: int, count: int) -> Iterator[Any]:
        """Yield ``count`` configurations to which the fault applies.

        Raises:
            RuntimeError: too few were found among very many draws.
        """
        rng = Random(f"{self.name} {seed}")
        found = 0
        for _ in range(count * TRIES_PER_CONFIGURATION):
            configuration = self.configure(rng)
            if configuration is not None:
                yield configuration
                found += 1
                if found == count:
                    return
        raise RuntimeError(
            f"{self.name} applied to {found} of {count} configurations wanted"
        )


@dataclass(frozen=True, slots=True)
class Trial:
    """What became of one mutant.

    Attributes:
        mutant: The mutant.
        equivalent: Configurations on which it changes nothing.
        refuted: Counterexamples, one for each configuration that was refuted.
        survived: Configurations and verdicts where a wrong result was not refuted.
        false_alarms: Configurations and verdicts where the right one was refuted.
    """

    mutant: Mutant
    equivalent: int
    refuted: tuple[Any, ...]
    survived: tuple[tuple[Any, Verdict], ...]
    false_alarms: tuple[tuple[Any, Verdict], ...]


def run(mutant: Mutant, seed: int = 0, count: int = 40) -> Trial:
    """Apply a mutant to random configurations, and its judge to both results.

    Args:
        mutant: The mutant.
        seed: Same seed, same configurations.
        count: Number of configurations.
    """
    equivalent = 0
    refuted: list[Any] = []
    survived: list[tuple[Any, Verdict]] = []
    alarms: list[tuple[Any, Verdict]] = []
    for configuration in mutant.configurations(seed, count):
        right, wrong = mutant.right(configuration), mutant.wrong(configuration)
        honest = mutant.judge(configuration, right)
        if isinstance(honest, Refuted):
            alarms.append((configuration, honest))
        if right == wrong:
            equivalent += 1
            continue
        verdict = mutant.judge(configuration, wrong)
        if isinstance(verdict, Refuted):
            refuted.append(verdict.counterexample)
        else:
            survived.append((configuration, verdict))
    return Trial(mutant, equivalent, tuple(refuted), tuple(survived), tuple(alarms))
