"""Boolean circuits as clauses: every gate once, by its definition.

A literal is a nonzero int; ``-x`` is its negation; ``TRUE`` is 1 and is asserted. A
gate adds the clauses that say what its output is, and equal gates share one output
(structural hashing). Numbers are lists of literals, lowest bit first.

Source: G. Tseitin, "On the complexity of derivation in propositional calculus".
"""

from collections.abc import Sequence

TRUE = 1
FALSE = -1
Word = list[int]


class Circuit:
    """Gates and the clauses that define them.

    Attributes:
        clauses: The definitions so far; a conjunction of disjunctions of literals.
        literals: The number of variables in use.

    Example:
        >>> circuit = Circuit()
        >>> a, b = circuit.fresh(), circuit.fresh()
        >>> circuit.conjunction(a, b) == circuit.conjunction(b, a)
        True
    """

    def __init__(self) -> None:
        """Start with the constant."""
        self.literals = TRUE
        self.clauses: list[tuple[int, ...]] = [(TRUE,)]
        self._gates: dict[tuple[str, int, int], int] = {}

    def fresh(self) -> int:
        """Return a new literal without meaning."""
        self.literals += 1
        return self.literals

    def require(self, literal: int) -> None:
        """Assert that ``literal`` holds."""
        self.clauses.append((literal,))

    def conjunction(self, a: int, b: int) -> int:
        """Return a literal for ``a and b``."""
        if FALSE in (a, b) or a == -b:
            return FALSE
        if a in (TRUE, b):
            return b
        if b == TRUE:
            return a
        key = ("and", min(a, b), max(a, b))
        if key not in self._gates:
            out = self._gates[key] = self.fresh()
            self.clauses += [(-out, a), (-out, b), (out, -a, -b)]
        return self._gates[key]

    def disjunction(self, a: int, b: int) -> int:
        """Return a literal for ``a or b``."""
        return -self.conjunction(-a, -b)

    def exclusive(self, a: int, b: int) -> int:
        """Return a literal for ``a xor b``."""
        if a in (TRUE, FALSE):
            return b if a == FALSE else -b
        if b in (TRUE, FALSE):
            return a if b == FALSE else -a
        if abs(a) == abs(b):
            return FALSE if a == b else TRUE
        sign = 1 if (a < 0) == (b < 0) else -1
        a, b = sorted((abs(a), abs(b)))
        key = ("xor", a, b)
        if key not in self._gates:
            out = self._gates[key] = self.fresh()
            self.clauses += [(-out, a, b), (-out, -a, -b), (out, -a, b), (out, a, -b)]
        return sign * self._gates[key]

    def choice(self, condition: int, then: int, otherwise: int) -> int:
        """Return a literal for ``then if condition else otherwise``."""
        if condition == TRUE or then == otherwise:
            return then
        if condition == FALSE:
            return otherwise
        return self.disjunction(
            self.conjunction(condition, then), self.conjunction(-condition, otherwise)
        )

    def number(self, value: int, width: int) -> Word:
        """Return the literals of a constant."""
        return [TRUE if value >> i & 1 else FALSE for i in range(width)]

    def word(self, bits: int, width: int) -> Word:
        """Return a variable of ``bits`` bits, zero above them."""
        return [self.fresh() for _ in range(bits)] + [FALSE] * (width - bits)

    def sum(self, a: Sequence[int], b: Sequence[int], carry: int = FALSE) -> Word:
        """Return ``a + b + carry`` modulo two to the width: a ripple of full adders."""
        out = []
        for x, y in zip(a, b, strict=True):
            half = self.exclusive(x, y)
            out.append(self.exclusive(half, carry))
            both = self.conjunction(x, y)
            carry = self.disjunction(both, self.conjunction(half, carry))
        return out

    def difference(self, a: Sequence[int], b: Sequence[int]) -> Word:
        """Return ``a - b`` modulo two to the width."""
        return self.sum(a, [-bit for bit in b], TRUE)

    def select(self, condition: int, a: Sequence[int], b: Sequence[int]) -> Word:
        """Return ``a if condition else b``, bit by bit."""
        return [self.choice(condition, x, y) for x, y in zip(a, b, strict=True)]

    def shifted(self, a: Sequence[int], amount: int, *, left: bool) -> Word:
        """Return ``a << amount`` or ``a >> amount`` within the width."""
        width = len(a)
        kept = max(0, width - amount)
        fill = [FALSE] * (width - kept)
        return [*fill, *a[:kept]] if left else [*a[width - kept :], *fill]

    def barrel(self, a: Sequence[int], amount: Sequence[int], *, left: bool) -> Word:
        """Return a shift by a symbolic amount: one layer for each of its bits."""
        word = list(a)
        for i, bit in enumerate(amount):
            word = self.select(bit, self.shifted(word, 1 << i, left=left), word)
        return word

    def equal(self, a: Sequence[int], b: Sequence[int]) -> int:
        """Return a literal for ``a == b``."""
        same = TRUE
        for x, y in zip(a, b, strict=True):
            same = self.conjunction(same, -self.exclusive(x, y))
        return same

    def less(self, a: Sequence[int], b: Sequence[int]) -> int:
        """Return a literal for ``a < b``: the highest difference decides."""
        smaller = FALSE
        for x, y in zip(a, b, strict=True):
            smaller = self.choice(self.exclusive(x, y), y, smaller)
        return smaller
