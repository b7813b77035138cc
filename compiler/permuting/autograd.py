"""The derivative of a permutation: the gradient goes back through the inverse map."""

from typing import Any

import torch

from .execute import Backend, permute_data
from .index_map import IndexMap


class Permutation(torch.autograd.Function):
    """``permute`` as a differentiable function of the tensor."""

    @staticmethod
    def forward(
        ctx: Any, tensor: torch.Tensor, map: IndexMap, backend: Backend
    ) -> torch.Tensor:
        """Return the permuted tensor."""
        ctx.map = map
        ctx.backend = backend
        return permute_data(tensor, map, None, backend)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        """Return the gradient; itself differentiable."""
        (gradient,) = gradients
        return (
            permute_differentiably(gradient, ctx.map.invert(), ctx.backend),
            None,
            None,
        )


def permute_differentiably(
    tensor: torch.Tensor, map: IndexMap, backend: Backend
) -> torch.Tensor:
    """Return the permuted tensor, recorded by autograd."""
    result: torch.Tensor = Permutation.apply(tensor, map, backend)  # type: ignore[no-untyped-call]  # torch's gap
    return result
