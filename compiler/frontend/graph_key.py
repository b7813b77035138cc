"""What a compiled graph depends on, as text whose hash names it on disk.

A key must tell apart whatever is compiled differently; it may tell apart what is not.
So everything that the compiler reads is in it, sizes as expressions over symbols with
the least that each can be, and a value of a kind that is not known here makes the graph
one that has no key.
"""

import os
import platform
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import torch
from torch import fx

from compiler import torch_api
from compiler.options import Options
from compiler.runtime.build import processor
from compiler.runtime.cache import content_key

from .constants import attribute
from .source_lines import frame

OURS: Final = ("algebra", "compiler", "manifolds", "verify")
"""Packages whose code may take part; it is in the key."""

_UNSEEN_STATE: Final = "triton_kernel_wrapper"
"""Operators whose arguments are numbers of things that are elsewhere."""

_PLAIN: Final = (bool, int, float, complex, str, type(None))
_WORDS: Final = (torch.dtype, torch.device, torch.layout, torch.memory_format)


class NotKept(Exception):  # noqa: N818 - a decision
    """A graph has no key; the message says why."""


def graph_key(graph: fx.GraphModule, options: Options, parts: Iterable[object]) -> str:
    """Return the name on disk of what a graph compiles to.

    Law: graphs, options and parts with equal keys compile to functions that do the
    same, on machines where :func:`surroundings` are equal.

    Args:
        graph: Of ATen operators, with fake tensors in ``meta["val"]``.
        options: The user's; where traces go and what to do instead do not matter.
        parts: Functions and objects that take part in compiling it.

    Raises:
        NotKept: Something in it has no text that says all of it.
    """
    packages = {"algebra", "compiler", *map(_package, parts)}
    chosen = {
        name: getattr(options, name)
        for name in options.__dataclass_fields__
        if name not in ("trace", "fallback", "cache")
    }
    text = graph_text(graph)
    return content_key(
        *surroundings(text), *map(_code, sorted(packages)), repr(chosen), text
    )


def surroundings(text: str) -> tuple[str, ...]:
    """Return what else decides about a graph's code: releases, processors, defaults."""
    found = [
        torch.__version__,
        str(torch.version.git_version),
        sys.version,
        platform.platform(),
        processor(),
        str(os.cpu_count()),
        str(torch.get_default_dtype()),
    ]
    if "cuda" in text:
        found.append(_gpus())
    return tuple(found)


def _gpus() -> str:
    from importlib.metadata import version

    if not torch.cuda.is_available():
        return version("triton")
    devices = range(torch.cuda.device_count())
    return version("triton") + "".join(
        f"{torch.cuda.get_device_name(d)} {torch.cuda.get_device_capability(d)}"
        for d in devices
    )


def _package(part: Any) -> str:
    """Return the package of ours that a function or an object comes from."""
    named = part if hasattr(part, "__qualname__") else type(part)
    package: str = str(getattr(named, "__module__", None)).partition(".")[0]
    if package not in OURS:
        raise NotKept(f"{getattr(named, '__qualname__', part)!r} is of {package}")
    return package


@cache
def _code(package: str) -> str:
    """Return a hash of a package's files."""
    found = __import__(package).__file__
    root = Path(str(found)).parent
    digest = sha256(package.encode())
    for path in sorted(root.rglob("*")):
        if path.suffix in (".py", ".json", ".gz"):
            content = path.read_bytes()
            name = str(path.relative_to(root))
            digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def graph_text(graph: fx.GraphModule) -> str:
    """Return all that the compiler reads of a graph.

    Raises:
        NotKept: A value is of a kind that is not known here.
    """
    lines = []
    values = []
    for node in graph.graph.nodes:
        value = node.meta.get("val")
        values.append(value)
        line = [node.op, node.name, _target(node, graph), _text(node.args)]
        line += [_text(node.kwargs), _text(value), "{}:{} {}".format(*frame(node))]
        if "strides" in node.meta:
            line.append(f"given {_text(node.meta['strides'])}")
        if "donated" in node.meta:
            line.append(f"donated {node.meta['donated']}")
        lines.append(" | ".join(line))
    least = torch_api.least_sizes(_flat(values))
    lines += sorted(f"{symbol!r} >= {low}" for symbol, low in least.items())
    lines.append(f"saved from {graph.meta.get('saved')}")
    return "\n".join(lines)


