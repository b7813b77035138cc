"""The front door: the command line and the public table of contents.

``import tilewright as tw`` gives the public names of all packages. Each package is
loaded when one of its names is first used, so that the command line starts quickly.
"""

from importlib import import_module
from typing import Any

import algebra
import manifolds

_HOMES = {
    **dict.fromkeys(algebra.__all__, "algebra"),
    **dict.fromkeys(manifolds.__all__, "manifolds"),
    "catalogue": "proofs",
    "check": "verify",
    "classify": "compiler.convert",
    "encodings": "algebra.encodings",
    "explain": "compiler.convert",
    "permutations": "compiler.permutations",
    "permute": "compiler",
    "prove_encoding": "verify",
    "render": "algebra.render",
}
"""Public name -> the module that has it; or the module itself, where it is one."""

__all__ = ["__version__", *sorted(_HOMES)]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        globals()[name] = _version()
        return globals()[name]
    if name not in _HOMES:
        raise AttributeError(f"module 'tilewright' has no attribute {name!r}")
    home = import_module(_HOMES[name])
    is_module = home.__name__.rpartition(".")[2] == name
    value = globals()[name] = home if is_module else getattr(home, name)
    return value


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("tilewright")
    except PackageNotFoundError:
        return "unknown"


def __dir__() -> list[str]:
    return __all__
