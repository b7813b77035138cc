"""Inclusive scans along the inner axis, one row at a time or many columns at once."""

from collections.abc import Sequence
from typing import Final

from compiler.ir.kernel import Prefix
from compiler.ir.operations import type_class
from compiler.ir.scalar import local

from .accumulate import combined, extreme, neutral
from .nest import FlatStore, PlainStage
from .spelling import VALUES
from .writer import Writer

CHUNK: Final = 1024
"""Elements of a row whose values are computed by vectors before they are scanned."""

_VECTOR_SUMS: Final = {"float32": "f64", "float64": "f64", "int64": "i64"}
"""Type -> type that a running sum is kept in, eight at a time."""


def start_of(kind: str, dtype: str) -> list[tuple[str, str]]:
    """Return the running values of a scan: C++ types and what they start from."""
    spelled = VALUES[dtype]
    if kind in ("argmax", "argmin"):
        return [(spelled, extreme(kind == "argmin", dtype)), ("i64", "0")]
    if kind == "logsumexp":
        return [(spelled, extreme(False, dtype))]
    if kind == "sum" and type_class(dtype) == "float":
        return [("f64", "0")]
    return [(spelled, neutral(kind, dtype))]


def advance(
    kind: str, dtype: str, into: Sequence[str], value: str, position: str
) -> list[str]:
    """Return the statements that take one more value into the running ones."""
    if kind in ("argmax", "argmin"):
        sign = ">=" if kind == "argmax" else "<="
        nan = f" | ({value} != {value})" if type_class(dtype) == "float" else ""
        kept = f" & ({into[0]} == {into[0]})" if nan else ""
        return [
            f"const bool take = (({value} {sign} {into[0]}){kept}){nan};",
            f"{into[0]} = take ? {value} : {into[0]};",
            f"{into[1]} = take ? {position} : {into[1]};",
        ]
    if kind == "logsumexp":
        f = "" if dtype == "float64" else "f"
        spelled, exp = VALUES[dtype], "exp_f32" if f else "exp"
        return [
            f"const {spelled} top = larger({value}, {into[0]});",
            f"const {spelled} low = smaller({value}, {into[0]});",
            f"{into[0]} = (top == low) & (top - top != 0) ? top : "
            f"top + log1p{f}({exp}(low - top));",
        ]
    return [f"{into[0]} = {combined(kind, _wide(kind, dtype), into[0], value)};"]


def _wide(kind: str, dtype: str) -> str:
    return "float64" if kind == "sum" and type_class(dtype) == "float" else dtype


def print_scan(writer: Writer, group: Sequence[PlainStage]) -> None:
    """Write scans of one row and the stores that read them.

    Args:
        writer: Where to.
        group: Scans, then stores at the same points.
    """
    body = writer.body
    (axis,) = writer.nest.inner
    scans = [stage for stage in group if isinstance(stage, Prefix)]
    running, outputs = [], []
    for stage in scans:
        states = start_of(stage.kind, stage.value.dtype)
        names = [body.fresh("r") for _ in states]
        for (kind, start), name in zip(states, names, strict=True):
            body.line(f"{kind} {name} = {start};")
        running.append(names)
        outputs.append([body.fresh("a") for _ in stage.results])
    at, end = body.fresh("x"), writer.extent(axis.extent)
    head = f"for (i64 {at} = 0; {at} < {end}; {at} += {CHUNK})"
    simd = () if writer.serial else writer.simd()
    with body.block(head):
        count = body.fresh("x")
        body.line(
            f"const i64 {count} = {end} - {at} < {CHUNK} ? {end} - {at} : {CHUNK};"
        )

        def bind(number: int, lane: str) -> None:
            for stage, names in zip(scans[:number], outputs, strict=False):
                for result, name, kind in zip(
                    stage.results, names, stage.dtypes, strict=True
                ):
                    body.bind(local(result, kind), f"{name}[{lane}]")

        for number, stage in enumerate(scans):
            dtype = stage.value.dtype
            values = body.fresh("a")
            body.line(f"alignas(64) {VALUES[dtype]} {values}[{CHUNK}];")
            for name, kind in zip(outputs[number], stage.dtypes, strict=True):
                body.line(f"alignas(64) {VALUES[kind]} {name}[{CHUNK}];")
            with writer.lanes(axis, at, count, simd) as lane:
                bind(number, lane)
                body.line(f"{values}[{lane}] = {body.value(stage.value)};")
            names = running[number]
            if stage.kind == "sum" and dtype in _VECTOR_SUMS:
                body.line(
                    f"{names[0]} = prefix_sum<{_VECTOR_SUMS[dtype]}>"
                    f"({values}, {outputs[number][0]}, {count}, {names[0]});"
                )
                continue
            with body.block(f"for (i64 l = 0; l < {count}; ++l)"):
                body.line(f"const {VALUES[dtype]} value = {values}[l];")
                place = f"({at} + l)"
                for line in advance(stage.kind, dtype, names, "value", place):
                    body.line(line)
                for name, output, kind in zip(
                    names, outputs[number], stage.dtypes, strict=True
                ):
                    body.line(f"{output}[l] = ({VALUES[kind]}){name};")
        with writer.lanes(axis, at, count, simd) as lane:
            bind(len(scans), lane)
            for item in group:
                if isinstance(item, FlatStore):
                    writer.store(item)