def _flat(values: Iterable[Any]) -> list[Any]:
    found = []
    for value in values:
        if isinstance(value, (tuple, list)):
            found += _flat(value)
        else:
            found.append(value)
    return found


def _target(node: fx.Node, graph: fx.GraphModule) -> str:
    target: Any = node.target
    if node.op in ("placeholder", "output"):
        return ""
    if node.op == "get_attr":
        return f"{target} = {_attribute(attribute(graph, str(target)))}"
    if torch_api.is_overload(target):
        return f"{target} {target._schema}"
    if torch_api.is_higher_order(target):
        name: str = target.name()
        if name.startswith(_UNSEEN_STATE):
            raise NotKept(f"{name} calls a kernel of the user's")
        return name
    return _function(target)


def _function(target: Any) -> str:
    module = str(getattr(target, "__module__", None))
    name = str(getattr(target, "__qualname__", "<"))
    known = module in ("_operator", "math", "builtins") or module.startswith("torch")
    if not known or "<" in name:
        raise NotKept(f"the function {module}.{name}")
    return f"{module}.{name}"


def _attribute(value: Any) -> str:
    """Return what is read of a tensor or a graph that the graph holds."""
    if isinstance(value, fx.GraphModule):
        return "{" + graph_text(value) + "}"
    if not isinstance(value, torch.Tensor):
        return _text(value)
    if torch_api.is_fake(value) or value.numel() != 1:
        return _text(value)
    with torch_api.real_tensors():
        bits = value.detach().reshape(1).cpu().contiguous().view(torch.uint8)
        return f"{_text(value)} {bits.tolist()}"


def _text(value: Any) -> str:
    if isinstance(value, _PLAIN):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, _WORDS):
        return str(value)
    if isinstance(value, torch.Tensor):
        return _tensor(value)
    if isinstance(value, fx.Node):
        return f"%{value.name}"
    if isinstance(value, (tuple, list)):
        inner = ", ".join(map(_text, value))
        return f"({inner})" if isinstance(value, tuple) else f"[{inner}]"
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_text(k)}: {_text(v)}" for k, v in value.items())
        return "{" + inner + "}"
    if isinstance(value, slice):
        return f"slice({_text((value.start, value.stop, value.step))})"
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return f"{type(value).__name__} {_number(value)}"
    if torch_api.is_overload(value):
        return f"{value} {value._schema}"
    raise NotKept(f"a value of the type {type(value).__name__}")


def _number(value: Any) -> str:
    """Return a size as text; one that is compiled as 1 is another's text."""
    text = torch_api.symbolic_text(value)
    return f"{text} = 1" if torch_api.is_one(value) else text


def _tensor(value: torch.Tensor) -> str:
    kind = f"{value.dtype} {value.device} {value.layout}"
    if value.layout != torch.strided or type(value).__name__ not in _TENSORS:
        raise NotKept(f"a tensor of the type {type(value).__name__}, {value.layout}")
    sizes = (*value.shape, "by", *value.stride(), "from", value.storage_offset())
    extents = " ".join(map(_number, sizes))
    bits = f"{value.is_conj()} {value.is_neg()} {value.requires_grad}"
    return f"{kind} [{extents}] {bits}"


_TENSORS: Final = ("Tensor", "Parameter", "FakeTensor", "Buffer")


def takes_part(
    lowerings: Mapping[Any, Callable[..., Any]], rewrites: Iterable[Callable[..., Any]]
) -> list[Callable[..., Any]]:
    """Return one function of each module that lowers or rewrites."""
    functions = [*lowerings.values(), *rewrites]
    return list({function.__module__: function for function in functions}.values())
