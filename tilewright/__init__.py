"""The front door: the command line and the public table of contents.

``import tilewright as tw`` gives the public names of all packages. What needs PyTorch,
a solver or hypothesis is loaded when it is first used.
"""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import algebra
from algebra import *  # noqa: F403 (the whole algebra, as its __all__ lists it)
from algebra import encodings, render

try:
    __version__ = version("tilewright")
except PackageNotFoundError:
    __version__ = "unknown"

_LAZY = {
    "permute": "compiler",
    "classify": "compiler.convert",
    "explain": "compiler.convert",
    "prove_encoding": "verify.equivalence",
    "catalogue": "proofs",
}

__all__ = [*algebra.__all__, *_LAZY, "__version__", "encodings", "render"]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'tilewright' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_LAZY[name]), name)
    return value
