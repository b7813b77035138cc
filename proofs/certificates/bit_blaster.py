"""From terms over natural numbers to clauses: the question a SAT solver answers.

The clauses are satisfiable exactly where the assumptions hold and the claim does not.
The width is one in which no term overflows, so that words stand for numbers; and bits
that a term says it can never have (``Term.ones``) are false, which keeps words narrow.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from verify.solver import width_of
from verify.terms import Formula, Term, all_of, negate

from .circuit import FALSE, TRUE, Circuit, Word

_BITWISE = {
    "and": Circuit.conjunction,
    "or": Circuit.disjunction,
    "xor": Circuit.exclusive,
}


@dataclass(frozen=True, slots=True)
class Question:
    """Clauses that have a model exactly where the claim fails.

    Attributes:
        clauses: The conjunction of disjunctions; literals are nonzero ints.
        literals: Number of variables.
        variables: For each variable of the claim its literals, lowest bit first.
    """

    clauses: tuple[tuple[int, ...], ...]
    literals: int
    variables: dict[str, tuple[int, ...]]

    def dimacs(self) -> str:
        """Return the clauses in the format that SAT solvers read."""
        lines = [f"p cnf {self.literals} {len(self.clauses)}"]
        lines += [" ".join(map(str, (*clause, 0))) for clause in self.clauses]
        return "\n".join(lines) + "\n"

    def values(self, model: Iterable[int]) -> dict[str, int]:
        """Return what each variable is in a model, given its true literals."""
        true = set(model)
        return {
            name: sum(1 << i for i, bit in enumerate(bits) if bit in true)
            for name, bits in self.variables.items()
        }


def question_of(claim: Formula, assumptions: Iterable[Formula] = ()) -> Question:
    """Return the clauses that say: the assumptions hold, and the claim does not.

    Law: a model's ``values`` satisfy the assumptions and falsify the claim, and any
    such values extend to a model.

    Example:
        >>> from verify.terms import equal, variable
        >>> x = variable("x", 4)
        >>> question_of(equal(x // 2 * 2 + x % 2, x)).literals > 4
        True
    """
    asked = all_of((*assumptions, negate(claim)))
    blaster = _BitBlaster(width_of(asked))
    blaster.circuit.require(blaster.formula(asked))
    return Question(
        tuple(blaster.circuit.clauses), blaster.circuit.literals, blaster.variables
    )


class _BitBlaster:
    """Translates each term once."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.circuit = Circuit()
        self.variables: dict[str, tuple[int, ...]] = {}
        self.words: dict[int, tuple[Term, Word]] = {}

    def word(self, term: Term) -> Word:
        """Return the literals of a term."""
        if id(term) not in self.words:
            word = self._word(term)
            possible = [
                bit if term.ones >> i & 1 else FALSE for i, bit in enumerate(word)
            ]
            self.words[id(term)] = term, possible
        return self.words[id(term)][1]

    def _word(self, term: Term) -> Word:
        kind, args, circuit = term.kind, term.args, self.circuit
        if kind == "const":
            return circuit.number(args[0], self.width)
        if kind == "var":
            return self._variable(*args)
        if kind == "ite":
            condition = self.formula(args[0])
            return circuit.select(condition, self.word(args[1]), self.word(args[2]))
        left = self.word(args[0])
        if kind in ("shl", "lshr"):
            return circuit.shifted(left, args[1], left=kind == "shl")
        right = self.word(args[1])
        if kind in ("shlv", "lshrv"):
            return circuit.barrel(left, right, left=kind == "shlv")
        if kind in ("add", "sub"):
            combine = circuit.sum if kind == "add" else circuit.difference
            return combine(left, right)
        gate = _BITWISE[kind]
        return [gate(circuit, a, b) for a, b in zip(left, right, strict=True)]

    def _variable(self, name: str, bits: int) -> Word:
        if name not in self.variables:
            word = self.circuit.word(bits, self.width)
            self.variables[name] = tuple(word[:bits])
        literals = self.variables[name]
        return [*literals, *[FALSE] * (self.width - len(literals))]

    def formula(self, formula: Formula) -> int:
        """Return the literal of a formula."""
        kind, args, circuit = formula.kind, formula.args, self.circuit
        if kind in ("true", "false"):
            return TRUE if kind == "true" else FALSE
        if kind == "not":
            return -self.formula(args[0])
        if kind == "eq":
            return circuit.equal(self.word(args[0]), self.word(args[1]))
        if kind == "ult":
            return circuit.less(self.word(args[0]), self.word(args[1]))
        gate = circuit.conjunction if kind == "and" else circuit.disjunction
        literal = self.formula(args[0])
        for part in args[1:]:
            literal = gate(literal, self.formula(part))
        return literal
