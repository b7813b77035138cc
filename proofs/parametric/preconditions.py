"""Find the weakest precondition of a statement, from its truth on a small box.

The statement is evaluated at every parameter set of the box. Candidates are
disjunctions of ``a == 1`` and ``a * b <= c * d`` over named quantities; the simplest
one that is true exactly where the statement is, is the answer. That it stays the
answer on a larger box is then a theorem, proved by the solvers in both directions.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement

Part = tuple[tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Condition:
    """A disjunction of comparisons of products.

    Attributes:
        parts: Each ``(left, right)``: the product of the names on the left is at most
            that of those on the right; no name stands for 1.
    """

    parts: tuple[Part, ...]

    def holds(self, quantities: Mapping[str, int]) -> bool:
        """Say whether the condition is true for some values."""
        return any(
            _product(left, quantities) <= _product(right, quantities)
            for left, right in self.parts
        )

    def __str__(self) -> str:
        texts = []
        for left, right in self.parts:
            sign = "<=" if right else "=="
            texts.append(f"{'*'.join(left)} {sign} {'*'.join(right) or '1'}")
        return " or ".join(texts)


def _product(names: Sequence[str], quantities: Mapping[str, int]) -> int:
    total = 1
    for name in names:
        total *= quantities[name]
    return total


def weakest_precondition(
    cases: Sequence[tuple[Mapping[str, int], bool]],
) -> Condition | None:
    """Return the simplest condition that holds exactly where a statement does.

    Args:
        cases: Quantities of each parameter set, and whether the statement is true.

    Returns:
        The condition, or ``None`` if no candidate fits.

    Example:
        >>> cases = [({"a": a, "b": b}, a <= b) for a in (1, 2, 4) for b in (1, 2, 4)]
        >>> str(weakest_precondition(cases))
        'a <= b'
    """
    true = _mask(holds for _, holds in cases)
    names = sorted(cases[0][0])
    atoms: dict[int, Part] = {}
    for part in _parts(names):
        condition = Condition((part,))
        mask = _mask(condition.holds(quantities) for quantities, _ in cases)
        if mask & ~true == 0 and mask:
            atoms.setdefault(mask, part)
    for mask, part in atoms.items():
        if mask == true:
            return Condition((part,))
    for (one, first), (other, second) in combinations(atoms.items(), 2):
        if one | other == true:
            return Condition((first, second))
    return None


def _mask(truths: Iterable[bool]) -> int:
    mask = 0
    for index, true in enumerate(truths):
        if true:
            mask |= 1 << index
    return mask


def _parts(names: Sequence[str]) -> list[Part]:
    """Return candidate comparisons, the simplest first."""
    products: list[tuple[str, ...]] = [(name,) for name in names]
    products += list(combinations_with_replacement(names, 2))
    parts: list[Part] = [(a, b) for a in products for b in [(), *products]]
    parts = [(a, b) for a, b in parts if not set(a) & set(b)]
    return sorted(parts, key=lambda part: (len(part[0]) + len(part[1]), part))
