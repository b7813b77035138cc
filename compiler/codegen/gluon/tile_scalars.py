"""Scalar expressions at all registers of a file, as lines of Gluon.

Templates are the operation table's, read for Gluon, which has Triton's names for
arithmetic and no library of functions.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from compiler.errors import BuildError
from compiler.ir.expression import INDEX, Expression, nodes
from compiler.ir.operations import OPERATIONS, type_class

TYPES: Mapping[str, str] = {
    "bool": "gl.int1",
    "uint8": "gl.uint8",
    "int8": "gl.int8",
    "int16": "gl.int16",
    "int32": "gl.int32",
    "int64": "gl.int64",
    "float8_e4m3fn": "gl.float8e4nv",
    "float8_e5m2": "gl.float8e5",
    "float16": "gl.float16",
    "bfloat16": "gl.bfloat16",
    "float32": "gl.float32",
    "float64": "gl.float64",
}
"""Value type -> Gluon's name."""

_BY_HAND: Mapping[str, str] = {
    "truediv": "{0} / {1}",
    "maximum": "gl.maximum({0}, {1}{nan})",
    "minimum": "gl.minimum({0}, {1}{nan})",
    "exp": "gl.exp({0})",
    "exp2": "gl.exp2({0})",
    "log": "gl.log({0})",
    "log2": "gl.log2({0})",
    "sqrt": "gl.sqrt_rn({0})",
    "rsqrt": "gl.rsqrt({0})",
    "sin": "gl.sin({0})",
    "cos": "gl.cos({0})",
    "erf": "gl.erf({0})",
    "floor": "gl.floor({0})",
    "ceil": "gl.ceil({0})",
    "abs": "gl.abs({0})",
    "isinf": 'gl.abs({0}) == float("inf")',
    "shift_left": "{0} << {1}",
    "shift_right": "{0} >> {1}",
    "floordiv": "{0} // {1}",
    "mod": "{0} % {1}",
    "add": "{0} + {1}",
    "mul": "{0} * {1}",
}
_NAN = ", propagate_nan=PROPAGATE_NAN"


class Arithmetic(Protocol):
    """Another way to print operations on values, and numbers."""

    def operands(self, node: Expression) -> tuple[Expression, ...]:
        """Return the operands that ``text`` wants the texts of."""
        ...

    def text(self, node: Expression, args: list[str]) -> str:
        """Return the text of an operation."""
        ...

    def constant(self, node: Expression) -> str:
        """Return the text of a number."""
        ...

    def sources(self) -> list[str]:
        """Return the functions that were called."""
        ...


class Scalars:
    """Prints expressions as lines that compute them.

    Attributes:
        lines: What has been printed.
    """

    def __init__(
        self,
        name: str,
        leaf: Callable[[Expression], str],
        arithmetic: Arithmetic | None = None,
    ) -> None:
        """Start.

        Args:
            name: Stem of the names of what is computed.
            leaf: Leaf (digit, symbol, local) -> its text.
            arithmetic: Prints operations on values; None: Gluon's functions do them.
        """
        self.name, self.leaf, self.arithmetic = name, leaf, arithmetic
        self.lines: list[str] = []
        self._done: dict[int, str] = {}
        self._kept: list[Expression] = []

    def text(self, root: Expression) -> str:
        """Return the text of an expression, a name or a number.

        Raises:
            BuildError: an operation that Gluon has not.
        """
        self._kept.append(root)
        for node in nodes(root):
            if id(node) not in self._done:
                self._done[id(node)] = self._node(node)
        return self._done[id(root)]

    def _node(self, node: Expression) -> str:
        own = self.arithmetic if node.dtype != INDEX else None
        if node.op == "constant":
            return number(node) if own is None else own.constant(node)
        if not node.args:
            return self.leaf(node)
        operands = node.args if own is None else own.operands(node)
        args = [self._done[id(arg)] for arg in operands]
        made = f"{self.name}v{len(self.lines)}"
        text = _operation(node, args) if own is None else own.text(node, args)
        self.lines.append(f"{made} = {text}")
        return made


def number(node: Expression) -> str:
    """Return the text of a constant."""
    value = node.data
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    text = repr(int(value) if node.dtype == INDEX else value)  # type: ignore[call-overload]
    return f"({text})" if text.startswith("-") else text


def _operation(node: Expression, args: Sequence[str]) -> str:
    if node.op in ("add", "mul") and len(args) != 2:
        sign = " + " if node.op == "add" else " * "
        return sign.join(args)
    if node.op in ("cast", "from_index"):
        source = node.args[0]
        if node.dtype == "bool":
            return f"{args[0]} != 0"
        if source.op in ("constant", "symbol"):
            return args[0]
        return f"{args[0]}.to({TYPES[node.dtype]})"
    if node.op == "bitcast":
        return f"{args[0]}.to({TYPES[node.dtype]}, bitcast=True)"
    if node.op == "checked_index":
        return args[0]  # the graph promises that it is in range
    template = _BY_HAND.get(node.op)
    if (
        node.op == "floordiv"
        and node.dtype != INDEX
        and type_class(node.dtype) != "unsigned"
    ):
        template = None
    if template is None:
        row = OPERATIONS.get(node.op)
        found = None if row is None else row.triton
        if isinstance(found, Mapping):
            found = found[type_class(node.args[0].dtype)]
        if found is None or "libdevice" in found:
            raise BuildError(
                f"no Gluon for the operation {node.op!r}; compute it from exp2, log2, "
                "and arithmetic",
                command="gluon",
                output="refused",
            )
        template = found.replace("tl.", "gl.").replace("{t}", TYPES.get(node.dtype, ""))
    is_float = node.dtype != INDEX and type_class(node.dtype) == "float"
    return template.format(*args, nan=_NAN if is_float else "")
