"""What a call of ``permute`` asks for: data, a derivative, or pointwise work too."""

import torch

from algebra import AffineLayout, LinearLayout
from compiler.errors import SizeMismatchError

from .autograd import permute_differentiably
from .execute import (
    Backend,
    check_out,
    check_size,
    check_tensor,
    choose,
    permute_data,
)
from .index_map import IndexMap
from .nibbles import NIBBLE_BITS, permute_nibbles
from .pointwise import Pointwise


def dispatch(
    tensor: torch.Tensor,
    layout: LinearLayout | AffineLayout,
    out: torch.Tensor | None,
    backend: Backend,
    pointwise: Pointwise | None,
    element_bits: int | None,
) -> torch.Tensor:
    """Check the arguments of ``permute`` and carry it out.

    Raises:
        LayoutError: What ``permute`` says.
    """
    map = IndexMap.from_layout(layout)
    tensor = check_tensor(tensor)
    if element_bits not in (None, 8 * tensor.element_size()):
        _check_nibbles(tensor, element_bits, pointwise)
        return permute_nibbles(tensor, map, out, backend)
    check_size(tensor, map)
    if pointwise is not None:
        return _with_pointwise(tensor, map, out, backend, pointwise)
    if out is not None:
        return permute_data(tensor, map, check_out(out, tensor), backend)
    if tensor.requires_grad and torch.is_grad_enabled():
        return permute_differentiably(tensor, map, backend)
    return permute_data(tensor, map, None, backend)


def _check_nibbles(
    tensor: torch.Tensor, element_bits: int | None, pointwise: Pointwise | None
) -> None:
    if element_bits != NIBBLE_BITS or pointwise is not None:
        raise SizeMismatchError(
            f"element_bits must be {NIBBLE_BITS}, without pointwise work, or the "
            f"tensor's {8 * tensor.element_size()}; got element_bits={element_bits}, "
            f"pointwise={pointwise}; view the tensor as another dtype",
            element_bits=element_bits,
        )


def _with_pointwise(
    tensor: torch.Tensor,
    map: IndexMap,
    out: torch.Tensor | None,
    backend: Backend,
    pointwise: Pointwise,
) -> torch.Tensor:
    """Return ``pointwise`` of a tensor, permuted: in one kernel where there is one."""
    if out is not None:
        check_out(out, tensor, dtype=pointwise.dtype)
    elif tensor.requires_grad and torch.is_grad_enabled():
        return permute_differentiably(pointwise.apply(tensor), map, backend)
    pointwise.check(tensor)
    if choose(backend, tensor.device) == "triton" and tensor.numel():
        from .vector_backend import run_fused

        source = tensor.detach().contiguous()
        target = out
        if target is None:
            target = torch.empty_like(source, dtype=pointwise.dtype)
        if run_fused(source, target, map, pointwise):
            return target
    return permute_data(pointwise.apply(tensor), map, out, backend)
