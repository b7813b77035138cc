"""Cut the text of MLIR attributes into tokens that know where they stand.

The subset of MLIR's lexical rules that attribute headers need: words, ``#name`` and
``#dialect.name``, integers, quoted strings, one-character punctuation, comments.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from algebra.errors import ParseError

_PATTERN = re.compile(
    r"""
    (?P<space>\s+|//[^\n]*)
  | (?P<hash>\#[A-Za-z_][\w$]*(?:\.[A-Za-z_][\w$]*)?)
  | (?P<word>[A-Za-z_][\w$.]*)
  | (?P<number>-?\d+)
  | (?P<string>"[^"\n]*")
  | (?P<punctuation>[\[\]{}<>(),=:+])
  | (?P<stray>.)
    """,
    re.VERBOSE | re.DOTALL,
)

END = "end of text"
SHOWN = 60
"""Longest piece of a text that a message repeats [characters]."""


class Token(NamedTuple):
    """One token.

    Attributes:
        kind: ``hash``, ``word``, ``number``, ``string``, ``punctuation``, ``stray``
            (a character that no attribute uses) or ``end``.
        text: The characters as written.
        line: Line, from 1.
        column: Column of the first character, from 1.
    """

    kind: str
    text: str
    line: int
    column: int


def shortened(text: str) -> str:
    """Return ``text``, cut where it is too long for a message.

    Example:
        >>> len(shortened("x" * 1000)) - len("...")
        60
    """
    return text if len(text) <= SHOWN else text[:SHOWN] + "..."


def complaint(token: Token, expected: str, hint: str = "") -> ParseError:
    """Say where, what was expected, what came, and the way out.

    Args:
        token: The token that did not fit.
        expected: What would have fitted.
        hint: The way out, when it is more than writing ``expected``.

    Returns:
        The error, to be raised by the caller.
    """
    came = END if token.kind == "end" else repr(shortened(token.text))
    message = f"line {token.line}, column {token.column}: expected {expected}, "
    message += f"came {came}" + (f"; {hint}" if hint else "")
    return ParseError(
        message, line=token.line, column=token.column, expected=expected, came=came
    )


def scan(text: str) -> Iterator[Token]:
    """Cut ``text`` into tokens one by one; see ``tokenize``.

    Of a dump only the part is cut that is asked for.

    Example:
        >>> next(scan("#a = " + "x" * 1000)).text
        '#a'
    """
    line = 1
    line_start = 0
    for match in _PATTERN.finditer(text):
        kind = str(match.lastgroup)
        piece = match.group()
        if kind != "space":
            yield Token(kind, piece, line, match.start() - line_start + 1)
            continue
        breaks = piece.count("\n")
        if breaks:
            line += breaks
            line_start = match.start() + piece.rindex("\n") + 1
    yield Token("end", "", line, len(text) - line_start + 1)


def tokenize(text: str) -> tuple[Token, ...]:
    """Cut ``text`` into tokens, comments and blanks left out.

    Every text can be cut: what no attribute uses becomes a ``stray`` token, so that
    the operations below a dump's header do no harm.

    Law: the last token is of kind ``end``, and every other one is found in ``text``
    at its line and column.

    Args:
        text: TTGIR attributes, a header of alias lines, or a whole dump.

    Returns:
        The tokens in order.

    Example:
        >>> [token.text for token in tokenize("order = [1, 0] // fastest first")]
        ['order', '=', '[', '1', ',', '0', ']', '']

    Source: MLIR language reference, lexical structure of attributes.
    """
    return tuple(scan(text))
