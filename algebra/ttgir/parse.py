"""From text to encoding: TTGIR's spelling or the constructor's own."""

import re

from algebra.encodings import Encoding
from algebra.errors import ParseError

from .constructor import parse_constructor
from .kinds import encode
from .reader import Attribute, read_attributes

MEMORY_SPACES = ("shared_memory", "tensor_memory")
"""Attributes without parameters that stand in a dump and are no encodings."""

_CALL = re.compile(r"\s*[A-Za-z_]\w*\s*\(")


def parse_encoding(text: str) -> Encoding:
    """Return the encoding that a text spells; of several, the last.

    Two spellings are read. TTGIR, as Triton prints it: one attribute, or the alias
    lines (``#name = ...``) of a dump, which may refer to those above them; comments,
    locations, memory spaces and everything from ``module`` on are passed over. Or
    the constructor's own spelling, ``Blocked(size_per_thread=(1, 8), ...)``.

    Law: ``parse_encoding(repr(e)) == e``, ``parse_encoding(print_encoding(e)) == e``.

    Args:
        text: The spelling.

    Raises:
        ParseError: malformed, unknown, or parameters that contradict each other;
            names line, column, what was expected and what came.

    Example:
        >>> parse_encoding('''
        ...     #mma = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0,
        ...         warpsPerCTA = [2, 2], instrShape = [16, 8]}>
        ...     #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>
        ... ''').k_width
        2

    Source: assembly formats of Triton's TritonGPU and TritonNvidiaGPU attributes.
    """
    if not isinstance(text, str):
        raise ParseError(
            f"parse_encoding needs a text, got {type(text).__name__}; decode bytes, "
            "print an encoding with print_encoding",
            line=1,
            column=1,
            expected="a text",
            came=type(text).__name__,
        )
    if _CALL.match(text):
        return parse_constructor(text)
    attributes = [one for one in read_attributes(text) if not _is_memory_space(one)]
    if not attributes:
        raise ParseError(
            "line 1, column 1: expected an encoding, came a text without one; paste an "
            "attribute such as #ttg.blocked<{...}> or a call such as Blocked(...)",
            line=1,
            column=1,
            expected="an encoding",
            came="none",
        )
    return [encode(attribute) for attribute in attributes][-1]


def _is_memory_space(attribute: Attribute) -> bool:
    return attribute.kind in MEMORY_SPACES and not attribute.has_body
