"""Definitions that programs may use, put before a program that names them.

Each is text, because a test file carries it along: it imports nothing but torch.
"""

import re
from collections.abc import Mapping

SNIPPETS: Mapping[str, str] = {
    "Box": '''\
import dataclasses


@dataclasses.dataclass
class Box:
    """A tensor and a number that a program reads and changes."""

    a: torch.Tensor
    n: int = 0

    def grown(self, by):
        self.n += by
        return self.a * by
''',
    "Counted": '''\
class Counted:
    """A context manager that counts entries and exits in a list."""

    def __init__(self, log):
        self.log = log

    def __enter__(self):
        self.log.append("in")
        return self

    def __exit__(self, kind, error, trace):
        self.log.append("out" if kind is None else kind.__name__)
        return kind is KeyError
''',
    "STATE": '''\
STATE = {"count": 0}


def fresh_state():
    """Set the global state back, and return it."""
    STATE.clear()
    STATE["count"] = 0
    return STATE
''',
    "combined": '''\
def combined(first, *rest, scale=1, **more):
    """A function of any arguments."""
    total = first * scale
    for value in rest:
        total = total + value
    for name in sorted(more):
        total = total - more[name]
    return total
''',
    "doubled": '''\
def doubled(function):
    """A decorator: twice what the function returns."""

    def wrapper(*args, **kwargs):
        return function(*args, **kwargs) * 2

    return wrapper
''',
    "filled": '''\
def filled(module, dtype=torch.float32, training=True):
    """Give a module small parameters and statistics, the same on each machine."""
    with torch.no_grad():
        for number, (name, value) in enumerate(
            [*module.named_parameters(), *module.named_buffers()]
        ):
            if value.is_floating_point():
                low = 1 if "var" in name else -2
                steps = torch.arange(value.numel()).add(number).remainder(5)
                value.copy_(steps.add(low).mul(0.5).reshape(value.shape))
    return module.to(dtype).train(training)
''',
}
"""Name -> its definition, in the order in which they are written."""


def prelude(text: str) -> str:
    """Return the definitions that a text needs.

    Example:
        >>> prelude("v0 = x0 + 1")
        ''
        >>> prelude("v0 = doubled(torch.sin)(x0)").splitlines()[0]
        'def doubled(function):'
    """
    needed = [
        snippet
        for name, snippet in SNIPPETS.items()
        if re.search(rf"\b{name}\b", text)
        or (name == "STATE" and "fresh_state" in text)
        or (name == "Box" and "dataclasses" in text)
    ]
    return "".join(snippet + "\n\n" for snippet in needed)
