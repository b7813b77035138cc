"""Index arithmetic: mathematical integers with floor semantics.

Each function returns a simplified expression of type ``"index"``; Python ints are
taken as constants. Sums are flat and ordered, products carry their constant last, so
equal affine expressions are the same object. Division and remainder are by positive
divisors.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final, TypeAlias

from .expression import INDEX, Expression, make

Index: TypeAlias = Expression | int
"""An index expression, or a constant."""

_REMEMBERED: Final = 1 << 14
"""Results of a function that are remembered: layers of a model are alike."""


def index(value: Index) -> Expression:
    """Return the constant, or the expression itself."""
    return value if isinstance(value, Expression) else _constant(int(value))


@lru_cache(maxsize=_REMEMBERED)
def _constant(value: int) -> Expression:
    return make("constant", (), INDEX, value)


def digit(name: str) -> Expression:
    """Return the loop coordinate of a name."""
    return make("digit", (), INDEX, name)


def symbol(name: str) -> Expression:
    """Return the size of a name: a non-negative integer known when a kernel runs."""
    return make("symbol", (), INDEX, name)


def constant_value(value: Index) -> int | None:
    """Return the value of a constant, None for anything else."""
    if isinstance(value, int):
        return value
    if value.op != "constant":
        return None
    data = value.data
    return data if type(data) is int else int(str(data))


def terms(value: Index) -> dict[Expression | None, int]:
    """Return an expression as a sum: factor -> coefficient, None for the constant.

    Example:
        >>> terms(add(mul(digit("i"), 4), 3))
        {i: 4, None: 3}
    """
    value = index(value)
    if value.op == "add":
        out: dict[Expression | None, int] = {}
        for arg in value.args:
            for factor, count in terms(arg).items():
                out[factor] = out.get(factor, 0) + count
        return out
    known = constant_value(value)
    if known is not None:
        return {None: known} if known else {}
    if value.op == "mul" and value.args[-1].op == "constant":
        rest = value.args[:-1]
        factor = rest[0] if len(rest) == 1 else make("mul", rest, INDEX)
        return {factor: int(str(value.args[-1].data))}
    return {value: 1}


def from_terms(parts: Mapping[Expression | None, int]) -> Expression:
    """Return the sum of factors with their coefficients; inverse of :func:`terms`."""
    known = parts.get(None, 0)
    summands = []
    factors = [factor for factor in parts if factor is not None]
    if len(factors) > 1:
        factors.sort(key=repr)
    for factor in factors:
        count = parts[factor]
        if count:
            summands.append(_scaled(factor, count))
    if known or not summands:
        summands.append(index(known))
    return summands[0] if len(summands) == 1 else make("add", tuple(summands), INDEX)


def _scaled(factor: Expression, count: int) -> Expression:
    if count == 1:
        return factor
    inner = factor.args if factor.op == "mul" else (factor,)
    return make("mul", (*inner, index(count)), INDEX)


def add(*values: Index) -> Expression:
    """Return the sum.

    Example:
        >>> add(digit("i"), 2, digit("i"), -2)
        mul(i, 2)
    """
    return _sum(values)


@lru_cache(maxsize=_REMEMBERED)
def _sum(values: tuple[Index, ...]) -> Expression:
    total: dict[Expression | None, int] = {}
    for value in values:
        for factor, count in terms(value).items():
            total[factor] = total.get(factor, 0) + count
    return from_terms(total)


def sub(left: Index, right: Index) -> Expression:
    """Return the difference."""
    return add(left, mul(right, -1))


def mul(*values: Index) -> Expression:
    """Return the product; constants distribute over sums.

    Example:
        >>> mul(add(digit("i"), 1), 8)
        add(mul(i, 8), 8)
    """
    return _product(values)


@lru_cache(maxsize=_REMEMBERED)
def _product(values: tuple[Index, ...]) -> Expression:
    known = 1
    factors: list[Expression] = []
    sums: list[Expression] = []
    for value in values:
        value = index(value)
        for part in value.args if value.op == "mul" else (value,):
            number = constant_value(part)
            if number is not None:
                known *= number
            elif part.op == "add":
                sums.append(part)
            else:
                factors.append(part)
    if known == 0:
        return index(0)
    if sums:
        # a * (b + c) = a*b + a*c: sizes times sums too, so that strides cancel
        first, *others = sums
        return add(*(mul(part, known, *factors, *others) for part in first.args))
    if not factors:
        return index(known)
    factors.sort(key=repr)
    product = factors[0] if len(factors) == 1 else make("mul", tuple(factors), INDEX)
    return _scaled(product, known)


def floordiv(value: Index, divisor: Index) -> Expression:
    """Return the floor of the quotient by a positive divisor.

    Summands that the divisor divides leave the division exactly.

    Example:
        >>> floordiv(add(mul(digit("i"), 8), digit("j")), 4)
        add(floordiv(j, 4), mul(i, 2))
    """
    value, divisor = index(value), index(divisor)
    by = constant_value(divisor)
    if by == 1:
        return value
    known = constant_value(value)
    if known is not None and by is not None:
        return index(known // by)
    if value is divisor:
        return index(1)
    whole, rest = _divided(value, divisor)
    if rest is value:
        if value.op == "floordiv" and by is not None:
            inner = constant_value(value.args[1])
            if inner is not None:
                return floordiv(value.args[0], inner * by)
        return make("floordiv", (value, divisor), INDEX)
    return add(whole, floordiv(rest, divisor))


def mod(value: Index, divisor: Index) -> Expression:
    """Return the remainder of the floor division by a positive divisor.

    Example:
        >>> mod(add(mul(digit("i"), 8), digit("j")), 4)
        mod(j, 4)
    """
    value, divisor = index(value), index(divisor)
    by = constant_value(divisor)
    if by == 1:
        return index(0)
    known = constant_value(value)
    if known is not None and by is not None:
        return index(known % by)
    if value is divisor:
        return index(0)
    _, rest = _divided(value, divisor)
    if rest is not value:
        return mod(rest, divisor)
    if value.op == "mod" and by is not None:
        inner = constant_value(value.args[1])
        if inner is not None and inner % by == 0:
            return mod(value.args[0], by)
    return make("mod", (value, divisor), INDEX)


def _divided(value: Expression, divisor: Expression) -> tuple[Expression, Expression]:
    """Return (q, r) with value = q * divisor + r, r as small as syntax shows."""
    by = constant_value(divisor)
    whole: dict[Expression | None, int] = {}
    rest: dict[Expression | None, int] = {}
    for factor, count in terms(value).items():
        if by is not None:
            if count % by == 0:
                whole[factor] = count // by
            elif factor is None:
                whole[None], rest[None] = count // by, count % by
            else:
                rest[factor] = count
            continue
        left = _without(factor, divisor)
        if left is None:
            rest[factor] = count
        else:
            whole[left] = whole.get(left, 0) + count
    if not any(whole.values()):
        return index(0), value
    quotient = add(*(mul(1 if f is None else f, c) for f, c in whole.items()))
    return quotient, from_terms(rest)


def _without(factor: Expression | None, divisor: Expression) -> Expression | None:
    """Return factor / divisor where the divisor's factors all occur, else None."""
    if factor is None:
        return None
    have = list(factor.args if factor.op == "mul" else (factor,))
    for part in divisor.args if divisor.op == "mul" else (divisor,):
        if part not in have:
            return None
        have.remove(part)
    return mul(*have) if have else index(1)


