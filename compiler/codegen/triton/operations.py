"""Scalar operations as Triton text: the table's templates, and some by hand."""

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from compiler.errors import BuildError
from compiler.ir.expression import Expression
from compiler.ir.operations import OPERATIONS, type_class

from .spelling import TYPES, WIDTHS, atom

if TYPE_CHECKING:
    from .emitter import Emitter

Writer = Callable[["Emitter", Expression, list[str]], str]


def operation(emitter: "Emitter", node: Expression, args: list[str]) -> str:
    """Return the text of an operation on operands.

    Args:
        emitter: Learns which library functions are needed.
        node: The operation.
        args: Texts of the operands.

    Raises:
        BuildError: the operation is unknown.
    """
    args = [atom(arg) for arg in args]
    writer = _BY_HAND.get(node.op)
    if writer is not None:
        return writer(emitter, node, args)
    row = OPERATIONS.get(node.op)
    template = None if row is None else row.triton
    if isinstance(template, Mapping):
        template = template[type_class(node.args[0].dtype)]
    if template is None:
        raise BuildError(
            f"no Triton for the operation {node.op!r}",
            command="triton",
            output="refused",
        )
    return template.format(*args, t=TYPES.get(node.dtype, ""))


def _is_float(node: Expression) -> bool:
    return type_class(node.args[0].dtype) == "float"


def _divide(emitter: "Emitter", node: Expression, args: list[str]) -> str:
    divisor = node.args[1]
    if divisor.op == "constant":
        mantissa, exponent = math.frexp(float(str(divisor.data)))
        if abs(mantissa) == 0.5 and abs(exponent) < 100:
            return f"{args[0]} * {atom(repr(1 / float(str(divisor.data))))}"
    inverse = emitter.inverses.get(divisor)
    coarse = emitter.is_coarse(node)
    if coarse and inverse is not None:
        return f"{args[0]} * {inverse}"
    if coarse and _is_one_plus_exp(divisor):
        return f"{args[0]} * {emitter.function('inverse_fast')}({args[1]})"
    if inverse is not None:
        name = emitter.function("quotient_by")
        return f"{name}({args[0]}, {args[1]}, {inverse})"
    if node.dtype == "float64":
        return f"{args[0]} / {args[1]}"
    return f"tl.div_rn({args[0]}, {args[1]})"


def _is_one_plus_exp(value: Expression) -> bool:
    """Return whether a value is at least 1 as the divisor of a sigmoid is."""
    if value.op != "add":
        return False
    for one, exponential in (value.args, value.args[::-1]):
        if one.op == "constant" and float(str(one.data)) >= 1:
            return exponential.op == "exp"
    return False


def _floordiv(emitter: "Emitter", node: Expression, args: list[str]) -> str:
    kind = type_class(node.dtype)
    if kind == "float":
        function = emitter.function("float_floor_divide")
        return f"{function}({args[0]}, {args[1]}, {_divide(emitter, node, args)})"
    if kind == "unsigned":
        return f"{args[0]} // {args[1]}"
    return f"{emitter.function('floor_divide')}({args[0]}, {args[1]})"


def _truncdiv(emitter: "Emitter", node: Expression, args: list[str]) -> str:
    if _is_float(node):
        return f"libdevice.trunc({_divide(emitter, node, args)})"
    return f"{args[0]} // {args[1]}"


def _remainder(emitter: "Emitter", node: Expression, args: list[str]) -> str:
    kind = type_class(node.dtype)
    if kind == "unsigned":
        return f"{args[0]} % {args[1]}"
    name = "float_remainder" if kind == "float" else "floor_remainder"
    return f"{emitter.function(name)}({args[0]}, {args[1]})"


def _fmod(emitter: "Emitter", node: Expression, args: list[str]) -> str:
    if _is_float(node):
        return f"libdevice.fmod({args[0]}, {args[1]})"
    return f"{args[0]} % {args[1]}"


def _extreme(emitter: "Emitter", node: Expression, args: list[str]) -> str:
    if node.dtype == "bool":
        return f" {'|' if node.op == 'maximum' else '&'} ".join(args)
    nan = ", propagate_nan=tl.PropagateNan.ALL" if _is_float(node) else ""
    return f"tl.{node.op}({args[0]}, {args[1]}{nan})"


