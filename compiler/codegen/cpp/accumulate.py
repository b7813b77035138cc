"""Accumulators: how each reducer starts, takes a value, and joins two halves.

All results of a reducer are kept in arrays, one element for each vector lane (or for
each column), so one text serves every loop and nothing depends on how a compiler
recognises reductions.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from compiler.ir.operations import type_class

from .spelling import VALUES, constant

_LEAST: Final = {
    "bool": "false",
    "uint8": "(u8)0",
    "int8": "(i8)-128",
    "int16": "(i16)-32768",
    "int32": "(-2147483647 - 1)",
    "int64": "(-9223372036854775807LL - 1)",
}
_GREATEST: Final = {
    "bool": "true",
    "uint8": "(u8)255",
    "int8": "(i8)127",
    "int16": "(i16)32767",
    "int32": "2147483647",
    "int64": "9223372036854775807LL",
}


@dataclass(frozen=True, slots=True)
class Accumulator:
    """A reducer on values of one type.

    Attributes:
        types: C++ types of the arrays.
        start: Neutral elements.
        update: (lvalues, value, position) -> statements.
        join: (lvalues, values of the other half) -> statements.
        finish: Values of the results -> text of each result.
        fold: Type of the totals to which the arrays are added now and then, so that
            rounding errors do not grow with the length; None: no totals.
    """

    types: tuple[str, ...]
    start: tuple[str, ...]
    update: Callable[[Sequence[str], str, str], list[str]]
    join: Callable[[Sequence[str], Sequence[str]], list[str]]
    finish: Callable[[Sequence[str]], list[str]]
    fold: str | None = None


def accumulator(reducer: str, dtype: str, small: bool) -> Accumulator:
    """Return how a reducer accumulates.

    Args:
        reducer: A key of ``node.REDUCERS``.
        dtype: Type of its value.
        small: Whether positions are known to fit 32 bits.
    """
    if reducer in ("argmax", "argmin"):
        return _arg(reducer, dtype, "i32" if small else "i64")
    if reducer == "welford":
        return _welford(dtype)
    if reducer == "online_softmax":
        return _online_softmax(dtype)
    return _simple(reducer, dtype)


def extreme(greatest: bool, dtype: str) -> str:
    """Return the neutral element of ``maximum`` (least) or ``minimum``."""
    if type_class(dtype) == "float":
        return constant("inf" if greatest else "-inf", dtype)
    return (_GREATEST if greatest else _LEAST)[dtype]


def combined(reducer: str, dtype: str, left: str, right: str) -> str:
    """Return the text of one step of a reducer with one result."""
    text = {
        "sum": f"{left} + {right}",
        "product": f"{left} * {right}",
        "maximum": f"larger({right}, {left})",
        "minimum": f"smaller({right}, {left})",
        "any": f"{left} | {right}",
        "all": f"{left} & {right}",
        "xor": f"{left} ^ {right}",
    }[reducer]
    if dtype == "bool" and reducer in ("sum", "product"):
        text = f"{left} {'|' if reducer == 'sum' else '&'} {right}"
    return f"({VALUES[dtype]})({text})" if type_class(dtype) != "float" else text


def neutral(reducer: str, dtype: str) -> str:
    """Return the neutral element of a reducer with one result."""
    if reducer in ("maximum", "minimum"):
        return extreme(reducer == "minimum", dtype)
    one = reducer in ("product", "all")
    if type_class(dtype) == "float":
        return constant(float(one), dtype)
    return constant(one, dtype) if dtype == "bool" else f"({VALUES[dtype]}){int(one)}"


def _simple(reducer: str, dtype: str) -> Accumulator:
    def update(into: Sequence[str], value: str, position: str) -> list[str]:
        return [f"{into[0]} = {combined(reducer, dtype, into[0], value)};"]

    def join(into: Sequence[str], other: Sequence[str]) -> list[str]:
        return [f"{into[0]} = {combined(reducer, dtype, into[0], other[0])};"]

    kind = VALUES[dtype]
    fold = "f64" if reducer == "sum" and type_class(dtype) == "float" else None
    return Accumulator((kind,), (neutral(reducer, dtype),), update, join, list, fold)


def _arg(reducer: str, dtype: str, place: str) -> Accumulator:
    sign = ">" if reducer == "argmax" else "<"
    floating = type_class(dtype) == "float"

    def better(new: str, old: str) -> str:
        nan = f" | (({new} != {new}) & ({old} == {old}))" if floating else ""
        return f"({new} {sign} {old}){nan}"

    def update(into: Sequence[str], value: str, position: str) -> list[str]:
        best, where = into
        return [
            f"const bool take = {better(value, best)};",
            f"{best} = take ? {value} : {best};",
            f"{where} = take ? ({place})({position}) : {where};",
        ]

    def join(into: Sequence[str], other: Sequence[str]) -> list[str]:
        best, where = into
        value, position = other
        nans = f" | (({value} != {value}) & ({best} != {best}))" if floating else ""
        same = f"({value} == {best}){nans}"
        return [
            f"const bool take = {better(value, best)} | "
            f"(({same}) & ({position} < {where}));",
            f"{best} = take ? {value} : {best};",
            f"{where} = take ? {position} : {where};",
        ]

    return Accumulator(
        (VALUES[dtype], place),
        (extreme(reducer == "argmin", dtype), "0"),
        update,
        join,
        lambda values: [f"(i64){values[1]}"],
    )


def _welford(dtype: str) -> Accumulator:
    kind = VALUES[dtype]

    def update(into: Sequence[str], value: str, position: str) -> list[str]:
        mean, squares, count = into
        return [
            f"const {kind} more = {count} + 1;",
            f"const {kind} before = {value} - {mean};",
            f"const {kind} moved = {mean} + before / more;",
            f"{squares} = {squares} + before * ({value} - moved);",
            f"{mean} = moved;",
            f"{count} = more;",
        ]

    def join(into: Sequence[str], other: Sequence[str]) -> list[str]:
        mean, squares, count = into
        return [
            f"const {kind} both = {count} + {other[2]};",
            f"const {kind} share = both == 0 ? ({kind})0 : {other[2]} / both;",
            f"const {kind} apart = {other[0]} - {mean};",
            f"{mean} = share == 0 ? {mean} : {mean} + apart * share;",
            f"{squares} = share == 0 ? {squares} : {squares} + {other[1]} + "
            f"apart * apart * {count} * share;",
            f"{count} = both;",
        ]

    return Accumulator((kind,) * 3, (f"({kind})0",) * 3, update, join, list)


def _online_softmax(dtype: str) -> Accumulator:
    kind = VALUES[dtype]
    exp = "exp_f32" if dtype == "float32" else "exp"

    def rescaled(total: str, old: str, new: str) -> str:
        return f"({old} == {new} ? {total} : {total} * {exp}({old} - {new}))"

    def update(into: Sequence[str], value: str, position: str) -> list[str]:
        return join(into, (value, f"({kind})1"))

    def join(into: Sequence[str], other: Sequence[str]) -> list[str]:
        most, total = into
        return [
            f"const {kind} top = larger({other[0]}, {most});",
            f"{total} = {rescaled(total, most, 'top')} + "
            f"{rescaled(other[1], other[0], 'top')};",
            f"{most} = top;",
        ]

    return Accumulator(
        (kind, kind),
        (extreme(False, dtype), f"({kind})0"),
        update,
        join,
        # infinite extremes: exp(inf - inf) is NaN, and so is the sum
        lambda values: [values[0], f"{values[1]} + ({values[0]} - {values[0]})"],
    )
