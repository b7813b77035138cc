"""Cut the text of MLIR attributes into tokens that know where they stand.

The subset of MLIR's lexical rules that attribute headers need: words, ``#name`` and
``#dialect.name``, integers, quoted strings, one-character punctuation, comments.
"""

import re
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Token:
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


def complaint(token: Token, expected: str, hint: str = "") -> ParseError:
    """Say where, what was expected, what came, and the way out.

    Args:
        token: The token that did not fit.
        expected: What would have fitted.
        hint: The way out, when it is more than writing ``expected``.

    Returns:
        The error, to be raised by the caller.
    """
    came = END if token.kind == "end" else repr(token.text)
    message = f"line {token.line}, column {token.column}: expected {expected}, "
    message += f"came {came}" + (f"; {hint}" if hint else "")
    return ParseError(
        message, line=token.line, column=token.column, expected=expected, came=came
    )


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
    tokens = []
    line = 1
    line_start = 0
    for match in _PATTERN.finditer(text):
        piece = match.group()
        kind = str(match.lastgroup)
        if kind != "space":
            tokens.append(Token(kind, piece, line, match.start() - line_start + 1))
        breaks = piece.count("\n")
        if breaks:
            line += breaks
            line_start = match.start() + piece.rindex("\n") + 1
    tokens.append(Token("end", "", line, len(text) - line_start + 1))
    return tuple(tokens)
