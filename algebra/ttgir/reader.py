"""Read tokens into a tree of attributes that knows no encoding yet.

Grammar, as far as Triton's printers use it::

    text      = { "#name" "=" ( attribute | "loc" ... ) | attribute } [ module ... ]
    attribute = "#dialect.name" [ "<" [ item { "," item } ] ">" ] | "#name"
    item      = name "=" value | "{" items "}" | "[" paddings "]" [ "{" items "}" ]
    value     = integer | "true" | "false" | list | "{" items "}" | attribute
    paddings  = { integer ":" "+" integer }

An alias may be used once it is defined. A dump is read up to its first operation.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from algebra.ttgir.tokens import Token, complaint, scan

PADDINGS = "paddings"
"""Name under which the interval list of a padded layout is kept."""

MAX_DEPTH = 64
"""Most levels of brackets; no encoding has as many."""

MAX_DIGITS = 600
"""Most digits of an integer; Python reads that many whatever its settings."""


@dataclass(frozen=True, slots=True)
class Field:
    """A value, where it starts, and where its name stands."""

    token: Token
    value: object
    name: Token


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute of a dialect.

    Attributes:
        token: Where it stands; its text is ``#dialect.name``.
        fields: Its parameters by name.
        has_body: Whether angle brackets were written.
    """

    token: Token
    fields: Mapping[str, Field] = field(default_factory=dict)
    has_body: bool = False

    @property
    def kind(self) -> str:
        """The name without its dialect."""
        return self.token.text.partition(".")[2]