def _shift(emitter: "Emitter", node: Expression, args: list[str]) -> str:
    name = node.op
    if name == "shift_right" and type_class(node.dtype) == "unsigned":
        name = "unsigned_shift_right"
    return f"{emitter.function(name)}({args[0]}, {args[1]}, {WIDTHS[node.dtype]})"


def _exp(emitter: "Emitter", node: Expression, args: list[str]) -> str:
    if emitter.is_coarse(node):
        return f"{emitter.function('exp_fast')}({args[0]})"
    return f"libdevice.exp({args[0]})"


def _sign(emitter: "Emitter", node: Expression, args: list[str]) -> str:
    return f"{emitter.function('sign')}({args[0]})"


def _isinf(emitter: "Emitter", node: Expression, args: list[str]) -> str:
    return f'tl.abs({args[0]}) == float("inf")'


def _signbit(emitter: "Emitter", node: Expression, args: list[str]) -> str:
    dtype = node.args[0].dtype
    if type_class(dtype) != "float":
        return f"{args[0]} < 0"
    bits = f"tl.int{WIDTHS[dtype]}"
    return f"{args[0]}.to({bits}, bitcast=True) < 0"


def _cast(emitter: "Emitter", node: Expression, args: list[str]) -> str:
    source = node.args[0]
    if node.dtype == "bool":
        return f"{args[0]} != 0"
    if source.op == "constant":
        from .spelling import constant

        return (
            constant(source.data, source.dtype)
            if source.dtype == node.dtype
            else (
                f"tl.full((), {args[0]}, {TYPES[source.dtype]}).to({TYPES[node.dtype]})"
            )
        )
    return f"{args[0]}.to({TYPES[node.dtype]})"


def _bitcast(emitter: "Emitter", node: Expression, args: list[str]) -> str:
    source = node.args[0]
    value = args[0]
    if source.op == "constant":
        value = f"tl.full((), {value}, {TYPES[source.dtype]})"
    return f"{value}.to({TYPES[node.dtype]}, bitcast=True)"


def _plus_one(node: Expression) -> Expression | None:
    """Return u where the node is erf(u) + 1 of float32, else None."""
    if node.op != "add" or node.dtype != "float32":
        return None
    for left, right in (node.args, node.args[::-1]):
        if left.op == "erf" and right.op == "constant" and right.data == 1:
            return left.args[0]
    return None


def operands(node: Expression) -> tuple[Expression, ...]:
    """Return the operands that :func:`operation` wants the texts of.

    A guard's value is printed apart, under the guard.
    """
    inner = _plus_one(node)
    if inner is not None:
        return (inner,)
    return node.args[::2] if node.op == "guard" else node.args


def _add(emitter: "Emitter", node: Expression, args: list[str]) -> str:
    if len(args) == 1:
        return f"{emitter.function('erf_plus_one')}({args[0]})"
    return f"{args[0]} + {args[1]}"


def _erf(emitter: "Emitter", node: Expression, args: list[str]) -> str:
    if node.dtype == "float64":
        return f"libdevice.erf({args[0]})"
    return f"{emitter.function('erf')}({args[0]})"


def _random(emitter: "Emitter", node: Expression, args: list[str]) -> str:
    return f"{emitter.function('random_bits')}({args[0]}, {args[1]})"


def _wide_math(emitter: "Emitter", node: Expression, args: list[str]) -> str:
    if node.dtype == "float32":
        name = {"exp2": "tl.exp2", "sqrt": "tl.sqrt_rn"}[node.op]
        return f"{name}({args[0]})"
    return f"libdevice.{node.op}({args[0]})"


_BY_HAND: Final[Mapping[str, Writer]] = {
    "truediv": _divide,
    "floordiv": _floordiv,
    "truncdiv": _truncdiv,
    "remainder": _remainder,
    "fmod": _fmod,
    "maximum": _extreme,
    "minimum": _extreme,
    "shift_left": _shift,
    "shift_right": _shift,
    "sign": _sign,
    "isinf": _isinf,
    "signbit": _signbit,
    "cast": _cast,
    "bitcast": _bitcast,
    "add": _add,
    "erf": _erf,
    "exp": _exp,
    "random_bits": _random,
    "exp2": _wide_math,
    "sqrt": _wide_math,
}
