"""Index expressions as integer terms, and questions about them.

Ranges decide most questions without a solver; z3 gets the rest.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from algebra.verdict import Proved, Refuted, Unknown, Verdict
from compiler.ir.expression import Expression
from compiler.ir.expression import nodes as expression_nodes
from compiler.ir.index import Index, index
from compiler.ir.ranges import Ranges
from verify.symbolic import terms
from verify.symbolic.question import Solver
from verify.symbolic.terms import Term

TIMEOUT = 2.0
"""Limit of one question [seconds]."""

_BINARY = {
    "floordiv": terms.div,
    "mod": terms.mod,
    "minimum": terms.minimum,
    "maximum": terms.maximum,
}


@dataclass
class Integers:
    """A translator that remembers which symbol stands for which leaf.

    Attributes:
        ranges: Where digits and symbols run.
        suffix: Told apart from another translator's digits (a second point).
    """

    ranges: Ranges
    suffix: str = ""
    known: dict[Expression, Term] = field(default_factory=dict)
    leaves: dict[Term, Expression] = field(default_factory=dict)
    facts: list[Term] = field(default_factory=list)

    def term(self, value: Index) -> Term:
        """Return the integer term of an index; facts about its leaves are noted."""
        root = index(value)
        for node in expression_nodes(root):
            if node not in self.known and node.dtype == "index":
                self.known[node] = self._made(node)
        return self.known[root]

    def _made(self, node: Expression) -> Term:
        if node.op == "constant":
            return terms.constant(int(str(node.data)))
        if node.op == "symbol":
            low = self.ranges.least.get(node, 0)
            return self._leaf(node, terms.symbol(str(node.data), low))
        if node.op == "digit":
            extent = self.ranges.extents.get(node)
            if extent is None:
                raise KeyError(f"no axis has the digit {node}")
            digit = terms.symbol(f"{node.data}{self.suffix}", 0)
            self.facts.append(terms.less(digit, self.term(extent)))
            return self._leaf(node, digit)
        if node.op == "checked_index":
            name = f"data{len(self.leaves)}{self.suffix}"
            read = terms.symbol(name, 0)
            self.facts.append(terms.less(read, self.known[node.args[1]]))
            return self._leaf(node, read)
        args = [self.known[arg] for arg in node.args]
        if node.op in ("add", "mul"):
            total = args[0]
            for arg in args[1:]:
                total = (terms.add if node.op == "add" else terms.mul)(total, arg)
            return total
        return _BINARY[node.op](*args)

    def _leaf(self, node: Expression, symbol: Term) -> Term:
        self.leaves[symbol] = node
        return symbol


def ask(
    solver: Solver,
    translators: Sequence[Integers],
    formulas: Iterable[Term],
    timeout: float = TIMEOUT,
) -> Verdict:
    """Decide that formulas cannot all hold.

    Returns:
        ``Proved`` if they cannot, ``Refuted`` with the values of digits and sizes,
        ``Unknown`` at the limit.
    """
    asked = [*formulas]
    for translator in translators:
        asked.extend(translator.facts)
    answer = solver.satisfy(asked, timeout)
    if answer is False:
        return Proved("z3")
    if answer is None or answer is True:
        return Unknown(f"time-out: z3 gave no answer within {timeout:g} s")
    return Refuted(named(answer, translators))


def named(
    answer: Mapping[Term, int | bool], translators: Sequence[Integers]
) -> dict[str, int]:
    """Return a model by the names of digits and sizes."""
    found: dict[str, int] = {}
    for translator in translators:
        for symbol, node in translator.leaves.items():
            if symbol in answer:
                name = repr(node) if node.op == "checked_index" else str(node.data)
                found[name + translator.suffix] = int(answer[symbol])
    return found
