"""From a captured graph to a function that runs it."""

from .capture import compile_captured
from .graph import compile_graph
from .validator import Certificate, Validator

__all__ = ["Certificate", "Validator", "compile_captured", "compile_graph"]
