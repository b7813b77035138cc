"""Extern calls: what has no lowering, with its arguments as the IR writes them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from compiler.errors import CompileError
from compiler.ir.expression import Expression
from compiler.ir.index import index
from compiler.ir.node import Buffer, Extern, Reference
from compiler.torch_api import argument_names, shared_arguments, written_arguments

from .builder import Array, seeds_name

aten = torch.ops.aten


@dataclass(frozen=True, slots=True, eq=False)
class Constant:
    """Returns a tensor of the graph's own: the target of an extern call."""

    value: torch.Tensor

    def __call__(self) -> torch.Tensor:
        """Return the tensor."""
        return self.value


def extern(
    target: Any,
    args: Any,
    kwargs: Any,
    buffers: Sequence[Buffer | None],
    reason: str,
    origin: str,
) -> Extern:
    """Return the call of an operator on arrays.

    Args:
        target: Operator.
        args: Arrays, sizes and anything else, nested.
        kwargs: The same by name.
        buffers: One for each result, None for results that are no tensors.
        reason: Why it is not lowered.
        origin: The user's source line.

    Raises:
        CompileError: an argument is a floating number made of sizes.
    """
    named = dict(zip(argument_names(target), args, strict=False)) | dict(kwargs)
    mutates = [
        name for key in written_arguments(target) for name in names(named.get(key))
    ]
    shared = shared_arguments(target)
    aliases = {
        buffer.name: tuple(names(tuple(named.get(key) for key in keys)))
        for buffer, keys in zip(buffers, shared, strict=False)
        if buffer is not None and keys
    }
    return Extern(
        tuple(buffers),
        target,
        referred(args),
        referred(kwargs),
        tuple(mutates),
        aliases,
        reason,
        origin,
    )


def seeds(device: str, count: int) -> Extern:
    """Return the draw of a call's seeds from torch's generator."""
    name = seeds_name(device)
    return Extern(
        (Buffer(name, "int64", (index(count),), device, (index(1),)),),
        aten.randint.low,
        (-(2**63), 2**63 - 1, (count,)),
        {"dtype": torch.int64, "device": torch.device(device)},
        reason="seeds of this call, from torch's generator",
    )


def names(value: Any) -> Iterable[str]:
    """Yield the names of the arrays among nested arguments."""
    if isinstance(value, Array):
        yield value.name
    elif isinstance(value, dict):
        yield from names(tuple(value.values()))
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from names(item)


def referred(value: Any) -> Any:
    """Return nested arguments with references in place of arrays."""
    if isinstance(value, Array):
        return Reference(value.name)
    if isinstance(value, tuple):
        return tuple(map(referred, value))
    if isinstance(value, dict):
        return {key: referred(item) for key, item in value.items()}
    if isinstance(value, Expression) and value.dtype != "index":
        raise CompileError("an extern call with a number made of sizes")
    return value
