"""Orthogonal and manifold-constrained training.

Each part is loaded, and torch with it, when one of its names is first used.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "ExpRNN": "manifolds.recurrent",
    "ExpRNNCell": "manifolds.recurrent",
    "Trivialization": "manifolds.trivialization",
    "charts": "manifolds.charts",
    "constrain": "manifolds.constraint",
    "expm": "manifolds.expm",
    "frechet": "manifolds.expm",
    "modrelu": "manifolds.recurrent",
    "orthogonal": "manifolds.constraint",
    "parameter_groups": "manifolds.recurrent",
    "rebase_after_steps": "manifolds.rebase",
}
"""Public name -> the module that has it; or the module itself, where it is one."""

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'manifolds' has no attribute {name!r}")
    home = import_module(_HOMES[name])
    is_module = home.__name__.rpartition(".")[2] == name
    value = globals()[name] = home if is_module else getattr(home, name)
    return value


def __dir__() -> list[str]:
    return __all__
