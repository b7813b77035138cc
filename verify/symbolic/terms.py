"""Terms: what one element of a kernel's value is, as a function of symbols.

A term is an integer (of any size: no width, nothing wraps), a truth value, a pointer
(a buffer and an offset), or an opaque value such as a float, known by how it was made.
Equal terms are the same object, so ``is`` compares, and what is shared stays shared.

Machine arithmetic enters through ``fit``: ``fit(a + b, ...)`` is ``a + b``, and a
promise to be checked that the sum is within its type. Constructors fold constants and
keep the numeric range of each integer; a ``fit`` whose range is certain vanishes.

Division rounds down, and ``a mod b`` has the sign of ``b``.
"""

from collections.abc import Callable, Iterable
from itertools import product
from typing import Any
from weakref import WeakValueDictionary

INT = "int"
BOOL = "bool"
VALUE = "value"
POINTER = "pointer"

Bound = int | None
"""An end of a range; ``None`` where there is none."""


class Term:
    """A node; made by the functions of this module only.

    Attributes:
        kind: What the node does.
        args: Terms and plain data.
        sort: ``int``, ``bool``, ``value`` or ``pointer``.
        low: Lower end of an integer's range.
        high: Upper end of an integer's range.
        fits: Whether a ``fit`` or a division to be checked is below.
    """

    __slots__ = (
        "__weakref__",
        "args",
        "fits",
        "high",
        "kind",
        "low",
        "polynomial",
        "sort",
        "symbol_set",
    )

    kind: str
    args: tuple[Any, ...]
    sort: str
    low: Bound
    high: Bound
    fits: bool
    polynomial: Any
    symbol_set: frozenset["Term"] | None

    def __repr__(self) -> str:
        from .spelling import spell

        return spell(self)


_TABLE: "WeakValueDictionary[tuple[Any, ...], Term]" = WeakValueDictionary()


def _make(
    kind: str,
    args: tuple[Any, ...],
    sort: str,
    low: Bound = None,
    high: Bound = None,
    fits: bool | None = None,
) -> Term:
    key = (kind, sort, low, high, *args)
    found = _TABLE.get(key)
    if found is not None:
        return found
    term = Term()
    term.kind = kind
    term.args = args
    term.sort = sort
    term.low = low
    term.high = high
    if fits is None:
        fits = any(isinstance(arg, Term) and arg.fits for arg in args)
    term.fits = fits
    term.polynomial = None
    term.symbol_set = None
    _TABLE[key] = term
    return term


TRUE = _make("true", (), BOOL)
FALSE = _make("false", (), BOOL)


def constant(value: int) -> Term:
    """Return an integer."""
    return _make("const", (value,), INT, value, value)


ZERO = constant(0)
ONE = constant(1)


def symbol(name: str, low: Bound = None, high: Bound = None) -> Term:
    """Return an integer that is free within a range, ends included."""
    return _make("symbol", (name,), INT, low, high)


def truth_symbol(name: str) -> Term:
    """Return a truth value that is free."""
    return _make("symbol", (name,), BOOL)


def opaque(
    sort: str, name: str, args: Iterable[Any], low: Bound = None, high: Bound = None
) -> Term:
    """Return a value of which only its origin and range are known.

    Two opaque terms with equal names and arguments are equal.
    """
    return _make("opaque", (name, *args), sort, low, high)


def read(
    sort: str, buffer: str, epoch: Any, offset: Term, low: Bound, high: Bound
) -> Term:
    """Return what a buffer holds at an offset [elements].

    Args:
        sort: Sort of the element.
        buffer: Name of the buffer.
        epoch: When: reads of one epoch see the same contents; 0 is before the kernel.
        offset: Where.
        low: Lower end of an integer element's range.
        high: Upper end of it.
    """
    return _make("read", (buffer, epoch, offset), sort, low, high)


def pointer(buffer: str, offset: Term) -> Term:
    """Return a pointer into a buffer, ``offset`` elements behind its start."""
    return _make("pointer", (buffer, offset), POINTER)


def poison(sort: str) -> Term:
    """Return what a masked-off load without a default gives: anything at all."""
    return _make("poison", (), sort)


def _plus(a: Bound, b: Bound) -> Bound:
    return None if a is None or b is None else a + b


def add(a: Term, b: Term) -> Term:
    """Return ``a + b``."""
    if a.kind == "const":
        if b.kind == "const":
            return constant(a.args[0] + b.args[0])
        if a.args[0] == 0:
            return b
    elif b is ZERO:
        return a
    return _make("add", (a, b), INT, _plus(a.low, b.low), _plus(a.high, b.high))


def negated(a: Term) -> Term:
    """Return ``-a``."""
    return mul(constant(-1), a)


