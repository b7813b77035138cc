"""Scalar expressions: one first-order, hash-consed graph for indices and values.

Two kinds of type never mix. ``"index"`` is a mathematical integer: a loop digit, a
size, or arithmetic on them, with floor semantics and no width. All other types are
values and wrap or round as the named machine type does. ``from_index`` and
``checked_index`` are the only ways from one to the other.

Equal expressions are the same object, so equality is identity and a pass over a graph
costs one visit for each distinct node.
"""

import weakref
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

INDEX = "index"
"""Type of indices."""

VALUE_TYPES = (
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
)
"""Types of values, by torch's names."""

NARROW_TYPES = ("float8_e4m3fn", "float8_e5m2")
"""Types that tiles are stored and multiplied in, and nothing else is done with."""


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class Expression:
    """A node of the graph.

    Make one with :func:`make` or a function of ``index`` or ``scalar``, never with the
    constructor.

    Attributes:
        op: Name in the operation table, or one of the leaves ``constant``, ``symbol``
            (a size), ``digit`` (a loop coordinate), ``local`` (result of an earlier
            stage of the same kernel), or ``load``.
        args: Operands. Of a load: one index for each dim of the buffer.
        dtype: ``"index"`` or a value type.
        data: Constant's value, name of a symbol, digit or local, or name of the buffer
            that a load reads.
    """

    op: str
    args: tuple["Expression", ...]
    dtype: str
    data: Hashable = None

    def __reduce__(self) -> tuple[Any, ...]:
        return make, (self.op, self.args, self.dtype, self.data)

    def __repr__(self) -> str:
        if self.op == "constant":
            return repr(self.data)
        if self.op in ("symbol", "digit", "local"):
            return str(self.data)
        inner = ", ".join(map(repr, self.args))
        if self.op == "load":
            return f"{self.data}[{inner}]"
        suffix = (
            f":{self.dtype}" if self.op in ("cast", "from_index", "bitcast") else ""
        )
        return f"{self.op}({inner}){suffix}"


_TABLE: "weakref.WeakValueDictionary[Hashable, Expression]" = (
    weakref.WeakValueDictionary()
)


def make(
    op: str, args: tuple[Expression, ...], dtype: str, data: Hashable = None
) -> Expression:
    """Return the expression with these parts; the same object for the same parts.

    Constants are told apart by type and sign: ``True``, ``1``, ``1.0``, ``0.0`` and
    ``-0.0`` are five constants, and NaN is one.

    Example:
        >>> one = make("constant", (), "int32", 1)
        >>> one is make("constant", (), "int32", 1)
        True
        >>> one is make("constant", (), "int64", 1)
        False
    """
    identity = (type(data).__name__, repr(data)) if op == "constant" else data
    key = (op, tuple(map(id, args)), dtype, identity)
    found = _TABLE.get(key)
    if found is None:
        found = Expression(op, args, dtype, data)
        _TABLE[key] = found
    return found


def nodes(*roots: Expression) -> Iterator[Expression]:
    """Yield each distinct node below the roots once, operands before users.

    Example:
        >>> one = make("constant", (), "int32", 1)
        >>> [node.op for node in nodes(make("add", (one, one), "int32"))]
        ['constant', 'add']
    """
    seen: set[int] = set()
    stack = [(root, False) for root in reversed(roots)]
    while stack:
        node, ready = stack.pop()
        if ready:
            yield node
        elif id(node) not in seen:
            seen.add(id(node))
            if not node.args:
                yield node
                continue
            stack.append((node, True))
            for arg in reversed(node.args):
                if id(arg) not in seen:
                    stack.append((arg, False))


def rewrite(
    root: Expression,
    change: Callable[[Expression], Expression],
    done: dict[int, Expression] | None = None,
) -> Expression:
    """Return the graph with ``change`` applied to each node, operands first.

    ``change`` gets nodes whose operands are changed already; index operations are
    built anew by their smart constructors, so that what became constant folds.

    Args:
        root: Where to start.
        change: Node to node; the node itself where there is nothing to do.
        done: Memory shared between roots; give the same dict with the same ``change``
            only, and keep the roots alive.
    """
    from .index import rebuilt

    done = {} if done is None else done
    for node in nodes(root):
        if id(node) not in done:
            args = tuple(done[id(arg)] for arg in node.args)
            same = all(new is old for new, old in zip(args, node.args, strict=True))
            new = node if same else rebuilt(node, args)
            # a sum may fold to one of its operands, a leaf that is changed already
            done[id(node)] = change(new) if same or new.args else new
    return done[id(root)]


def substitute(
    root: Expression, replacements: Mapping[Expression, Expression]
) -> Expression:
    """Return the graph with leaves (digits, symbols, locals) replaced.

    Law: substituting ``{d: d}`` changes nothing.

    Example:
        >>> from compiler.ir.index import digit, add
        >>> substitute(add(digit("i"), 1), {digit("i"): digit("j")})
        add(j, 1)
    """
    return rewrite(root, lambda node: replacements.get(node, node))


def loads(*roots: Expression) -> list[Expression]:
    """Return the distinct loads below the roots, operands before users."""
    return list(_loads(roots))


@lru_cache(maxsize=1 << 13)
def _loads(roots: tuple[Expression, ...]) -> tuple[Expression, ...]:
    return tuple(node for node in nodes(*roots) if node.op == "load")


def leaves(op: str, *roots: Expression) -> list[Expression]:
    """Return the distinct leaves of a kind (``digit``, ``symbol``, ``local``)."""
    return [node for node in nodes(*roots) if node.op == op]
