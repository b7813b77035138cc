"""Typed constructors of values: each checks its operands and folds constants.

Operands of an operation have the same type: a lowering casts before, as eager mode
promotes. Floating arithmetic is on float32 and float64: a half type is cast up before
and cast down, which rounds, after. Only identities that are exact for every value
(NaN, infinities, signed zeros, wrap-around) are applied.
"""

import math
from ctypes import c_float

import torch

from .expression import INDEX, NARROW_TYPES, VALUE_TYPES, Expression, make
from .index import Index, constant_value, index
from .operations import OPERATIONS, type_class

HALF_TYPES = ("float16", "bfloat16")
"""Types that are stored but never computed in."""

FLOAT_TYPES = ("float16", "bfloat16", "float32", "float64")
"""All floating types."""

_ANY_TYPE = ("where", "guard")
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_ON_BOOL = (
    *("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not"),
    *_COMPARISONS,
)
_ON_INTEGERS = (
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "bitwise_not",
    "shift_left",
    "shift_right",
)
_ON_BOTH = (
    *("add", "sub", "mul", "floordiv", "truncdiv", "remainder", "fmod", "neg", "abs"),
    *("sign", "maximum", "minimum"),
    *_COMPARISONS,
)
_BITS = {
    "bool": 8,
    **dict.fromkeys(NARROW_TYPES, 8),
    "uint8": 8,
    "int8": 8,
    "int16": 16,
    "float16": 16,
    "bfloat16": 16,
    "int32": 32,
    "float32": 32,
    "int64": 64,
    "float64": 64,
}


def bits(dtype: str) -> int:
    """Return the width of a value type in memory [bits]."""
    return _BITS[dtype]


def torch_type(dtype: str) -> torch.dtype:
    """Return torch's type of the same name."""
    found: torch.dtype = getattr(torch, dtype)
    return found


def type_name(dtype: torch.dtype) -> str:
    """Return the value type of a torch type.

    Raises:
        ValueError: it is none of ours (complex, quantised, float8, ...).
    """
    name = str(dtype).removeprefix("torch.")
    if name not in VALUE_TYPES:
        raise ValueError(f"needed one of {', '.join(VALUE_TYPES)}, got dtype={name}")
    return name


def compute_type(dtype: str) -> str:
    """Return the type to compute in: float32 for a half type, else the type."""
    return "float32" if dtype in HALF_TYPES else dtype


def constant(value: bool | int | float, dtype: str) -> Expression:
    """Return the constant, rounded or wrapped into its type.

    Example:
        >>> constant(300, "uint8"), constant(0.1, "float16")
        (44, 0.0999755859375)
    """
    kind = type_class(dtype)
    if kind == "bool":
        return make("constant", (), dtype, bool(value))
    if kind == "float":
        rounded = float(value)
        if dtype == "float32" and math.isfinite(rounded):
            rounded = c_float(rounded).value
        elif dtype != "float64" and math.isfinite(rounded):
            rounded = float(
                torch.tensor(rounded, dtype=torch.float64).to(torch_type(dtype))
            )
        return make("constant", (), dtype, rounded)
    width = _BITS[dtype]
    low = 0 if kind == "unsigned" else -(1 << (width - 1))
    return make("constant", (), dtype, (int(value) - low) % (1 << width) + low)


def value_of(value: Expression) -> bool | int | float | None:
    """Return the value of a constant, None for anything else."""
    if value.op != "constant":
        return None
    found = value.data
    if not isinstance(found, (bool, int, float)):
        raise TypeError(f"a constant holds a number, got {found!r}")
    return found


def load(buffer: str, indices: tuple[Index, ...], dtype: str) -> Expression:
    """Return an element of a buffer: one index for each of its dims."""
    return make("load", tuple(index(i) for i in indices), _value(dtype), buffer)


def local(name: str, dtype: str) -> Expression:
    """Return the result of an earlier stage of the same kernel."""
    return make("local", (), _value(dtype), name)


