"""The way CuTe prints layouts: ``((4,8),(2,2)):((32,1),(16,8))``.

    layout  = [swizzle "o" [offset "o"]] tree [":" tree]
    swizzle = ("Sw" | "S" | "Swizzle") "<" int "," int "," int ">"
    tree    = int | "(" tree {"," tree} [","] ")"

An int may have a leading underscore (a static int), which is dropped; ``o`` may be
written as the ring operator. The offset must be 0: a constant is not linear.
"""

import re
from typing import NoReturn

from algebra.errors import ParseError

from .int_tuple import IntTuple, column_major
from .layout import CuteLayout
from .swizzle import Swizzle

_TOKEN = re.compile(r"_?-?\d+|[A-Za-z]+|\S")
_NAMES = ("Sw", "S", "Swizzle")
_RING = ("o", "\N{RING OPERATOR}")


def parse_cute(text: str) -> CuteLayout:
    """Read CuTe's spelling; a missing stride means compact, leftmost fastest.

    Law: ``parse_cute(str(layout)) == layout``.

    Raises:
        ParseError: the text isn't a layout; has ``column``.
        EncodingError: shape and stride have different nestings, or the windows of the
            swizzle overlap.

    Example:
        >>> parse_cute("(_4,_8)").stride
        (1, 4)
        >>> parse_cute("Sw<3,4,3> o 0 o (8,8):(8,1)").swizzle
        Swizzle(bits=3, base=4, shift=3)
    """
    if not isinstance(text, str):
        raise ParseError(
            f"needed a text such as (4,8):(8,1), got {type(text).__name__}; "
            "print a layout with str",
            column=1,
        )
    return _Reader(text).layout()


class _Reader:
    """A recursive-descent reader; ``at`` is the next token."""

    def __init__(self, text: str) -> None:
        self.tokens = [(m.group(), m.start() + 1) for m in _TOKEN.finditer(text)]
        self.tokens.append(("", len(text) + 1))
        self.at = 0

    @property
    def token(self) -> str:
        return self.tokens[self.at][0]

    def layout(self) -> CuteLayout:
        swizzle = self.swizzle() if self.token in _NAMES else None
        shape = self.tree()
        stride = column_major(shape)
        if self.token == ":":
            self.take(":")
            stride = self.tree()
        if self.token:
            self.fail("the end of the layout")
        return CuteLayout(shape, stride, swizzle)

    def swizzle(self) -> Swizzle:
        self.take(*_NAMES)
        numbers = []
        for mark in "<,,":
            self.take(mark)
            numbers.append(self.number())
        self.take(">")
        self.take(*_RING)
        following = self.tokens[min(self.at + 1, len(self.tokens) - 1)][0]
        if following in _RING:
            if self.token.lstrip("_") != "0":
                self.fail("the offset 0 (a constant is not linear)")
            self.number()
            self.take(*_RING)
        return Swizzle(*numbers)

    def tree(self) -> IntTuple:
        if self.token != "(":
            return self.number()
        self.take("(")
        branches = [self.tree()]
        while self.take(",", ")") == ",":
            if self.token != ")":
                branches.append(self.tree())
        return tuple(branches)

    def number(self) -> int:
        try:
            value = int(self.token.lstrip("_"))
        except ValueError:
            self.fail("an int")
        self.at += 1
        return value

    def take(self, *wanted: str) -> str:
        token = self.token
        if token not in wanted:
            self.fail(" or ".join(map(repr, wanted)))
        self.at += 1
        return token

    def fail(self, wanted: str) -> NoReturn:
        token, column = self.tokens[self.at]
        raise ParseError(
            f"a CuTe layout reads like ((4,8),2):((1,4),32); needed {wanted} at "
            f"column {column}, got {token!r}" + ("" if token else " (the end)"),
            line=1,
            column=column,
        )
