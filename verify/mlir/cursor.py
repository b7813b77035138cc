"""A place in a token list: look ahead, take, or complain."""

from contextlib import contextmanager
from typing import TYPE_CHECKING

from .tokens import Token, complaint, tokenize

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_DEPTH = 200
"""Most levels of brackets and regions; no kernel has as many."""


class Cursor:
    """Reads the tokens of a text from front to back.

    Attributes:
        construct: What is being read, for messages.
    """

    def __init__(self, text: str) -> None:
        self.tokens = tokenize(text)
        self.lines = text.split("\n")
        self.index = 0
        self.depth = 0
        self.construct = ""

    def peek(self, ahead: int = 0) -> Token:
        """Return a token without taking it."""
        return self.tokens[min(self.index + ahead, len(self.tokens) - 1)]

    def take(self) -> Token:
        """Return the next token and go on."""
        token = self.tokens[self.index]
        if token.kind != "end":
            self.index += 1
        return token

    def at(self, text: str) -> bool:
        """Whether the next token is written ``text``."""
        return self.tokens[self.index].text == text

    def accept(self, text: str) -> bool:
        """Take the next token if it is written ``text``."""
        if self.tokens[self.index].text == text:
            self.index += 1
            return True
        return False

    def expect(self, text: str) -> Token:
        """Take the next token, which must be written ``text``."""
        if not self.at(text):
            raise self.wrong(repr(text))
        return self.take()

    def expect_kind(self, kind: str, what: str) -> Token:
        """Take the next token, which must be of a kind."""
        if self.peek().kind != kind:
            raise self.wrong(what)
        return self.take()

    def skip_newlines(self) -> None:
        """Pass over line breaks."""
        while self.tokens[self.index].kind == "newline":
            self.index += 1

    def wrong(self, expected: str) -> Exception:
        """Return the error that says what was expected here."""
        return complaint(self.peek(), expected, self.construct)

    def raw(self, opening: str, closing: str) -> str:
        """Take a bracketed piece and return it as written, tokens joined."""
        parts = [self.expect(opening).text]
        level = 1
        while level:
            token = self.take()
            if token.kind == "end":
                raise complaint(token, repr(closing), self.construct)
            level += token.text == opening
            level -= token.text == closing
            glue = token.text in (",",) or parts[-1] in (",", "=")
            spaced = " " if parts[-1] == "," or (token.text == "=" and not glue) else ""
            parts.append(spaced + token.text)
        return "".join(parts)

    @contextmanager
    def deeper(self) -> "Iterator[None]":
        """Be one level of brackets further inside."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.wrong(f"at most {MAX_DEPTH} levels of brackets")
        yield
        self.depth -= 1
