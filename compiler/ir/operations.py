"""The one table of scalar operations.

The evaluator, the printers and the solver's encoder read it; an operation that is not
here does not exist. Floating arithmetic is on float32 and float64 only: a half type is
cast up before and cast down, which rounds, after. Integer arithmetic wraps in its type.

In a template ``{0}``, ``{1}``, ``{2}`` are the operands, each an atom or in
parentheses, ``{t}`` the result's type as the target spells it, ``{f}`` the suffix of
a C math function (``f`` for float32, nothing for float64). A template may be a mapping
from a class of the first operand's type (see :func:`type_class`) to the text.
"""

import math
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import torch

Template: TypeAlias = str | Mapping[str, str] | None
"""Text of an operation for a target; None where the printer writes it by hand."""


@dataclass(frozen=True, slots=True)
class Operation:
    """A scalar operation.

    Attributes:
        name: Key of the table.
        arity: Number of operands.
        result: ``"same"`` as the first operand, ``"second"``: as the second, or
            ``"bool"``, or ``"given"``: stands in the expression.
        evaluate: The operation on torch tensors, None where it needs the expression.
        cpp: Template for C++.
        triton: Template for Triton.
        cost: Rough number of machine instructions.
    """

    name: str
    arity: int
    result: str
    evaluate: Callable[..., torch.Tensor] | None
    cpp: Template
    triton: Template
    cost: int = 1


