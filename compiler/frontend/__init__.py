"""From a captured graph to a function that runs it."""

from .capture import compile_captured
from .collector import collector_paused
from .graph import compile_graph
from .validator import Certificate, Validator

__all__ = [
    "Certificate",
    "Validator",
    "collector_paused",
    "compile_captured",
    "compile_graph",
]