def sub(a: Term, b: Term) -> Term:
    """Return ``a - b``."""
    if a is b:
        return ZERO if not a.fits else beside(ZERO, a)
    return add(a, negated(b))


def _times(a: Bound, b: Bound, sign_a: int, sign_b: int) -> int | float:
    """Multiply two ends of ranges; infinite ends have a sign."""
    left = sign_a * float("inf") if a is None else a
    right = sign_b * float("inf") if b is None else b
    if left == 0 or right == 0:
        return 0
    return left * right


def _ends(values: Iterable[int | float]) -> tuple[Bound, Bound]:
    found = list(values)
    low, high = min(found), max(found)
    return (
        None if low == float("-inf") else int(low),
        None if high == float("inf") else int(high),
    )


def mul(a: Term, b: Term) -> Term:
    """Return ``a * b``."""
    if b.kind == "const":
        a, b = b, a
    if a.kind == "const":
        factor = a.args[0]
        if b.kind == "const":
            return constant(factor * b.args[0])
        if factor == 1:
            return b
        if factor == 0:
            return ZERO if not b.fits else beside(ZERO, b)
        if b.kind == "mul" and b.args[0].kind == "const":
            return mul(constant(factor * b.args[0].args[0]), b.args[1])
        ends = [None if e is None else factor * e for e in (b.low, b.high)]
        low, high = ends if factor > 0 else reversed(ends)
        return _make("mul", (a, b), INT, low, high)
    pairs = product(((a.low, -1), (a.high, 1)), ((b.low, -1), (b.high, 1)))
    low, high = _ends(_times(x, y, sx, sy) for (x, sx), (y, sy) in pairs)
    return _make("mul", (a, b), INT, low, high)


def beside(value: Term, origin: Term) -> Term:
    """Return ``value``; what is to be checked in ``origin`` is still to be checked."""
    if not origin.fits or value is origin:
        return value
    return _make("beside", (value, origin), value.sort, value.low, value.high)