def _floor_divide(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    return torch.div(left, right, rounding_mode="floor")


def _truncated(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    return torch.div(left, right, rounding_mode="trunc")


def _fused(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
    """Return ``x * y + z`` rounded once; float64 arrays are rounded twice."""
    if x.dim() == y.dim() == z.dim() == 0:
        odd = x.dtype != torch.float64
        number = _fused_number(x.item(), y.item(), z.item(), odd)
        return torch.tensor(number, dtype=torch.float64).to(x.dtype)
    if x.dtype == torch.float32:
        return (x.double() * y.double() + z.double()).float()
    return x * y + z


def _larger(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.where((x >= y) | x.isnan(), x, y)


def _smaller(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.where((x <= y) | x.isnan(), x, y)


def _fused_number(x: float, y: float, z: float, odd: bool) -> float:
    """Return ``x * y + z`` as a float64: the nearest, or what may be rounded again.

    Args:
        x: Factor.
        y: Factor.
        z: Summand.
        odd: Of the two around the exact result, the one whose last bit is 1: rounded
            to a shorter type, that is the exact result rounded once. Source: S. Boldo,
            G. Melquiond, Emulation of a FMA and correctly rounded sums (2008).
    """
    if not all(map(math.isfinite, (x, y, z))):
        return x * y + z
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    if exact == 0:
        return x * y + z  # which has a sign
    try:
        found = float(exact)
    except OverflowError:
        return math.copysign(math.inf, exact)
    even = not struct.unpack("<q", struct.pack("<d", found))[0] & 1
    if odd and even and Fraction(found) != exact:
        found = math.nextafter(found, math.copysign(math.inf, exact - Fraction(found)))
    return found


_ = Operation
_TABLE = [
    # arithmetic
    _("add", 2, "same", torch.add, "{0} + {1}", "{0} + {1}"),
    _("sub", 2, "same", torch.sub, "{0} - {1}", "{0} - {1}"),
    _("mul", 2, "same", torch.mul, "{0} * {1}", "{0} * {1}"),
    _("truediv", 2, "same", torch.true_divide, "{0} / {1}", "tl.div_rn({0}, {1})", 8),
    # floor division and remainder of floats follow torch (fmod-based), not floor(a/b)
    _("floordiv", 2, "same", _floor_divide, None, None, 10),
    _("truncdiv", 2, "same", _truncated, None, None, 10),
    _("remainder", 2, "same", torch.remainder, None, None, 10),
    _("fmod", 2, "same", torch.fmod, None, None, 10),
    # Triton's own minus subtracts from 0, and 0 - 0 has lost the sign; so has -0.0
    _(
        "neg",
        1,
        "same",
        torch.neg,
        "-{0}",
        {"float": "{0} * -1.0", "int": "-{0}", "unsigned": "-{0}"},
    ),
    _("abs", 1, "same", torch.abs, None, "tl.abs({0})"),
    _("sign", 1, "same", torch.sign, None, None, 3),
    # NaN wins; which of two zeros is taken, no compiler promises: here the first
    _("maximum", 2, "same", _larger, None, None, 2),
    _("minimum", 2, "same", _smaller, None, None, 2),
    # one rounding
    _(
        "fma",
        3,
        "same",
        _fused,
        "__builtin_fma{f}({0}, {1}, {2})",
        "tl.fma({0}, {1}, {2})",
    ),
    # comparisons and tests: operands of one type
    _("eq", 2, "bool", torch.eq, "{0} == {1}", "{0} == {1}"),
    _("ne", 2, "bool", torch.ne, "{0} != {1}", "{0} != {1}"),
    _("lt", 2, "bool", torch.lt, "{0} < {1}", "{0} < {1}"),
    _("le", 2, "bool", torch.le, "{0} <= {1}", "{0} <= {1}"),
    _("gt", 2, "bool", torch.gt, "{0} > {1}", "{0} > {1}"),
    _("ge", 2, "bool", torch.ge, "{0} >= {1}", "{0} >= {1}"),
    _("isnan", 1, "bool", torch.isnan, "{0} != {0}", "{0} != {0}"),
    _("isinf", 1, "bool", torch.isinf, None, None),
    _("signbit", 1, "bool", torch.signbit, None, None),
    # bits and truth
    _("bitwise_and", 2, "same", torch.bitwise_and, "{0} & {1}", "{0} & {1}"),
    _("bitwise_or", 2, "same", torch.bitwise_or, "{0} | {1}", "{0} | {1}"),
    _("bitwise_xor", 2, "same", torch.bitwise_xor, "{0} ^ {1}", "{0} ^ {1}"),
    _(
        "bitwise_not",
        1,
        "same",
        torch.bitwise_not,
        {"bool": "!{0}", "int": "~{0}", "unsigned": "~{0}"},
        {"bool": "{0} == 0", "int": "~{0}", "unsigned": "~{0}"},
    ),
    # shifts by the width or more give 0, or the sign, as torch does
    _("shift_left", 2, "same", torch.bitwise_left_shift, None, None),
    _("shift_right", 2, "same", torch.bitwise_right_shift, None, None),
    # choice: operands are condition, then, else; both are evaluated
    _("where", 3, "second", torch.where, "{0} ? {1} : {2}", "tl.where({0}, {1}, {2})"),
    # guard(condition, value, other): value's loads happen only where condition holds
    _("guard", 3, "second", None, None, None),
    # between types
    _("cast", 1, "given", None, None, None),
    _("bitcast", 1, "given", None, None, None),
    _("from_index", 1, "given", None, None, None),
    # an index from a value: operands (value, extent); data is True where negative
    # values count from the end; outside the extent is the caller's IndexError
    _("checked_index", 2, "given", None, None, None, 3),
    # uniform bits: operands (seed, offset) of int64, one 32-bit word for each offset
    _("random_bits", 2, "given", None, None, None, 40),
    # functions of float32 and float64
    _("exp", 1, "same", torch.exp, "exp{f}({0})", "libdevice.exp({0})", 8),
    _("exp2", 1, "same", torch.exp2, "exp2{f}({0})", "tl.exp2({0})", 6),
    _("expm1", 1, "same", torch.expm1, "expm1{f}({0})", "libdevice.expm1({0})", 12),
    _("log", 1, "same", torch.log, "log{f}({0})", "libdevice.log({0})", 8),
    _("log2", 1, "same", torch.log2, "log2{f}({0})", "libdevice.log2({0})", 8),
    _("log10", 1, "same", torch.log10, "log10{f}({0})", "libdevice.log10({0})", 8),
    _("log1p", 1, "same", torch.log1p, "log1p{f}({0})", "libdevice.log1p({0})", 12),
    _("sqrt", 1, "same", torch.sqrt, "sqrt{f}({0})", "tl.sqrt_rn({0})", 6),
    _("rsqrt", 1, "same", torch.rsqrt, "1 / sqrt{f}({0})", "libdevice.rsqrt({0})", 6),
    _("sin", 1, "same", torch.sin, "sin{f}({0})", "libdevice.sin({0})", 12),
    _("cos", 1, "same", torch.cos, "cos{f}({0})", "libdevice.cos({0})", 12),
    _("tan", 1, "same", torch.tan, "tan{f}({0})", "libdevice.tan({0})", 16),
    _("asin", 1, "same", torch.asin, "asin{f}({0})", "libdevice.asin({0})", 16),
    _("acos", 1, "same", torch.acos, "acos{f}({0})", "libdevice.acos({0})", 16),
    _("atan", 1, "same", torch.atan, "atan{f}({0})", "libdevice.atan({0})", 16),
    _(
        "atan2",
        2,
        "same",
        torch.atan2,
        "atan2{f}({0}, {1})",
        "libdevice.atan2({0}, {1})",
        20,
    ),
    _("sinh", 1, "same", torch.sinh, "sinh{f}({0})", "libdevice.sinh({0})", 16),
    _("cosh", 1, "same", torch.cosh, "cosh{f}({0})", "libdevice.cosh({0})", 16),
    _("tanh", 1, "same", torch.tanh, "tanh{f}({0})", "libdevice.tanh({0})", 12),
    _("asinh", 1, "same", torch.asinh, "asinh{f}({0})", "libdevice.asinh({0})", 20),
    _("acosh", 1, "same", torch.acosh, "acosh{f}({0})", "libdevice.acosh({0})", 20),
    _("atanh", 1, "same", torch.atanh, "atanh{f}({0})", "libdevice.atanh({0})", 20),
    _("erf", 1, "same", torch.erf, "erf{f}({0})", "libdevice.erf({0})", 16),
    _("erfc", 1, "same", torch.erfc, "erfc{f}({0})", "libdevice.erfc({0})", 20),
    _("lgamma", 1, "same", torch.lgamma, "lgamma{f}({0})", "libdevice.lgamma({0})", 40),
    _("pow", 2, "same", torch.pow, "pow{f}({0}, {1})", "libdevice.pow({0}, {1})", 24),
    _(
        "hypot",
        2,
        "same",
        torch.hypot,
        "hypot{f}({0}, {1})",
        "libdevice.hypot({0}, {1})",
        16,
    ),
    _(
        "copysign",
        2,
        "same",
        torch.copysign,
        "__builtin_copysign{f}({0}, {1})",
        "libdevice.copysign({0}, {1})",
    ),
    _(
        "floor",
        1,
        "same",
        torch.floor,
        "__builtin_floor{f}({0})",
        "libdevice.floor({0})",
    ),
    _("ceil", 1, "same", torch.ceil, "__builtin_ceil{f}({0})", "libdevice.ceil({0})"),
    _(
        "trunc",
        1,
        "same",
        torch.trunc,
        "__builtin_trunc{f}({0})",
        "libdevice.trunc({0})",
    ),
    # halves to even
    _(
        "round",
        1,
        "same",
        torch.round,
        "__builtin_nearbyint{f}({0})",
        "libdevice.nearbyint({0})",
    ),
]

OPERATIONS: Mapping[str, Operation] = {row.name: row for row in _TABLE}
"""Name -> operation."""


def type_class(dtype: str) -> str:
    """Return ``"float"``, ``"int"``, ``"unsigned"``, ``"bool"`` or ``"index"``."""
    if dtype in ("bool", "index"):
        return dtype
    if dtype.startswith("uint"):
        return "unsigned"
    return "int" if dtype.startswith("int") else "float"
