"""How C++ spells types, constants and operations of the table."""

import math
from typing import Final

from compiler.ir.expression import Expression
from compiler.ir.operations import OPERATIONS, type_class
from compiler.ir.scalar import HALF_TYPES, bits

VALUES: Final = {
    "index": "i64",
    "bool": "bool",
    "uint8": "u8",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "float16": "f32",
    "bfloat16": "f32",
    "float32": "f32",
    "float64": "f64",
}
"""Type -> how a value in a register is spelled; a half is the float it equals."""

MEMORY: Final = {**VALUES, "bool": "u8", "float16": "u16", "bfloat16": "u16"}
"""Type -> how an element in memory is spelled."""

_HELPERS: Final = {
    "floordiv": "floordiv",
    "truncdiv": "truncdiv",
    "remainder": "remainder_of",
    "fmod": "fmod_of",
    "maximum": "maximum_of",
    "minimum": "minimum_of",
    "abs": "absolute",
    "sign": "sign",
    "shift_right": "shift_right",
    "random_bits": "random_bits",
}

DIVISIONS: Final = ("floordiv", "truncdiv", "remainder", "fmod")
"""Operations that fail on an integer divisor of 0, as eager mode does."""

_UNSIGNED: Final = {
    "uint8": "u8",
    "int8": "u8",
    "int16": "u16",
    "int32": "u32",
    "int64": "u64",
}


def constant(value: object, dtype: str) -> str:
    """Return a constant of a type.

    Example:
        >>> constant(0.5, "float32"), constant(-1, "int64"), constant(True, "bool")
        ('0x1p-1f', '-1LL', 'true')
    """
    if dtype == "bool":
        return "true" if value else "false"
    if type_class(dtype) == "float":
        number = float(str(value))
        suffix = "" if dtype == "float64" else "f"
        if math.isnan(number):
            return f'__builtin_nan{suffix}("")'
        if math.isinf(number):
            sign = "-" if number < 0 else ""
            return f"{sign}__builtin_inf{suffix}()"
        mantissa, exponent = number.hex().split("p")
        if "." in mantissa:
            mantissa = mantissa.rstrip("0").rstrip(".")
        return f"{mantissa}p{exponent}{suffix}".replace("p+", "p")
    number = int(str(value))
    if dtype in ("int64", "index"):
        return "(-9223372036854775807LL - 1)" if number == -(2**63) else f"{number}LL"
    if dtype == "int32" and number == -(2**31):
        return "(-2147483647 - 1)"
    return str(number) if dtype == "int32" else f"({VALUES[dtype]}){number}"


def loaded(element: str, dtype: str) -> str:
    """Return an element in memory as a value."""
    if dtype == "bool":
        return f"{element} != 0"
    return f"load_{dtype}({element})" if dtype in HALF_TYPES else element


def stored(value: str, dtype: str) -> str:
    """Return a value as an element in memory."""
    return f"store_{dtype}({value})" if dtype in HALF_TYPES else value


def operation(node: Expression, args: list[str]) -> str:
    """Return the text of an operation on values.

    Args:
        node: Neither a leaf nor a load.
        args: Atoms, one for each operand.
    """
    op, dtype = node.op, node.dtype
    source = node.args[0].dtype
    if op == "cast":
        return cast(args[0], source, dtype)
    if op == "bitcast":
        return _bitcast(args[0], source, dtype)
    if op == "guard":
        op = "where"
    kind = type_class(source)
    if op in _HELPERS:
        return f"{_HELPERS[op]}({', '.join(_typed(args, node))})"
    if op == "shift_left":
        kinds = f"{VALUES[dtype]}, {_UNSIGNED[dtype]}"
        return f"shift_left<{kinds}>({', '.join(args)})"
    if op == "isinf":
        suffix = "" if source == "float64" else "f"
        return f"__builtin_fabs{suffix}({args[0]}) == __builtin_inf{suffix}()"
    if op == "signbit":
        if kind == "float":
            wide = "i64" if source == "float64" else "i32"
            return f"__builtin_bit_cast({wide}, {args[0]}) < 0"
        return f"{args[0]} < 0"
    if op == "isnan" and kind != "float":
        return "false"
    if op == "sqrt":
        return f"__builtin_sqrt{'' if dtype == 'float64' else 'f'}({args[0]})"
    if op == "rsqrt":
        return f"1 / __builtin_sqrt{'' if dtype == 'float64' else 'f'}({args[0]})"
    if op in ("exp", "erf", "tanh") and dtype == "float32":
        return f"{op}_f32({args[0]})"
    template = OPERATIONS[op].cpp
    if template is not None and not isinstance(template, str):
        template = template[kind]
    if template is None:
        raise NotImplementedError(f"no C++ for op={op} on {source}")
    text = template.format(*args, f="" if source == "float64" else "f")
    narrow = kind in ("int", "unsigned") and bits(source) < 32 and dtype != "bool"
    return f"({VALUES[dtype]})({text})" if narrow else text


def _typed(args: list[str], node: Expression) -> list[str]:
    """Return operands of a helper template, which needs them of one exact type."""
    return [
        f"({VALUES[arg.dtype]}){text}" if arg.op == "constant" else text
        for text, arg in zip(args, node.args, strict=True)
    ]


def cast(value: str, source: str, dtype: str) -> str:
    """Return a value in another type, rounded or wrapped as torch does it.

    An integer of a float gets a zero added that the compiler cannot see. It takes NaN
    and what the integer has no room for as impossible: with a cast back it would see a
    truncation of the float, and after ``acos`` an integer from 0 to 3.
    """
    if source == dtype:
        return value
    if dtype == "bool":
        return f"{value} != 0"
    if dtype in HALF_TYPES:
        if source in HALF_TYPES or source == "float32":
            return f"round_{dtype}({value})"
        return f"round_{dtype}((f32){value})"
    if type_class(source) == "float" and type_class(dtype) != "float":
        # out of range: the low bits, as the vector units of a processor do it
        wide = "i64" if VALUES[dtype] in ("i64", "u8") else "i32"
        whole = f"(({wide}){value} + nought_{wide})"
        return whole if VALUES[dtype] == wide else f"({VALUES[dtype]}){whole}"
    return f"({VALUES[dtype]}){value}"


def _bitcast(value: str, source: str, dtype: str) -> str:
    if source in HALF_TYPES:
        value, source = f"store_{source}({value})", "int16"
    if source == "bool":
        value = f"(u8){value}"
    if dtype in HALF_TYPES:
        return f"load_{dtype}(__builtin_bit_cast(u16, {value}))"
    if dtype == "bool":
        return f"__builtin_bit_cast(u8, {value}) != 0"
    return f"__builtin_bit_cast({VALUES[dtype]}, {value})"
