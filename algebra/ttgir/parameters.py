"""Typed access to the parameters of an attribute; each mistake is located."""

from collections.abc import Callable
from dataclasses import replace

from algebra.encodings import Cga, Encoding
from algebra.errors import ParseError

from .reader import PADDINGS, Attribute, Field
from .tokens import complaint

CTA_LISTS = ("CTAsPerCGA", "CTASplitNum", "CTAOrder")


Encode = Callable[[Attribute], Encoding]
"""Turns an attribute into its encoding; for parents."""

Builder = Callable[["Parameters", Encode], Encoding]
"""Turns the parameters of one kind into an encoding of that kind."""


class Parameters:
    """The parameters of one attribute, each of which must be asked for.

    Example:
        >>> from algebra.ttgir.reader import read_attributes
        >>> (attribute,) = read_attributes("#ttg.x<{vec = 8, order = [1, 0]}>")
        >>> parameters = Parameters(attribute)
        >>> parameters.integer("vec"), parameters.integers("order")
        (8, (1, 0))
        >>> parameters.finish()
    """

    def __init__(self, attribute: Attribute) -> None:
        """Start with nothing asked for."""
        self.attribute = attribute
        self._known: list[str] = []

    def __contains__(self, name: str) -> bool:
        if name not in self._known:
            self._known.append(name)
        return name in self.attribute.fields

    def integer(self, name: str, default: int | None = None) -> int:
        """Return an integer, or ``default`` where it is not written.

        Raises:
            ParseError: missing without default, or something else.
        """
        if default is not None and name not in self:
            return default
        return _integer(self._get(name), f"an integer for {name}")

    def flag(self, name: str, default: bool | None = None) -> bool:
        """Return true or false, or ``default`` where it is not written.

        Raises:
            ParseError: missing without default, or something else.
        """
        if default is not None and name not in self:
            return default
        field = self._get(name)
        if isinstance(field.value, bool):
            return field.value
        raise complaint(field.token, f"true or false for {name}")

    def integers(self, name: str) -> tuple[int, ...]:
        """Return a list of integers.

        Raises:
            ParseError: missing, or something else.
        """
        return _integers(self._get(name), f"a list of integers for {name}")

    def vectors(self, name: str, required: bool = True) -> tuple[tuple[int, ...], ...]:
        """Return a list of lists of integers; empty where it is not required.

        Raises:
            ParseError: missing though required, or something else.
        """
        if not required and name not in self:
            return ()
        field = self._get(name)
        expected = f"a list of lists of integers for {name}"
        if not isinstance(field.value, list):
            raise complaint(field.token, expected)
        return tuple(
            _integers(replace(field, value=entry), expected) for entry in field.value
        )

    def paddings(self) -> tuple[tuple[int, int], ...]:
        """Return (interval, padding) pairs, written ``[32:+4, 128:+8]``.

        Raises:
            ParseError: they are missing.
        """
        if PADDINGS not in self:
            raise complaint(
                self.attribute.token, "paddings such as [32:+4] in padded_shared<...>"
            )
        pairs: list[tuple[int, int]] = self.attribute.fields[PADDINGS].value  # type: ignore[assignment]  # made by the reader
        return tuple(pairs)

    def nested(self, name: str) -> "Parameters":
        """Return the parameters that stand in braces, ``name = {...}``.

        Raises:
            ParseError: missing, or no braces.
        """
        field = self._get(name)
        if not isinstance(field.value, dict):
            raise complaint(field.token, f"{{...}} for {name}")
        return Parameters(Attribute(field.token, field.value, True))

    def attribute_of(self, name: str) -> Attribute:
        """Return a nested attribute or what its alias stands for.

        Raises:
            ParseError: missing, or something else.
        """
        field = self._get(name)
        if not isinstance(field.value, Attribute):
            raise complaint(field.token, f"an attribute or an alias for {name}")
        return field.value

    def cga(self) -> Cga:
        """Return the split over a cluster in any of the spellings, default one CTA.

        Raises:
            ParseError: something else, or the three lists are not complete.
            EncodingError: the lists contradict each other.
        """
        if "CGALayout" in self:
            return Cga(bases=self.vectors("CGALayout"))
        if not any([name in self for name in CTA_LISTS]):
            return Cga()
        ctas, splits, order = (self.integers(name) for name in CTA_LISTS)
        return Cga.from_split(ctas, splits, order)

    def finish(self) -> None:
        """Reject what nobody asked for.

        Raises:
            ParseError: names the parameter and lists the known ones.
        """
        for name, field in self.attribute.fields.items():
            if name not in self._known:
                known = ", ".join(self._known)
                raise complaint(
                    field.name,
                    f"only known parameters of {self.attribute.token.text}",
                    f"{name} is none of: {known}",
                )

    def _get(self, name: str) -> Field:
        if name in self:
            return self.attribute.fields[name]
        raise ParseError(
            f"line {self.attribute.token.line}, column {self.attribute.token.column}: "
            f"expected a parameter {name} in {self.attribute.token.text}<...>, came "
            f"only: {', '.join(self.attribute.fields) or 'none'}; add {name} = ...",
            line=self.attribute.token.line,
            column=self.attribute.token.column,
            expected=name,
            came=tuple(self.attribute.fields),
        )


def _integer(field: Field, expected: str) -> int:
    if isinstance(field.value, int) and not isinstance(field.value, bool):
        return field.value
    raise complaint(field.token, expected)


def _integers(field: Field, expected: str) -> tuple[int, ...]:
    if not isinstance(field.value, list):
        raise complaint(field.token, expected)
    return tuple(
        _integer(replace(field, value=entry), expected) for entry in field.value
    )
