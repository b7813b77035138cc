"""Files that the command line reads, and writes whole or not at all."""

import io
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, TextIO

from .failures import InputError, cannot


def write_whole(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file under a temporary name beside it, then rename it.

    A symbolic link stays one: what it points to is replaced. A pipe or a device, such
    as ``/dev/stdout``, is written to and stays what it is.

    Args:
        path: Where the file goes; what is there is replaced only in the end.
        write: Writes the content to an open file.

    Raises:
        InputError: the folder or the file cannot be written.
    """
    if path.is_dir():
        raise InputError(f"cannot write {str(path)!r}: it is a folder; name a file")
    if is_stream(path):
        content = io.BytesIO()
        write(content)
        try:
            path.write_bytes(content.getbuffer())
        except OSError as error:
            raise cannot("write", path, error, "name another file") from error
        return
    target = Path(os.path.realpath(path))
    try:
        handle, name = tempfile.mkstemp(
            dir=target.parent, prefix=f".{target.name[:99]}.", suffix=".part"
        )
    except OSError as error:
        raise cannot("write", path, error, "name a file in a folder you own") from error
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)
        os.replace(name, target)
    except OSError as error:
        os.unlink(name)
        raise cannot("write", path, error, "free some space or name another") from error
    except BaseException:
        os.unlink(name)
        raise


def is_stream(path: Path) -> bool:
    """Say whether a path is a pipe or a device, which takes what is written to it.

    Example:
        >>> is_stream(Path("/dev/null")), is_stream(Path(__file__))
        (True, False)
    """
    return path.exists() and (not path.is_file() or Path("/dev") in path.parents)


def write_text(path: Path, text: str) -> None:
    """Write a text file whole; see ``write_whole``."""
    write_whole(path, lambda file: file.write(text.encode()))


def read_stream(stream: TextIO | None) -> str:
    """Return the text of a stream; None is one that was closed beforehand.

    Raises:
        InputError: it is not text, or closed.
    """
    if stream is None:
        raise InputError(
            "needed text on standard input, got none: it is closed; pass the text of "
            "an encoding"
        )
    try:
        return stream.read()
    except UnicodeDecodeError as error:
        raise InputError(
            "needed text on standard input, got bytes that are not UTF-8; "
            "pass the text of an encoding"
        ) from error


def read_text(path: Path) -> str:
    """Return the text of a file.

    Raises:
        InputError: it cannot be read, or is not text.
    """
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise cannot("read", path, error, "check the path") from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"needed a text file, got {str(path)!r}, which is not UTF-8; "
            "pass the text of an encoding"
        ) from error