def from_index(value: Index, dtype: str) -> Expression:
    """Return an index as a value; it wraps in its type."""
    value = index(value)
    known = constant_value(value)
    if known is not None:
        return constant(known, dtype)
    return make("from_index", (value,), _value(dtype))


def checked_index(value: Expression, extent: Index, wrap: bool = True) -> Expression:
    """Return an index in [0, extent) from an integer value.

    Args:
        value: Of an integer type.
        extent: Exclusive bound [elements].
        wrap: Whether negative values count from the end.

    A value outside raises the caller's IndexError when the kernel runs.
    """
    if type_class(value.dtype) not in ("int", "unsigned"):
        raise TypeError(f"an index comes from an integer, got dtype={value.dtype}")
    return make("checked_index", (value, index(extent)), INDEX, wrap)


def random_bits(seed: Expression, offset: Expression) -> Expression:
    """Return 32 uniform bits as an int32.

    The first word of Philox-4x32-10 with the seed as key and the counter
    (offset, 0), low word first, as Triton's ``randint`` gives it.
    """
    if (seed.dtype, offset.dtype) != ("int64", "int64"):
        raise TypeError(
            f"seed and offset are int64, got {seed.dtype} and {offset.dtype}"
        )
    return make("random_bits", (seed, offset), "int32")


def cast(value: Expression, dtype: str) -> Expression:
    """Return the value in another type, rounded or wrapped as torch does it.

    A cast up and back down to the first type is the identity; a cast down and back up
    rounds and stays.

    Example:
        >>> x = load("x", (0,), "float32")
        >>> cast(cast(x, "float64"), "float32") is x
        True
        >>> cast(cast(x, "float16"), "float32")
        cast(cast(x[0]):float16):float32
    """
    if value.dtype == _value(dtype):
        return value
    known = value_of(value)
    if known is not None and not (
        type_class(dtype) in ("int", "unsigned")
        and isinstance(known, float)
        and not abs(known) < 2 ** (_BITS[dtype] - 1)
    ):
        tensor = torch.tensor(known, dtype=torch_type(value.dtype))
        return constant(tensor.to(torch_type(dtype)).item(), dtype)
    if value.op == "cast":
        inner = value.args[0]
        if inner.dtype == dtype and widens(dtype, value.dtype):
            return inner
        if widens(inner.dtype, value.dtype) and widens(value.dtype, dtype):
            return cast(inner, dtype)
    return make("cast", (value,), dtype)


def widens(narrow: str, wide: str) -> bool:
    """Return whether each value of one type is a value of the other.

    Example:
        >>> widens("float16", "float32"), widens("int32", "float32")
        (True, False)
    """
    if narrow == wide or narrow == "bool":
        return True
    if wide == "bool" or wide in NARROW_TYPES:
        return False
    if narrow in NARROW_TYPES:
        return wide in ("float32", "float64")
    kinds = type_class(narrow), type_class(wide)
    if kinds == ("float", "float"):
        return wide == "float64" or (narrow in HALF_TYPES and wide not in HALF_TYPES)
    precision = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
    if kinds[1] == "float":
        width = _BITS[narrow] - (kinds[0] == "int")
        return kinds[0] != "float" and width <= precision[wide]
    if kinds[0] == "float" or kinds == ("int", "unsigned"):
        return False
    return _BITS[narrow] < _BITS[wide]


def bitcast(value: Expression, dtype: str) -> Expression:
    """Return the same bits read as another type of the same width."""
    if _BITS[value.dtype] != _BITS[_value(dtype)]:
        raise TypeError(f"needed types of one width, got {value.dtype} and {dtype}")
    return value if value.dtype == dtype else make("bitcast", (value,), dtype)


