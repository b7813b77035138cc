"""What a theorem with symbolic sizes asks of the solvers."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from algebra.verdict import Proved, Refuted, Unknown, Verdict
from proofs.certificates import certify
from proofs.theorem import Theorem
from verify.solver import BOTH, prove
from verify.terms import Formula


@dataclass(frozen=True, slots=True)
class Query:
    """One question: does the claim follow from the assumptions?

    Attributes:
        name: Which part of the theorem it is.
        claim: What should hold for all values of the variables.
        assumptions: The parameter box and the domain.
    """

    name: str
    claim: Formula
    assumptions: tuple[Formula, ...] = ()


@dataclass(frozen=True, slots=True)
class Parametric:
    """A theorem whose sizes are symbolic.

    Attributes:
        name: The sentence in snake_case.
        statement: In words and formulas.
        scope: The box of the parameters.
        source: The legacy formula or upstream symbol.
        instances: How many parameter sets the box holds; 0 = not counted.
        build: Makes the questions; all must be proved.
        method: How they make up the theorem, e.g. "direct" or "linear + basis".
    """

    name: str
    statement: str
    scope: str
    source: str
    instances: int
    build: Callable[[], Iterable[Query]]
    method: str = "direct"

    def prove(self, timeout: float) -> Verdict:
        """Prove all questions by both solvers, one after the other."""
        spent: dict[str, float] = {}
        questions = 0
        for query in self.build():
            verdict = prove(
                query.claim, query.assumptions, solver=BOTH, timeout=timeout
            )
            if not isinstance(verdict, Proved):
                return verdict
            questions += 1
            for name, seconds in verdict.facts:
                spent[name] = spent.get(name, 0.0) + seconds
        facts = [(name, round(seconds, 4)) for name, seconds in spent.items()]
        return Proved(
            "z3 and bitwuzla",
            (("questions", questions), ("instances", self.instances), *facts),
        )

    def certify(self, timeout: float) -> Verdict:
        """Prove by both solvers, then by refutations that our own checker accepts.

        The fact ``certificate`` says how many lemmas were checked, or why there is no
        certificate; without one the theorem still stands on two solvers.
        """
        verdict = self.prove(timeout)
        if not isinstance(verdict, Proved):
            return verdict
        lemmas = 0
        for query in self.build():
            certified = certify(query.claim, query.assumptions, timeout=timeout)
            if isinstance(certified, Refuted):
                return Unknown(
                    f"both solvers prove {query.name!r}, yet cadical refutes it with "
                    f"{certified.counterexample}"
                )
            if isinstance(certified, Unknown):
                missing = ("certificate", f"none: {certified.reason}")
                return Proved(verdict.method, (*verdict.facts, missing))
            lemmas += dict(certified.facts)["lemmas"]
        checked = ("certificate", f"checked, {lemmas:,} lemmas")
        return Proved(verdict.method, (*verdict.facts, checked))

    def theorem(self) -> Theorem:
        """Return the entry of the catalogue."""
        return Theorem(
            name=self.name,
            statement=self.statement,
            scope=self.scope
            + (f"; {self.instances:,} parameter sets" if self.instances else ""),
            method=f"z3 and bitwuzla, {self.method}",
            source=self.source,
            check=self.certify,
            instances=self.instances,
        )
