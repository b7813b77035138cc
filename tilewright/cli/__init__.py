"""The command ``tilewright``: one module a subcommand."""

from .app import main

__all__ = ["main"]
