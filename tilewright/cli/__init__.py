"""The command ``tilewright``: one module a subcommand."""

from .app import app, main

__all__ = ["app", "main"]
