"""Changes of type and copies into other arrays."""

from typing import Any

import torch

from compiler.ir.scalar import type_name

from .builder import Array, Builder
from .promotion import aligned
from .registry import NotLowered, lowering

aten = torch.ops.aten
prims = torch.ops.prims


@lowering(aten._to_copy.default, prims.convert_element_type.default, aten.to.dtype)
def _convert(b: Builder, x: Array, *_: Any, **__: Any) -> Array:
    if str(b.result.device) != x.device:
        raise NotLowered(f"a copy from {x.device} to {b.result.device}")
    dtype = type_name(b.result.dtype)
    return b.result_map(lambda i: x.at(i, dtype))


@lowering(aten.copy.default)
def _copy(b: Builder, _: Any, x: Array, non_blocking: bool = False) -> Array:
    if str(b.result.device) != x.device:
        raise NotLowered(f"a copy from {x.device} to {b.result.device}")
    return b.result_map(lambda i: x.at(aligned(i, x)))


@lowering(aten.bernoulli_.float)
def _in_place(b: Builder, *_: Any) -> Array:
    raise NotLowered("a random fill in place")
