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
    frames = _FRAME.findall(stack_trace(node) or "")
    if not frames:
        return ""
    file, line, _, text = frames[-1]
    return f"{file}:{line}: {text.strip()}".rstrip(": ")


def frame(node: fx.Node) -> tuple[str, str, str]:
    """Return file, line and function of the innermost call in the user's program.

    Three times "" where nothing is known of it.
    """
    frames = _FRAME.findall(stack_trace(node) or "")
    return frames[-1][:3] if frames else ("", "", "")
