"""Parameters under the names of the Python function.

Triton names what a branch yields after the variable that it is assigned to, and so
may a parameter have another name in the text than in the source: ``ptr = x_ptr`` within
an ``if`` makes it ``%ptr``.
"""

import re
from collections.abc import Sequence

from verify.mlir import read_module

_NAME = re.compile(r"%([A-Za-z_]\w*)")


def with_names(text: str, names: Sequence[str]) -> str:
    """Return TTIR whose public function has parameters of these names, in order.

    A text with another number of parameters is returned as it is.
    """
    public = [f for f in read_module(text).functions.values() if f.public]
    found = [argument.name[1:] for argument in public[0].arguments] if public else []
    if len(public) != 1 or len(found) != len(names) or list(names) == found:
        return text
    to = dict(zip(found, names, strict=True))
    for name in names:
        if name not in to:  # a value that has the name which is wanted
            to[name] = f"{name}_inner"
    return _NAME.sub(lambda match: f"%{to.get(match[1], match[1])}", text)
