"""Theorems for all dimensions, checked by Coq, and the means to check them again.

The developments lie beside this file, one topic each; ``layout.v`` comes first. An
entry of the catalogue is a Coq ``Theorem``: its name is its id, the comment before it
says the sentence and the Python function whose law it is. ``build`` compiles them and
asks Coq what each one assumes; the only answer that counts is "nothing".
"""

from .build import build
from .source import FOLDER, Script, Statement, read_scripts
from .theorems import theorems

__all__ = ["FOLDER", "Script", "Statement", "build", "read_scripts", "theorems"]
