"""Which of the user's lines a node of a graph comes from."""

import re
from typing import Final

from torch import fx

from compiler.torch_api import stack_trace

_FRAME: Final = re.compile(r'File "([^"]+)", line (\d+), in (\S+)\n?\s*(.*)')


def source_line(node: fx.Node) -> str:
    """Return ``file:line: text`` of the innermost call in the user's program.

    "" where nothing is known of it, as for nodes that a backward pass made.
    """
    trace = stack_trace(node)
    frames = _FRAME.findall(trace or "")
    if not frames:
        return ""
    file, line, _, text = frames[-1]
    return f"{file}:{line}: {text.strip()}".rstrip(": ")
