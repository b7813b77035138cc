"""What the command line says and returns when something is wrong."""

from pathlib import Path

WRONG = 1
"""Exit code: the command worked, and what it looked at is wrong."""

INTERRUPTED = 130
"""Exit code: the user ended the command."""


class InputError(Exception):
    """Input that cannot be used; the message is one line for the user."""

    exit_code = 2


def one_line(text: str) -> str:
    r"""Return a text without line breaks.

    Example:
        >>> one_line("one\n  two")
        'one two'
    """
    return " ".join(text.split())


def cannot(what: str, path: Path | str, error: OSError, way_out: str) -> InputError:
    """Return the error for a file that cannot be read or written.

    Example:
        >>> print(cannot("read", "a.npy", OSError(2, "No such file"), "check the path"))
        cannot read 'a.npy': No such file; check the path
    """
    reason = error.strerror or one_line(str(error)) or type(error).__name__
    return InputError(f"cannot {what} {str(path)!r}: {reason}; {way_out}")
