"""What all loop forms share: loops, stores, thresholds, the function around them."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from compiler.ir.expression import Expression, nodes
from compiler.ir.index import Index, constant_value, digit, index
from compiler.ir.node import Axis
from compiler.ir.operations import OPERATIONS
from compiler.ir.scalar import HALF_TYPES

from . import spelling
from .accumulate import combined
from .body import Body, entry, parameter, pointer
from .nest import FlatStore, Nest, PlainStage, stage_roots

THRESHOLD: Final = 60_000
"""Work [elements moved] below which threads cost more than they bring."""

SIMD: Final = "#pragma omp simd"


class Writer:
    """Prints one nest as a function."""

    def __init__(self, nest: Nest, threads: int | None = None) -> None:
        """Take a nest.

        Args:
            nest: What to print.
            threads: Number of threads; None: OpenMP's own.
        """
        self.nest = nest
        self.threads = threads
        self.body = Body(nest.ranges)
        self.body.prepare(_uses(nest.stages))
        self.serial = any(
            isinstance(s, FlatStore) and not s.injective for s in nest.stages
        )

    def function(self) -> str:
        """Return the function's text, after its body has been written.

        Where there is no point, there is no body: what all points have in common is
        read before the loops, from memory that need not be there.
        """
        empty = any(constant_value(axis.extent) == 0 for axis in self.nest.outer)
        used = set() if empty else self.nest.used()
        stored = {s.buffer for s in self.nest.stages if isinstance(s, FlatStore)}
        parameters = []
        for name, buffer in self.nest.buffers.items():
            const = "" if name in stored else "const "
            kind = spelling.MEMORY[buffer.dtype]
            unused = "" if name in used else "[[maybe_unused]] "
            parameters.append(f"{unused}{const}{kind} *{pointer(name)}")
        size = "[[maybe_unused]] i64" if empty else "i64"
        parameters += [f"{size} {parameter(s)}" for s in self.nest.symbols]
        text = "" if empty else self.body.text().replace("\n", "\n    ")
        noughts = "".join(
            f"    const {kind} nought_{kind} = hidden(({kind})0);\n"
            for kind in ("i32", "i64")
            if f"nought_{kind}" in text
        )
        return (
            f'extern "C" i32 {entry(self.nest.name)}({", ".join(parameters)}) {{\n'
            f"    i32 bad = 0;\n{noughts}    {text}\n    return bad;\n}}\n"
        )

    def extent(self, value: Index) -> str:
        """Return the text of an extent."""
        return self.body.value(index(value))

    def pragma(
        self,
        kind: str,
        *,
        collapse: int = 1,
        axes: Iterable[Index] = (),
        more: str = "",
    ) -> list[str]:
        """Return the pragma of a loop; none for threads where there is little work.

        Args:
            kind: ``"parallel for"`` or ``"simd"``.
            collapse: How many loops below it are one.
            axes: Extents whose product is the number of points.
            more: Further clauses.
        """
        clauses = [f"#pragma omp {kind}"]
        if kind != "simd":
            condition = self._enough(list(axes))
            if condition is None:
                return []
            if collapse > 1:
                clauses.append(f"collapse({collapse})")
            clauses.append("schedule(static)")
            if self.threads is not None:
                clauses.append(f"num_threads({self.threads})")
            clauses += [condition] if condition else []
        if self.body.checks:
            clauses.append("reduction(|:bad)")
        return [" ".join([*clauses, more]).rstrip()]

    def _enough(self, extents: Sequence[Index]) -> str | None:
        """Return an if clause, "" where threads always pay, None where never."""
        known, others = self.weight(), []
        for extent in extents:
            number = constant_value(extent)
            if number is None:
                others.append(self.extent(extent))
            else:
                known *= number
        if not others:
            return "" if known > THRESHOLD else None
        return f"if ({' * '.join(others)} > {THRESHOLD // max(known, 1)})"

    def weight(self) -> int:
        """Return the rough work of one point [elements moved]."""
        loads, cost = 0, 0
        found = {id(n): n for s in self.nest.stages for n in nodes(*stage_roots(s))}
        for node in found.values():
            loads += node.op == "load"
            if node.dtype != "index" and node.op in OPERATIONS:
                cost += OPERATIONS[node.op].cost
        stores = sum(isinstance(s, FlatStore) for s in self.nest.stages)
        return loads + stores + cost // 8

    @contextmanager
    def loops(self, axes: Sequence[Axis], pragma: Sequence[str] = ()) -> Iterator[None]:
        """Open one block below a loop over each axis."""
        heads = list(pragma)
        names = []
        for axis in axes:
            name = self.body.fresh("x")
            names.append(name)
            end = self.extent(axis.extent)
            heads.append(f"for (i64 {name} = 0; {name} < {end}; ++{name})")
        if not axes:
            heads = [""]
        with self.body.block(*heads):
            for axis, name in zip(axes, names, strict=True):
                self.body.bind(axis.digit, name)
            yield

    @contextmanager
    def span(
        self, axis: Axis, start: str, end: str, pragma: Sequence[str] = ()
    ) -> Iterator[None]:
        """Open a loop over a part of an axis."""
        name = self.body.fresh("x")
        head = f"for (i64 {name} = {start}; {name} < {end}; ++{name})"
        with self.body.block(*pragma, head):
            self.body.bind(axis.digit, name)
            yield

    @contextmanager
    def lanes(
        self, axis: Axis, start: str, count: str, pragma: Sequence[str] = ()
    ) -> Iterator[str]:
        """Open a loop over lanes: the digit is ``start`` plus the lane; yields it."""
        lane = self.body.fresh("l")
        head = f"for (i32 {lane} = 0; {lane} < {count}; ++{lane})"
        with self.body.block(*pragma, head):
            self.body.bind(axis.digit, f"({start} + {lane})")
            yield lane

    def blocks(self, axis: Axis, size: int) -> Axis:
        """Return the axis of an axis' blocks of ``size`` elements."""
        number = constant_value(axis.extent)
        name = digit(f"{axis.digit.data}_block")
        if number is not None:
            return Axis(name, index(-(-number // size)))
        text = f"({self.extent(axis.extent)} + {size - 1}) / {size}"
        return Axis(name, self.body.outside(text))

    def stop(self, axis: Axis, start: str, size: int) -> str:
        """Return the name of where a block of an axis ends."""
        number = constant_value(axis.extent)
        if number is not None and number % size == 0:
            return f"{start} + {size}"
        end, name = self.extent(axis.extent), self.body.fresh("x")
        self.body.line(
            f"const i64 {name} = {start} + {size} < {end} ? {start} + {size} : {end};"
        )
        return name

    def store(self, stage: FlatStore) -> None:
        """Write the statement of a store at the current point."""
        body = self.body
        offset, value = body.value(stage.offset), body.value(stage.value)
        dtype = stage.value.dtype
        element = f"{pointer(stage.buffer)}[{offset}]"
        if stage.mode != "set":
            old = body.fresh("v")
            kind = spelling.VALUES[dtype]
            body.line(f"const {kind} {old} = {spelling.loaded(element, dtype)};")
            reducer = {"add": "sum", "multiply": "product"}.get(stage.mode, stage.mode)
            text = combined(reducer, dtype, old, value)
            if dtype in HALF_TYPES:
                text = f"round_{dtype}({text})"
            value = body.fresh("v")
            body.line(f"const {kind} {value} = {text};")
        text = f"{element} = {spelling.stored(value, dtype)};"
        if stage.condition is not None:
            text = f"if ({body.value(stage.condition)}) {text}"
        body.line(text)

    def simd(self) -> list[str]:
        """Return the pragma of a vectorised loop."""
        return self.pragma("simd")


def _uses(
    stages: Iterable[PlainStage],
) -> list[tuple[Expression, Expression | None]]:
    found: list[tuple[Expression, Expression | None]] = []
    for stage in stages:
        if isinstance(stage, FlatStore):
            found += [(stage.offset, stage.condition), (stage.value, stage.condition)]
            if stage.condition is not None:
                found.append((stage.condition, None))
        else:
            found += [(root, None) for root in stage_roots(stage)]
    return found
