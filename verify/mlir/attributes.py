"""Read the values of attributes.

Integers and floats become numbers, ``dense<c>`` a ``Dense``, ``array<i32: 1, 0>`` and
``[...]`` tuples, dictionaries mappings; what has another form is kept as its text.
"""

from dataclasses import dataclass
from typing import Any

from .cursor import Cursor
from .read_types import read_type
from .types import Type


@dataclass(frozen=True, slots=True)
class Dense:
    """``dense<...> : type``.

    Attributes:
        value: A number for all elements, or nested tuples of numbers.
        type: The tensor's type.
    """

    value: Any
    type: Type | None = None


@dataclass(frozen=True, slots=True)
class HexFloat:
    """A float written as its bits, e.g. ``0xFF800000``.

    Attributes:
        bits: The bits as an integer.
    """

    bits: int


def read_dictionary(cursor: Cursor) -> dict[str, Any]:
    """Read ``{name = value, flag, ...}``."""
    cursor.expect("{")
    found: dict[str, Any] = {}
    with cursor.deeper():
        while True:
            cursor.skip_newlines()
            if cursor.accept("}"):
                return found
            if found:
                cursor.expect(",")
                cursor.skip_newlines()
            token = cursor.take()
            if token.kind not in ("word", "string"):
                cursor.index -= 1
                raise cursor.wrong("the name of an attribute")
            name = token.text.strip('"')
            while cursor.at("-"):  # ttg.num-warps
                cursor.take()
                name += "-" + cursor.take().text
            if cursor.peek().kind == "number" and cursor.peek().text.startswith("-"):
                name += cursor.take().text
            found[name] = read_value(cursor) if cursor.accept("=") else True


def read_value(cursor: Cursor) -> Any:
    """Read one value, and the type that follows it where there is one.

    Raises:
        ParseError: no value starts here; names line and construct.
    """
    with cursor.deeper():
        value = _value(cursor)
        if cursor.at(":"):
            cursor.take()
            kind = read_type(cursor)
            if isinstance(value, Dense):
                return Dense(value.value, kind)
        return value


def read_bare_value(cursor: Cursor) -> Any:
    """Read one value, without a type."""
    with cursor.deeper():
        return _value(cursor)


def _value(cursor: Cursor) -> Any:
    token = cursor.peek()
    if token.kind == "number":
        cursor.take()
        return number(token.text)
    if token.kind == "string":
        cursor.take()
        return token.text[1:-1]
    if token.text == "[":
        return _items(cursor, "[", "]")
    if token.text == "{":
        return read_dictionary(cursor)
    if token.kind == "word":
        return _worded(cursor)
    if token.kind in ("hash", "symbol", "type"):
        text = cursor.take().text
        return text + (cursor.raw("<", ">") if cursor.at("<") else "")
    if token.kind == "value":
        return cursor.take().text
    raise cursor.wrong("the value of an attribute")


def _worded(cursor: Cursor) -> Any:
    text = cursor.take().text
    if text in ("true", "false"):
        return text == "true"
    if text == "dense" and cursor.at("<"):
        cursor.take()
        value = () if cursor.at(">") else _value(cursor)
        cursor.expect(">")
        return Dense(value)
    if text == "array" and cursor.at("<"):
        cursor.take()
        read_type(cursor)
        values: list[Any] = []
        if cursor.accept(":"):
            values.append(_value(cursor))
            while cursor.accept(","):
                values.append(_value(cursor))
        cursor.expect(">")
        return tuple(values)
    return text + (cursor.raw("<", ">") if cursor.at("<") else "")


def _items(cursor: Cursor, opening: str, closing: str) -> tuple[Any, ...]:
    cursor.expect(opening)
    values: list[Any] = []
    while not cursor.accept(closing):
        if values:
            cursor.expect(",")
        values.append(read_value(cursor))
    return tuple(values)


def number(text: str) -> int | float | HexFloat:
    """Return what a number token stands for.

    Example:
        >>> number("-7"), number("1.5e0"), number("0x7FC00000")
        (-7, 1.5, HexFloat(bits=2143289344))
    """
    if text.startswith("0x"):
        return HexFloat(int(text, 16))
    return float(text) if any(c in text for c in ".eE") else int(text)
