"""Cut MLIR text into tokens that know their line and column.

A subset of MLIR's lexical rules that all dialects share: ``%values``, ``^blocks``,
``@symbols``, ``#attributes``, ``!types``, words with dots, numbers, strings,
punctuation. ``64x32x`` before an element type is one token. A line break is a token:
printers put one operation on a line.
"""

import re
from typing import NamedTuple

from algebra.errors import ParseError

_PATTERN = re.compile(
    r"""
    (?P<space>[ \t\r]+|//[^\n]*)
  | (?P<newline>\n)
  | (?P<value>%[\w$.-]+(?:\#\d+)?)
  | (?P<word>[A-Za-z_][\w$.]*)
  | (?P<number>0x[0-9A-Fa-f]+|-?\d+(?:\.\d*(?:[eE][+-]?\d+)?|[eE][+-]\d+)?(?![\dx]))
  | (?P<dims>(?:(?:\d+|\?)x)+)
  | (?P<arrow>->)
  | (?P<hash>\#[\w.$-]+)
  | (?P<type>![A-Za-z_][\w.$]*)
  | (?P<symbol>@(?:[\w.$-]+|"[^"\n]*"))
  | (?P<block>\^[\w$.-]+)
  | (?P<string>"(?:\\.|[^"\\\n])*")
  | (?P<punctuation>[\[\]{}<>(),=:+*?|-])
  | (?P<stray>.)
    """,
    re.VERBOSE,
)

SHOWN = 60
"""Longest piece of a text that a message repeats [characters]."""


class Token(NamedTuple):
    """One token.

    Attributes:
        kind: ``value``, ``word``, ``number``, ``dims``, ``arrow``, ``hash``, ``type``,
            ``symbol``, ``block``, ``string``, ``punctuation``, ``newline``, ``stray``
            or ``end``.
        text: The characters as written.
        line: Line, from 1.
        column: Column of the first character, from 1.
    """

    kind: str
    text: str
    line: int
    column: int


def tokenize(text: str) -> list[Token]:
    """Cut ``text`` into tokens; blanks and comments are left out.

    Law: the last token is of kind ``end``; every other stands in the text at its line
    and column.

    Example:
        >>> [token.text for token in tokenize("tensor<4x8xf32> // square")][:-1]
        ['tensor', '<', '4x8x', 'f32', '>']

    Source: MLIR language reference, lexical structure.
    """
    tokens = []
    line = 1
    start = 0
    position = 0
    for match in _PATTERN.finditer(text):
        kind = str(match.lastgroup)
        position = match.end()
        if kind == "space":
            continue
        tokens.append(Token(kind, match.group(), line, match.start() - start + 1))
        if kind == "newline":
            line += 1
            start = position
    tokens.append(Token("end", "", line, position - start + 1))
    return tokens


def complaint(token: Token, expected: str, construct: str = "") -> ParseError:
    """Say where, within which construct, what was expected and what came.

    Args:
        token: The token that did not fit.
        expected: What would have fitted.
        construct: The operation or type that was being read.

    Returns:
        The error, to be raised by the caller.
    """
    shown = token.text if len(token.text) <= SHOWN else token.text[:SHOWN] + "..."
    came = {"end": "the end of the text", "newline": "the end of the line"}.get(
        token.kind, repr(shown)
    )
    where = f"line {token.line}, column {token.column}"
    inside = f" in {construct}" if construct else ""
    return ParseError(
        f"{where}{inside}: expected {expected}, came {came}; "
        "the reader takes MLIR text as Triton prints it",
        line=token.line,
        column=token.column,
        expected=expected,
        came=came,
        construct=construct,
    )