def minimum(left: Index, right: Index) -> Expression:
    """Return the smaller."""
    return _extreme("minimum", index(left), index(right))


def maximum(left: Index, right: Index) -> Expression:
    """Return the larger."""
    return _extreme("maximum", index(left), index(right))


def _extreme(op: str, left: Expression, right: Expression) -> Expression:
    a, b = constant_value(left), constant_value(right)
    if a is not None and b is not None:
        return index(min(a, b) if op == "minimum" else max(a, b))
    return left if left is right else make(op, (left, right), INDEX)


def flatten(coordinates: Sequence[Index], extents: Sequence[Index]) -> Expression:
    """Return the row-major position of coordinates (last dim fastest).

    Law: ``unflatten(flatten(c, e), e) == c`` for ``0 <= c < e``.
    """
    total: Expression = index(0)
    for coordinate, extent in zip(coordinates, extents, strict=True):
        total = add(mul(total, extent), coordinate)
    return total


def unflatten(position: Index, extents: Sequence[Index]) -> list[Expression]:
    """Return the row-major coordinates of a position."""
    out: list[Expression] = []
    rest = index(position)
    for number, extent in enumerate(reversed(extents)):
        last = number == len(extents) - 1
        out.append(rest if last else mod(rest, extent))
        rest = floordiv(rest, extent) if not last else rest
    return out[::-1]


def product(values: Iterable[Index]) -> Expression:
    """Return the product of all, 1 of none."""
    return mul(1, *values)


def contiguous_strides(shape: Sequence[Index]) -> tuple[Expression, ...]:
    """Return the row-major strides [elements].

    Example:
        >>> contiguous_strides([2, 3, 4])
        (12, 4, 1)
    """
    return tuple(product(shape[i + 1 :]) for i in range(len(shape)))


_BUILDERS: dict[str, Callable[..., Expression]] = {
    "add": add,
    "mul": mul,
    "floordiv": floordiv,
    "mod": mod,
    "minimum": minimum,
    "maximum": maximum,
}


def rebuilt(node: Expression, args: tuple[Expression, ...]) -> Expression:
    """Return the node with other operands, simplified if it is an index."""
    if node.dtype == INDEX and node.op in _BUILDERS:
        return _BUILDERS[node.op](*args)
    return make(node.op, args, node.dtype, node.data)
