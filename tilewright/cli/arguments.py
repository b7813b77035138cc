"""Arguments that several subcommands share: encodings, shapes, releases."""

import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from algebra.encodings import Encoding
from algebra.ttgir import parse_encoding

from .failures import InputError
from .files import read_stream, read_text

ENCODING_HELP = (
    "TTGIR text (#ttg.blocked<{...}>), a constructor (Blocked(...)), @FILE, or - for "
    "standard input"
)
Shape = Annotated[str, typer.Option("--shape", help="Tensor shape: 64x64 or 64,64.")]
Release = Annotated[
    str, typer.Option("--release", help="Triton release that is modelled.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]


def count(text: str) -> int:
    """Return a positive integer of the command line.

    Example:
        >>> count("64")
        64
    """
    if not re.fullmatch("[0-9]{1,18}", str(text)) or not int(text):
        raise typer.BadParameter(f"needed a positive integer, got {text!r}; write 64")
    return int(text)


def seconds(text: str) -> float:
    """Return a positive number of seconds of the command line.

    Example:
        >>> seconds("0.5")
        0.5
    """
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < 1e6:
        raise typer.BadParameter(f"needed seconds above 0, got {text!r}; write 60")
    return value


def read_encoding(text: str) -> Encoding:
    """Return the encoding of a command line argument.

    Args:
        text: The spelling, ``@file``, or ``-`` for standard input.

    Raises:
        InputError: the file cannot be read.
        ParseError: the text is not the spelling of an encoding.
    """
    if text == "-":
        text = read_stream(sys.stdin)
    elif text.startswith("@"):
        text = read_text(Path(text[1:]))
    return parse_encoding(text)


def read_shape(text: str) -> list[int]:
    """Return the sizes of a shape, ``64x64`` or ``64,64``.

    Raises:
        InputError: the text is not a list of positive integers.

    Example:
        >>> read_shape("64x32"), read_shape("8, 4, 2")
        ([64, 32], [8, 4, 2])
    """
    sizes = re.split(r"\s*[x,]\s*", text.strip().strip("[]()"))
    if not all(re.fullmatch("[0-9]{1,40}", size) and int(size) for size in sizes):
        raise InputError(
            "a shape is a list of positive sizes, got "
            f"--shape {text!r}; write 64x64 or 64,64"
        )
    return [int(size) for size in sizes]