def div(a: Term, b: Term) -> Term:
    """Return ``a / b`` rounded down; that ``b`` is not zero is to be checked."""
    from .polynomial import split_by

    if b.kind == "const" and b.args[0] > 0:
        divisor = b.args[0]
        if divisor == 1:
            return a
        if a.kind == "const":
            return constant(a.args[0] // divisor)
        quotient, rest = split_by(a, divisor)
        if _within(rest, 0, divisor - 1):
            return beside(quotient, a)
        if quotient is not ZERO:
            return beside(add(quotient, div(rest, b)), a)
        low = None if a.low is None else a.low // divisor
        high = None if a.high is None else a.high // divisor
        return _make("div", (a, b), INT, low, high)
    if a.low is not None and a.low >= 0 and b.low is not None and b.low > 0:
        return _make("div", (a, b), INT, 0, a.high)
    certain = (b.low is not None and b.low > 0) or (b.high is not None and b.high < 0)
    return _make("div", (a, b), INT, fits=None if certain else True)


def mod(a: Term, b: Term) -> Term:
    """Return ``a - b * (a div b)``; that ``b`` is not zero is to be checked."""
    from .polynomial import split_by

    if b.kind == "const" and b.args[0] > 0:
        divisor = b.args[0]
        if divisor == 1:
            return beside(ZERO, a)
        if a.kind == "const":
            return constant(a.args[0] % divisor)
        quotient, rest = split_by(a, divisor)
        if _within(rest, 0, divisor - 1):
            return beside(rest, a)
        if quotient is not ZERO:
            return beside(mod(rest, b), a)
        return _make("mod", (a, b), INT, 0, divisor - 1)
    if b.low is not None and b.low > 0:
        high = None if b.high is None else b.high - 1
        if a.low is not None and a.low >= 0 and a.high is not None:
            high = a.high if high is None else min(high, a.high)
        return _make("mod", (a, b), INT, 0, high)
    return _make("mod", (a, b), INT, fits=True)


def _within(a: Term, low: int, high: int) -> bool:
    return a.low is not None and a.high is not None and low <= a.low and a.high <= high


def minimum(a: Term, b: Term) -> Term:
    """Return the smaller of two integers."""
    return choose(at_most(a, b), a, b)


def maximum(a: Term, b: Term) -> Term:
    """Return the larger of two integers."""
    return choose(at_most(a, b), b, a)


def fit(a: Term, low: int, high: int, source: str = "") -> Term:
    """Return ``a``, to be checked to lie within ``low`` and ``high``.

    Args:
        a: A result of machine arithmetic.
        low: Least value of its type.
        high: Largest value of its type.
        source: Where the program computes it.
    """
    if _within(a, low, high):
        return a
    if a.kind == "const":
        # arithmetic on constants wraps as the machine does: it is known, not at risk
        return constant((a.args[0] - low) % (high - low + 1) + low)
    new_low = low if a.low is None else max(low, a.low)
    new_high = high if a.high is None else min(high, a.high)
    if new_low > new_high:
        new_low, new_high = low, high
    return _make("fit", (a, low, high, source), INT, new_low, new_high, fits=True)


def choose(condition: Term, then: Term, otherwise: Term) -> Term:
    """Return ``then`` where the condition holds, else ``otherwise``."""
    if condition is TRUE or then is otherwise:
        return then
    if condition is FALSE:
        return otherwise
    if then.sort == BOOL:
        if then is TRUE and otherwise is FALSE:
            return condition
        if then is FALSE and otherwise is TRUE:
            return invert(condition)
        return disjoin(conjoin(condition, then), conjoin(invert(condition), otherwise))
    low = high = None
    if then.sort == INT:
        if then.low is not None and otherwise.low is not None:
            low = min(then.low, otherwise.low)
        if then.high is not None and otherwise.high is not None:
            high = max(then.high, otherwise.high)
        # min and max keep the better range of the two
        if condition.kind == "le":
            small, large = condition.args
            if (then, otherwise) == (small, large):
                high = _least(then.high, otherwise.high)
            elif (then, otherwise) == (large, small):
                low = _most(then.low, otherwise.low)
    return _make("ite", (condition, then, otherwise), then.sort, low, high)


def _least(a: Bound, b: Bound) -> Bound:
    return b if a is None else a if b is None else min(a, b)


def _most(a: Bound, b: Bound) -> Bound:
    return b if a is None else a if b is None else max(a, b)


def at_most(a: Term, b: Term) -> Term:
    """Return ``a <= b``."""
    if a is b and not a.fits:
        return TRUE
    if not (a.fits or b.fits):
        if a.high is not None and b.low is not None and a.high <= b.low:
            return TRUE
        if a.low is not None and b.high is not None and a.low > b.high:
            return FALSE
    return _make("le", (a, b), BOOL)


def less(a: Term, b: Term) -> Term:
    """Return ``a < b``."""
    return invert(at_most(b, a))


def equal(a: Term, b: Term) -> Term:
    """Return ``a == b``, of integers or truth values."""
    if a is b and not a.fits:
        return TRUE
    if a.sort == BOOL:
        if a is TRUE:
            return b
        if b is TRUE:
            return a
        if a is FALSE:
            return invert(b)
        if b is FALSE:
            return invert(a)
    elif not (a.fits or b.fits):
        if a.kind == "const" and b.kind == "const":
            return TRUE if a.args[0] == b.args[0] else FALSE
        if (a.high is not None and b.low is not None and a.high < b.low) or (
            b.high is not None and a.low is not None and b.high < a.low
        ):
            return FALSE
    return _make("eq", (a, b), BOOL)


def invert(a: Term) -> Term:
    """Return the negation of a truth value."""
    if a is TRUE:
        return FALSE
    if a is FALSE:
        return TRUE
    if a.kind == "not":
        found: Term = a.args[0]
        return found
    return _make("not", (a,), BOOL)


def conjoin(*parts: Term) -> Term:
    """Return the conjunction; of none it is true.

    The order is kept: a part is to be checked only where those before it hold.
    """
    return _joined("and", TRUE, FALSE, parts)


def disjoin(*parts: Term) -> Term:
    """Return the disjunction; of none it is false."""
    return _joined("or", FALSE, TRUE, parts)


def _joined(kind: str, unit: Term, zero: Term, parts: Iterable[Term]) -> Term:
    found: dict[Term, None] = {}
    for part in parts:
        pieces: tuple[Term, ...] = part.args if part.kind == kind else (part,)
        for piece in pieces:
            if piece is unit:
                continue
            if piece is zero:
                return zero
            if invert(piece) in found:
                return zero
            found[piece] = None
    if not found:
        return unit
    if len(found) == 1:
        return next(iter(found))
    return _make(kind, tuple(found), BOOL)


def rebuilt(term: Term, args: tuple[Any, ...]) -> Term:
    """Return the term of the same kind with other arguments."""
    build = _BUILDERS.get(term.kind)
    if build is not None:
        found: Term = build(*args)
        return found
    return _make(term.kind, args, term.sort, term.low, term.high)


_BUILDERS: dict[str, Callable[..., Term]] = {
    "add": add,
    "mul": mul,
    "div": div,
    "mod": mod,
    "ite": choose,
    "le": at_most,
    "eq": equal,
    "not": invert,
    "and": conjoin,
    "or": disjoin,
    "fit": fit,
    "beside": beside,
    "pointer": pointer,
}
