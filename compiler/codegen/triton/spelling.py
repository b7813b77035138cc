"""How Triton spells types, constants and names."""

import keyword
import math
import re
from typing import Final

from compiler.ir.operations import type_class

TYPES: Final = {
    "bool": "tl.int1",
    "uint8": "tl.uint8",
    "int8": "tl.int8",
    "int16": "tl.int16",
    "int32": "tl.int32",
    "int64": "tl.int64",
    "float16": "tl.float16",
    "bfloat16": "tl.bfloat16",
    "float32": "tl.float32",
    "float64": "tl.float64",
}
"""Value type -> name inside a kernel."""

POINTERS: Final = {
    "bool": "*i1",
    "uint8": "*u8",
    "int8": "*i8",
    "int16": "*i16",
    "int32": "*i32",
    "int64": "*i64",
    "float16": "*fp16",
    "bfloat16": "*bf16",
    "float32": "*fp32",
    "float64": "*fp64",
}
"""Value type -> pointer in a kernel's signature."""

WIDTHS: Final = {
    "bool": 8,
    "uint8": 8,
    "int8": 8,
    "int16": 16,
    "int32": 32,
    "int64": 64,
    "float16": 16,
    "bfloat16": 16,
    "float32": 32,
    "float64": 64,
}
"""Value type -> width in memory [bits]."""

_RESERVED: Final = {"tl", "triton", "libdevice", "x", "y", "r", "program", "start"}
_SMALLEST_NORMAL: Final = 2.0**-126


def constant(value: object, dtype: str) -> str:
    """Return a constant of a value type.

    Python literals stand for float32, int32 and bool, as Triton takes them; all other
    types are spelled out, so that no promotion is left to chance.

    Example:
        >>> constant(0.5, "float32"), constant(3, "int64")
        ('0.5', 'tl.full((), 3, tl.int64)')
    """
    if dtype == "bool":
        return f"tl.full((), {bool(value)}, tl.int1)"
    if type_class(dtype) in ("int", "unsigned"):
        text = str(int(str(value)))
        return text if dtype == "int32" else f"tl.full((), {text}, {TYPES[dtype]})"
    number = float(str(value))
    if math.isnan(number):
        text = 'float("nan")'
    elif math.isinf(number):
        text = 'float("inf")' if number > 0 else 'float("-inf")'
    else:
        text = repr(number)
    normal = number == 0 or abs(number) >= _SMALLEST_NORMAL
    # NaN as a bare literal would be a float64 to some releases
    if dtype == "float32" and normal and not math.isnan(number):
        return text
    return f"tl.full((), {text}, {TYPES[dtype]})"


def identifier(name: str, taken: set[str]) -> str:
    """Return a fresh Python name close to ``name``, and take it.

    Example:
        >>> taken = set()
        >>> identifier("x", taken), identifier("primals::1", taken)
        ('x_', 'primals_1')
    """
    word = re.sub(r"\W+", "_", name) or "value"
    if word[0].isdigit():
        word = "_" + word
    if word in _RESERVED or keyword.iskeyword(word):
        word += "_"
    fresh, number = word, 1
    while fresh in taken:
        number += 1
        fresh = f"{word}_{number}"
    taken.add(fresh)
    return fresh


def atom(text: str) -> str:
    """Return the text in parentheses unless it binds tightest already.

    Example:
        >>> atom("a + b"), atom("tl.exp(a + b)"), atom("f(a) + f(b)")
        ('(a + b)', 'tl.exp(a + b)', '(f(a) + f(b))')
    """
    if re.fullmatch(r"[\w.]+", text):
        return text
    if re.match(r"[\w.]+\(", text) and text.endswith(")"):
        depth = 0
        for place, letter in enumerate(text):
            depth += (letter == "(") - (letter == ")")
            if letter == ")" and depth == 0:
                return text if place == len(text) - 1 else f"({text})"
    return f"({text})"


def neutral(reducer: str, dtype: str) -> str:
    """Return what changes nothing when it is reduced."""
    if reducer in ("sum", "any", "xor"):
        return constant(0, dtype)
    if reducer in ("product", "all"):
        return constant(1, dtype)
    least = reducer in ("maximum", "argmax", "online_softmax")
    if type_class(dtype) == "float":
        return constant(float("-inf") if least else float("inf"), dtype)
    if dtype == "bool":
        return constant(not least, dtype)
    width = WIDTHS[dtype]
    low = 0 if dtype.startswith("u") else -(1 << (width - 1))
    high = low + (1 << width) - 1
    return constant(low if least else high, dtype)
