"""What a byte of data may be: a constant, a byte of the input, or an xor of these.

The input is opaque: nothing is known of its bytes, so two expressions over them are
equal for all inputs if and only if they are the same xor of the same bytes with the
same constant. Such expressions are interned: a *code* is an integer, and equal codes
mean equal bytes.

====================  =====================================================
code                  byte
====================  =====================================================
0                     never written
-1 .. -256            the constant ``-1 - code``
1 .. size             byte ``code - 1`` of the input
above size            an interned xor
below -256            not known; ``reason(code)`` says why
====================  =====================================================
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Codes: TypeAlias = npt.NDArray[np.int32]
UNWRITTEN = 0
LAST_CONSTANT = -256
_Combination = tuple[frozenset[int], int]


class Provenance:
    """The table of codes of one execution.

    Attributes:
        size: Bytes of the input [bytes].

    Example:
        >>> table = Provenance(8)
        >>> a, b = np.array([1], np.int32), np.array([5], np.int32)
        >>> table.xor(table.xor(a, b), a).tolist()
        [5]
    """

    def __init__(self, size: int) -> None:
        """Start with the bytes of an input of ``size`` bytes."""
        self.size = size
        self._combinations: list[_Combination] = []
        self._interned: dict[_Combination, int] = {}
        self._reasons: list[str] = []
        self._known: dict[str, int] = {}
        self._undefined: set[int] = set()

    def unknown(self, reason: str, *, undefined: bool = False) -> int:
        """Return the code of a byte of which only ``reason`` is known.

        Args:
            reason: Why.
            undefined: PTX itself leaves the byte undefined: it may be anything.
        """
        if reason not in self._known:
            self._known[reason] = LAST_CONSTANT - 1 - len(self._reasons)
            self._reasons.append(reason)
        if undefined:
            self._undefined.add(self._known[reason])
        return self._known[reason]

    def is_undefined(self, code: int) -> bool:
        """Return whether PTX leaves the byte undefined."""
        return code in self._undefined

    def reason(self, code: int) -> str:
        """Return why a byte is not known."""
        return self._reasons[LAST_CONSTANT - 1 - code]

    def xor(self, a: Codes, b: Codes) -> Codes:
        """Return the codes of ``a xor b`` [any shape]."""
        return self._pairwise(a, b, self._xor)

    def conjunction(self, a: Codes, b: Codes) -> Codes:
        """Return the codes of ``a and b``; whole bytes only."""
        return self._pairwise(a, b, self._and)

    def disjunction(self, a: Codes, b: Codes) -> Codes:
        """Return the codes of ``a or b``; whole bytes only."""
        return self._pairwise(a, b, self._or)

    def describe(self, code: int, element_bytes: int) -> str:
        """Return a byte in words, e.g. ``"element 3"`` or ``"byte 1 of element 3"``."""
        if code == UNWRITTEN:
            return "nothing"
        if code < LAST_CONSTANT:
            return f"unknown ({self.reason(code)})"
        if code < 0:
            return f"constant 0x{-1 - code:02x}"
        if code <= self.size:
            element, byte = divmod(code - 1, element_bytes)
            return f"byte {byte} of element {element}"
        parts, constant = self._combinations[code - self.size - 1]
        said = [self.describe(part, element_bytes) for part in sorted(parts)]
        return " xor ".join(said + [f"0x{constant:02x}"] * (constant > 0))

    def _pairwise(self, a: Codes, b: Codes, rule: Callable[[int, int], int]) -> Codes:
        """Apply a rule once to each pair that occurs."""
        a, b = np.broadcast_arrays(a, b)
        both = (a.astype(np.int64) << 32) | (b.astype(np.int64) & 0xFFFFFFFF)
        pairs, places = np.unique(both, return_inverse=True)
        left = (pairs >> 32).astype(np.int32).tolist()
        right = (pairs & 0xFFFFFFFF).astype(np.uint32).view(np.int32).tolist()
        found = np.array(list(map(rule, left, right)), dtype=np.int32)
        result: Codes = found[places].reshape(a.shape)
        return result

    def _xor(self, a: int, b: int) -> int:
        if a == -1:
            return b
        if b == -1:
            return a
        for code in (a, b):
            if code < LAST_CONSTANT:
                return code
        parts, constant = self._parts(a)
        more, other = self._parts(b)
        return self._intern(parts ^ more, constant ^ other)

    def _and(self, a: int, b: int) -> int:
        for one, other in ((a, b), (b, a)):
            if one == -1:
                return -1
            if one == LAST_CONSTANT:
                return other
        return self._same_or_constants(a, b, "and")

    def _or(self, a: int, b: int) -> int:
        for one, other in ((a, b), (b, a)):
            if one == -1:
                return other
            if one == LAST_CONSTANT:
                return LAST_CONSTANT
        return self._same_or_constants(a, b, "or")

    def _same_or_constants(self, a: int, b: int, name: str) -> int:
        for code in (a, b):
            if code < LAST_CONSTANT:
                return code
        if a == b:
            return a
        if a < 0 and b < 0:
            x, y = -1 - a, -1 - b
            return -1 - (x & y if name == "and" else x | y)
        return self.unknown(f"'{name}' of data within a byte")

    def _parts(self, code: int) -> _Combination:
        if code < 0:
            return frozenset(), -1 - code
        if code <= self.size:
            return frozenset((code,)), 0
        return self._combinations[code - self.size - 1]

    def _intern(self, parts: frozenset[int], constant: int) -> int:
        if not parts:
            return -1 - constant
        if len(parts) == 1 and not constant:
            return next(iter(parts))
        key = (parts, constant)
        if key not in self._interned:
            self._combinations.append(key)
            self._interned[key] = self.size + len(self._combinations)
        return self._interned[key]