@dataclass(slots=True)
class _Reader:
    tokens: Iterator[Token]
    seen: list[Token] = field(default_factory=list)
    aliases: dict[str, Attribute | None] = field(default_factory=dict)
    depth: int = 0

    def peek(self, ahead: int = 0) -> Token:
        while len(self.seen) <= ahead:
            self.seen.append(next(self.tokens, *self.seen[-1:]))
        return self.seen[ahead]

    def take(self) -> Token:
        self.peek()
        return self.seen.pop(0)

    def at(self, text: str) -> bool:
        token = self.peek()
        return token.kind == "punctuation" and token.text == text

    def expect(self, text: str, hint: str = "") -> Token:
        if not self.at(text):
            raise complaint(self.peek(), repr(text), hint)
        return self.take()

    def separated(self, closing: str, read: Callable[[], None]) -> None:
        """Read items split by commas up to and including ``closing``."""
        with self.deeper():
            self.items(closing, read)

    @contextmanager
    def deeper(self) -> Iterator[None]:
        """Be one level of brackets further inside."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise complaint(
                self.peek(),
                f"at most {MAX_DEPTH} levels of brackets",
                "close some before, or name parts of the text with #alias = ...",
            )
        yield
        self.depth -= 1

    def items(self, closing: str, read: Callable[[], None]) -> None:
        while not self.at(closing):
            read()
            if not self.at(closing):
                if not self.at(","):
                    raise complaint(self.peek(), f"',' or {closing!r}")
                self.take()
                if self.at(closing):
                    raise complaint(self.peek(), "another entry after ','")
        self.take()

    def integer(self, what: str) -> int:
        token = self.peek()
        if token.kind != "number":
            raise complaint(token, what)
        if len(token.text) > MAX_DIGITS:
            raise complaint(token, f"an integer of at most {MAX_DIGITS} digits")
        self.take()
        return int(token.text)

    def attribute(self) -> Attribute:
        token = self.take()
        if "." not in token.text:
            return self.alias(token)
        fields: dict[str, Field] = {}
        has_body = self.at("<")
        if has_body:
            self.take()
            self.separated(">", lambda: self.item(fields))
        return Attribute(token, fields, has_body)

    def alias(self, token: Token) -> Attribute:
        attribute = self.aliases.get(token.text)
        if attribute is None:
            known = ", ".join(n for n, a in self.aliases.items() if a is not None)
            raise complaint(
                token,
                "an alias that is defined above",
                f"defined above: {known or 'none'}; paste its line "
                f"{token.text} = ... too",
            )
        return attribute

    def item(self, fields: dict[str, Field]) -> None:
        if self.at("{"):
            self.take()
            self.separated("}", lambda: self.item(fields))
        elif self.at("["):
            self.paddings(fields)
        else:
            self.named(fields)

    def named(self, fields: dict[str, Field]) -> None:
        token = self.peek()
        if token.kind != "word":
            raise complaint(token, "a parameter name")
        self.take()
        if token.text in fields:
            raise complaint(token, "each parameter once", "remove one of the two")
        self.expect("=", f"write {token.text} = ...")
        fields[token.text] = Field(self.peek(), self.value(), token)

    def paddings(self, fields: dict[str, Field]) -> None:
        opening = self.take()
        pairs: list[tuple[int, int]] = []

        def pair() -> None:
            interval = self.integer("an interval, as in [32:+4]")
            self.expect(":", "write interval:+padding, as in [32:+4]")
            self.expect("+", "write interval:+padding, as in [32:+4]")
            pairs.append((interval, self.integer("a padding, as in [32:+4]")))

        self.separated("]", pair)
        fields[PADDINGS] = Field(opening, pairs, opening)
        if self.at("{"):
            self.item(fields)

    def value(self) -> object:
        token = self.peek()
        if token.kind == "number":
            return self.integer("an integer")
        if token.kind == "word" and token.text in ("true", "false"):
            return self.take().text == "true"
        if token.kind == "hash":
            return self.attribute()
        if self.at("["):
            self.take()
            entries: list[object] = []
            self.separated("]", lambda: entries.append(self.value()))
            return entries
        if self.at("{"):
            fields: dict[str, Field] = {}
            self.item(fields)
            return fields
        raise complaint(token, "an integer, true, false, [...], {...} or #...")

    def location(self) -> None:
        """Pass over ``loc(...)``, which may nest."""
        self.take()
        depth = 0
        while self.peek().kind != "end":
            depth += self.at("(")
            depth -= self.at(")")
            self.take()
            if depth == 0:
                return
        raise complaint(self.peek(), "')'", "the location is cut off")

    def at_operation(self) -> bool:
        token = self.peek()
        return token.kind == "word" and token.text in ("module", "tt.func", "func.func")

    def definition(self) -> Attribute | None:
        name = self.take()
        self.take()
        if name.text in self.aliases:
            raise complaint(name, "each alias defined once", "rename or remove one")
        token = self.peek()
        attribute = None
        if token.kind == "hash":
            attribute = self.attribute()
        elif token.kind == "word" and token.text == "loc":
            self.location()
        else:
            raise complaint(token, "an attribute such as #ttg.blocked<{...}>")
        self.aliases[name.text] = attribute
        return attribute


def read_attributes(text: str) -> tuple[Attribute, ...]:
    """Read every attribute that stands at the top level of ``text``, in order.

    Args:
        text: One attribute, alias lines, or a dump that starts with them.

    Returns:
        The attributes; aliases are replaced by what they stand for.

    Raises:
        ParseError: the text does not follow the grammar; names line, column, what
            was expected and what came.

    Example:
        >>> attributes = read_attributes("#a = #ttg.slice<{dim = 0, parent = #x.y}>")
        >>> attributes[0].kind, attributes[0].fields["dim"].value
        ('slice', 0)

    Source: assembly formats of Triton's TritonGPU attribute definitions.
    """
    reader = _Reader(scan(text))
    found = []
    while reader.peek().kind != "end" and not reader.at_operation():
        token = reader.peek()
        if token.kind != "hash":
            raise complaint(token, "an attribute such as #ttg.blocked<{...}>")
        following = reader.peek(1)
        if "." not in token.text and following.text == "=":
            attribute = reader.definition()
        else:
            attribute = reader.attribute()
        if attribute is not None:
            found.append(attribute)
    return tuple(found)
