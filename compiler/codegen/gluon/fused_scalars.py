"""The fusing compiler's arithmetic in Gluon: the texts that its Triton kernels have.

Assigned kernels and Triton's must agree to the last bit, so both are printed by the
same table and call the same library. Gluon takes Triton's functions; only numbers are
spelled otherwise, because a tensor of no dims would need a layout.
"""

import re
import struct
from typing import Any, cast

from compiler.codegen.triton.emitter import Emitter
from compiler.codegen.triton.operations import operands, operation
from compiler.codegen.triton.printer import helpers
from compiler.codegen.triton.spelling import WIDTHS, constant
from compiler.ir.expression import Expression

from .fused_reductions import COARSE

_FULL = re.compile(r"tl\.full\(\(\), ([^,]+), (tl\.\w+)\)")
_BITS = {"float16": "<e", "float64": "<d"}


class FusedArithmetic:
    """Prints operations as the Triton printer does, and remembers what they call."""

    def __init__(self) -> None:
        self.functions: dict[str, None] = {}
        self.inverses: dict[Expression, str] = {}

    def function(self, name: str) -> str:
        """Return the name of a library function, and remember it."""
        self.functions[name] = None
        return name

    def is_coarse(self, node: Expression) -> bool:
        """Return whether a value is only used rounded to a half type."""
        return node.data == COARSE

    def operands(self, node: Expression) -> tuple[Expression, ...]:
        """Return the operands that :meth:`text` wants the texts of."""
        return operands(node)

    def text(self, node: Expression, args: list[str]) -> str:
        """Return the text of an operation on values.

        Raises:
            BuildError: the operation is unknown.
        """
        if node.op == "from_index":
            return f"{args[0]}.to(tl.{_spelled(node.dtype)})"
        text = operation(cast(Emitter, self), node, args)
        return _FULL.sub(r"gl.to_tensor(\1).to(\2)", text)

    def constant(self, node: Expression) -> str:
        """Return the text of a number, exact in its type."""
        text = constant(node.data, node.dtype)
        if not text.startswith("tl.full("):
            return text
        if node.dtype == "bool":
            return f"gl.to_tensor({bool(node.data)})"
        kind = f"tl.{_spelled(node.dtype)}"
        if not node.dtype.startswith(("float", "bfloat")):
            return f"gl.to_tensor({int(cast(Any, node.data))}).to({kind})"
        width = WIDTHS[node.dtype]
        number = float(cast(Any, node.data))
        if node.dtype == "bfloat16":
            bits = int.from_bytes(struct.pack("<f", number), "little") >> 16
        else:
            packed = struct.pack(_BITS.get(node.dtype, "<f"), number)
            bits = int.from_bytes(packed, "little")
        return f"gl.to_tensor({bits}).to(tl.uint{width}).to({kind}, bitcast=True)"

    def sources(self) -> list[str]:
        """Return the library functions that were used, as Gluon."""
        found = helpers(list(self.functions))
        return [text.replace("@triton.jit", "@gluon.jit") for text in found]


def _spelled(dtype: str) -> str:
    return "int1" if dtype == "bool" else dtype