def apply(op: str, *operands: Expression) -> Expression:
    """Return an operation of the table on values.

    Args:
        op: A key of the operation table whose result type follows from its operands.
        operands: Values of one type (``where``, ``guard``: a bool and two of a type).

    Raises:
        TypeError: their number or types are not the operation's.

    Example:
        >>> x = load("x", (0,), "int32")
        >>> apply("add", x, constant(0, "int32")) is x
        True
        >>> apply("mul", constant(3, "int32"), constant(4, "int32"))
        12
    """
    row = OPERATIONS.get(op)
    if row is None or row.result == "given":
        raise TypeError(f"no operation of this form: op={op}")
    if len(operands) != row.arity:
        raise TypeError(f"{op} takes {row.arity} operands, got {len(operands)}")
    typed = operands[1:] if op in _ANY_TYPE else operands
    if any(v.dtype != typed[0].dtype for v in typed) or typed[0].dtype == INDEX:
        found = ", ".join(v.dtype for v in operands)
        raise TypeError(f"operands of {op} have one value type, got {found}; cast")
    if op in _ANY_TYPE:
        return _choice(op, *operands)
    _supported(op, operands[0].dtype)
    dtype = "bool" if row.result == "bool" else operands[0].dtype
    simple = _identity(op, operands)
    if simple is not None:
        return simple
    if row.evaluate is not None and all(v.op == "constant" for v in operands):
        return _folded(op, operands, dtype)
    return make(op, operands, dtype)


def _value(dtype: str) -> str:
    if dtype not in VALUE_TYPES and dtype not in NARROW_TYPES:
        raise TypeError(f"needed a value type, got dtype={dtype}")
    return dtype


def _supported(op: str, dtype: str) -> None:
    kind = type_class(dtype)
    if kind == "bool":
        good = op in _ON_BOOL
    elif kind == "float":
        stored = dtype in HALF_TYPES or dtype in NARROW_TYPES
        good = not stored and op not in _ON_INTEGERS
    else:
        good = op in _ON_INTEGERS or op in _ON_BOTH
    if not good:
        raise TypeError(f"{op} is not defined on {dtype}; cast first")


def _choice(
    op: str, condition: Expression, then: Expression, other: Expression
) -> Expression:
    if condition.dtype != "bool":
        raise TypeError(f"the condition of {op} is bool, got {condition.dtype}")
    known = value_of(condition)
    if known is not None:
        return then if known else other
    if then is other and op == "where":
        return then
    return make(op, (condition, then, other), then.dtype)


def _identity(op: str, operands: tuple[Expression, ...]) -> Expression | None:
    """Return what an exact identity gives, None if none applies."""
    if len(operands) == 1:
        return None
    left, right = operands[0], operands[1]
    a, b = value_of(left), value_of(right)
    exact = type_class(left.dtype) in ("int", "unsigned")
    if op == "add" and exact and (a == 0 or b == 0):
        return right if a == 0 else left
    if op == "sub" and exact and b == 0:
        return left
    if op == "mul":
        if a == 1 or b == 1:
            return right if a == 1 else left
        if exact and (a == 0 or b == 0):
            return left if a == 0 else right
    if op == "truediv" and b == 1:
        return left
    if op in ("bitwise_and", "bitwise_or") and left.dtype == "bool":
        for known, other in ((a, right), (b, left)):
            if known is not None:
                constant_wins = bool(known) == (op == "bitwise_or")
                return constant(bool(known), "bool") if constant_wins else other
    if op in ("maximum", "minimum", "bitwise_and", "bitwise_or") and left is right:
        return left
    return None


def _folded(op: str, operands: tuple[Expression, ...], dtype: str) -> Expression:
    evaluate = OPERATIONS[op].evaluate
    if evaluate is None:
        raise TypeError(f"{op} is not evaluated on constants")
    tensors = [torch.tensor(value_of(v), dtype=torch_type(v.dtype)) for v in operands]
    try:
        result = evaluate(*tensors).item()
    except RuntimeError:  # an integer division by zero stays, and fails when it runs
        return make(op, operands, dtype)
    return constant(result, dtype)
