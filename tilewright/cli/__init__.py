"""The command ``tilewright``: one module a subcommand."""

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; see ``tilewright.cli.app.main``.

    An interrupt ends it in one line, also while the program is still being loaded.
    """
    try:
        from .app import main as run

        code = run(arguments)
    except KeyboardInterrupt:
        code = 130
    if code == 130:
        print("tilewright: interrupted", file=sys.stderr)
    return code
