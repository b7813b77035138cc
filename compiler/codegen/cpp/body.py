"""Statements of a loop body: each node of the graph once, as far out as it can be.

A :class:`Block` is a C++ block; blocks nest. A node is computed in the outermost open
block that knows its leaves, so what does not change in a loop is computed before it.
Loads under a ``guard`` happen only where its condition holds; arithmetic below a guard
happens everywhere, on zeros, because vectors want no branches.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from compiler.ir.expression import Expression, make, nodes
from compiler.ir.index import constant_value, from_terms, terms
from compiler.ir.operations import type_class
from compiler.ir.ranges import Ranges

from . import spelling
from .conditions import conditions

OUT_OF_RANGE = 1
DIVISION_BY_ZERO = 2


@dataclass(slots=True)
class Block:
    """An open block.

    Attributes:
        lines: Its statements so far.
        known: id of a node -> its name or text.
        digits: Loop variables that it declares.
    """

    lines: list[str] = field(default_factory=list)
    known: dict[int, str] = field(default_factory=dict)


class Body:
    """Writer of the statements of one function."""

    def __init__(self, ranges: Ranges) -> None:
        """Start with the function's outermost block open.

        Args:
            ranges: Extents of all digits.
        """
        self.ranges = ranges
        self.blocks = [Block()]
        self.checks = False
        self._count = 0
        self._conditions: dict[int, Expression | None] = {}
        self._kept: list[Expression] = []

    def fresh(self, prefix: str) -> str:
        """Return a name that is not taken."""
        self._count += 1
        return f"{prefix}_{self._count}"

    def line(self, text: str) -> None:
        """Add a statement to the innermost block."""
        self.blocks[-1].lines.append(text)

    def bind(self, leaf: Expression, name: str) -> None:
        """Say how a digit, a local or any node is called in the innermost block."""
        self._kept.append(leaf)
        self.blocks[-1].known[id(leaf)] = name

    def outside(self, text: str) -> Expression:
        """Return an index leaf for a text that holds in the whole function."""
        name = self.fresh("i")
        leaf = make("digit", (), "index", name)
        self._kept.append(leaf)
        self.blocks[0].lines.append(f"const i64 {name} = {text};")
        self.blocks[0].known[id(leaf)] = name
        return leaf

    def text(self) -> str:
        """Return the function's statements."""
        return "\n".join(self.blocks[0].lines)

    @contextmanager
    def block(self, *heads: str) -> Iterator[None]:
        """Open a block below lines such as a pragma and a loop's head."""
        self.blocks.append(Block())
        yield
        inner = self.blocks.pop()
        *first, last = heads
        self.blocks[-1].lines += [*first, f"{last} {{"]
        self.blocks[-1].lines += ["    " + line for line in inner.lines]
        self.blocks[-1].lines.append("}")

    def forget(self, buffer: str) -> None:
        """Drop values that were loaded from a buffer that changed."""
        stale = {
            id(node)
            for kept in self._kept
            for node in nodes(kept)
            if node.op not in ("constant", "symbol", "digit", "local")
            and any(n.op == "load" and n.data == buffer for n in nodes(node))
        }
        for block in self.blocks:
            for key in stale & set(block.known):
                del block.known[key]

    def prepare(self, roots: Sequence[tuple[Expression, Expression | None]]) -> None:
        """Find under which conditions the loads below the roots happen.

        Args:
            roots: Each with the condition under which its value is used (None:
                always), of all stages of the function.
        """
        order = list(nodes(*(root for root, _ in roots)))
        found = conditions(roots)
        self._conditions = found
        self._kept += [root for root, _ in roots]
        self._kept += [c for c in found.values() if c is not None]
        self.checks = any(_checks(node) for node in order)

    def value(self, root: Expression) -> str:
        """Return an atom for a node; its statements go where they belong."""
        known, _ = self._place(root)
        return known

    def depth(self, root: Expression) -> int:
        """Return the number of the block in which a node is computed."""
        return self._place(root)[1]

    def _lookup(self, node: Expression) -> tuple[str, int] | None:
        for depth in range(len(self.blocks) - 1, -1, -1):
            name = self.blocks[depth].known.get(id(node))
            if name is not None:
                return name, depth
        return None

    def _place(self, root: Expression) -> tuple[str, int]:
        stack = [root]
        waiting: set[int] = set()
        while stack:
            node = stack[-1]
            if self._lookup(node) is not None:
                stack.pop()
                continue
            needs = list(node.args)
            condition = self._conditions.get(id(node))
            if condition is not None and _may_fail(node):
                needs.append(condition)
            missing = [arg for arg in needs if self._lookup(arg) is None]
            if missing:
                waiting.add(id(node))
                if any(id(arg) in waiting for arg in missing):
                    raise NotImplementedError("two guards ask for each other's values")
                stack += reversed(missing)
                continue
            stack.pop()
            self._emit(node, condition if _may_fail(node) else None)
        found = self._lookup(root)
        if found is None:
            raise AssertionError(f"{root!r} has no place")
        return found

    def _emit(self, node: Expression, condition: Expression | None) -> None:
        if node.op in ("constant", "symbol"):
            name = (
                spelling.constant(node.data, node.dtype)
                if node.op == "constant"
                else parameter(node)
            )
            if name.startswith("-"):
                name = f"({name})"
            self.blocks[0].known[id(node)] = name
            return
        if node.op in ("digit", "local"):
            raise NotImplementedError(f"{node.op} {node.data} is not known here")
        places = [self._lookup(arg) for arg in node.args]
        args = [place[0] for place in places if place is not None]
        depth = max((place[1] for place in places if place is not None), default=0)
        when = None
        if condition is not None:
            place = self._lookup(condition)
            if place is not None:
                when, depth = place[0], max(depth, place[1])
        if node.dtype == "index" and node.op == "add":
            self._sum(node, depth)
            return
        text = self._text(node, args, when, depth)
        self._declare(node, text, depth)

    def _declare(self, node: Expression, text: str, depth: int) -> None:
        name = self.fresh("i" if node.dtype == "index" else "v")
        block = self.blocks[depth]
        block.lines.append(f"const {spelling.VALUES[node.dtype]} {name} = {text};")
        block.known[id(node)] = name

    def _sum(self, node: Expression, depth: int) -> None:
        """Add up what lies outside first, so that a loop adds its own part only."""
        groups: dict[int, list[str]] = {}
        known = 0
        for factor, count in terms(node).items():
            if factor is None:
                known = count
                continue
            part = from_terms({factor: count})
            name, place = self._place(part)
            groups.setdefault(place, []).append(name)
        total = ""
        for place in sorted(groups):
            total = " + ".join([total, *groups[place]] if total else groups[place])
            if place < depth and " " in total:
                name = self.fresh("i")
                self.blocks[place].lines.append(f"const i64 {name} = {total};")
                total = name
        if known:
            total = f"{total} {'+' if known > 0 else '-'} {abs(known)}"
        self._declare(node, total, depth)

    def _text(
        self, node: Expression, args: list[str], when: str | None, depth: int
    ) -> str:
        if node.op == "load":
            element = f"{pointer(str(node.data))}[{args[0]}]"
            if when is not None:
                raw = self.fresh("r")
                kind = spelling.MEMORY[node.dtype]
                self.blocks[depth].lines.append(
                    f"const {kind} {raw} = {when} ? {element} : ({kind})0;"
                )
                element = raw
            return spelling.loaded(element, node.dtype)
        if node.op == "checked_index":
            return self._checked(node, args, when, depth)
        if node.dtype == "index":
            return self._index(node, args)
        if node.op == "from_index":
            return spelling.cast(args[0], "int64", node.dtype)
        kind = type_class(node.args[0].dtype)
        if node.op in spelling.DIVISIONS and kind in ("int", "unsigned"):
            args = [args[0], self._divisor(node, args[1], when, depth)]
        return spelling.operation(node, args)

    def _divisor(
        self, node: Expression, divisor: str, when: str | None, depth: int
    ) -> str:
        if _constant_divisor(node):
            return f"({spelling.VALUES[node.dtype]}){divisor}"
        zero, safe = self.fresh("z"), self.fresh("d")
        kind = spelling.VALUES[node.dtype]
        seen = f"{zero} & {when}" if when is not None else zero
        self.blocks[depth].lines += [
            f"const bool {zero} = {divisor} == 0;",
            f"bad |= {seen} ? {DIVISION_BY_ZERO} : 0;",
            f"const {kind} {safe} = {zero} ? ({kind})1 : ({kind}){divisor};",
        ]
        return safe

    def _checked(
        self, node: Expression, args: list[str], when: str | None, depth: int
    ) -> str:
        value, extent = args
        lines = self.blocks[depth].lines
        if node.data:
            wrapped = self.fresh("w")
            lines.append(
                f"const i64 {wrapped} = (i64){value} + "
                f"({value} < 0 ? (i64){extent} : 0);"
            )
            value = wrapped
        inside = self.fresh("k")
        lines.append(f"const bool {inside} = (u64){value} < (u64){extent};")
        seen = f"!{inside} & {when}" if when is not None else f"!{inside}"
        lines.append(f"bad |= {seen} ? {OUT_OF_RANGE} : 0;")
        return f"{inside} ? (i64){value} : 0"

    def _index(self, node: Expression, args: list[str]) -> str:
        if node.op == "mul":
            return " * ".join(args)
        if node.op in ("floordiv", "mod"):
            if self.ranges.at_least(node.args[0], 0):
                return self._truncating(node, args)
            helper = "floor_quotient" if node.op == "floordiv" else "floor_rest"
            return f"{helper}({args[0]}, {args[1]})"
        if node.op in ("minimum", "maximum"):
            sign = "<" if node.op == "minimum" else ">"
            return f"{args[0]} {sign} {args[1]} ? {args[0]} : {args[1]}"
        raise NotImplementedError(f"no C++ for the index operation {node.op}")

    def _truncating(self, node: Expression, args: list[str]) -> str:
        """Divide what is proved non-negative; in 32 bits where that is proved too."""
        sign = "/" if node.op == "floordiv" else "%"
        by = constant_value(node.args[1])
        if (
            by is not None
            and by < 2**31
            and self.ranges.at_most(node.args[0], 2**31 - 1)
        ):
            return f"(i64)((u32){args[0]} {sign} {by}u)"
        return f"{args[0]} {sign} {args[1]}"


def pointer(buffer: str) -> str:
    """Return the parameter's name of a buffer."""
    return "p_" + re.sub(r"\W", "_", buffer)


def parameter(symbol: Expression) -> str:
    """Return the parameter's name of a size."""
    return "n_" + re.sub(r"\W", "_", str(symbol.data))


def entry(kernel: str) -> str:
    """Return the name of a kernel's function: no word of C++, no function of libc."""
    return "k_" + re.sub(r"\W", "_", kernel)


def _checks(node: Expression) -> bool:
    if node.op == "checked_index":
        return True
    divides = node.op in spelling.DIVISIONS and node.dtype != "index"
    return divides and _may_fail(node) and not _constant_divisor(node)


def _constant_divisor(node: Expression) -> bool:
    return node.args[1].op == "constant" and bool(node.args[1].data)


def _may_fail(node: Expression) -> bool:
    return node.op in ("load", "checked_index", *spelling.DIVISIONS) and (
        node.op not in spelling.DIVISIONS
        or type_class(node.args[0].dtype) in ("int", "unsigned")
    )
