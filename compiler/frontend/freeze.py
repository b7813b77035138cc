"""Weights that never change: what depends on them alone is computed beforehand."""

import operator
from collections.abc import Mapping
from typing import Any

import torch
from torch import fx

from compiler.torch_api import fake_of, is_overload, real_tensors

aten = torch.ops.aten

LARGEST: int = 1 << 26
"""Results with more elements than this are left to the run [elements]."""


def freeze(
    graph: fx.GraphModule, weights: Mapping[str, torch.Tensor]
) -> dict[str, torch.Tensor]:
    """Fold what depends on weights alone, and normalisations into convolutions.

    Args:
        graph: Of ATen operators, in evaluation mode; changed in place. Placeholders
            of weights may vanish and new ones are added before all others.
        weights: Placeholder's name -> value.

    Returns:
        The weights that the new graph takes, by placeholder.
    """
    frozen = _Frozen(graph, weights)
    frozen.fold_normalisations()
    frozen.fold()
    return frozen.finish()


class _Frozen:
    def __init__(
        self, graph: fx.GraphModule, weights: Mapping[str, torch.Tensor]
    ) -> None:
        self.graph = graph
        self.values: dict[fx.Node, torch.Tensor] = {
            node: weights[node.name]
            for node in graph.graph.nodes
            if node.op == "placeholder" and node.name in weights
        }
        self.first = next(iter(graph.graph.nodes))
        self.count = 0

    def constant(self, value: torch.Tensor, like: Any) -> fx.Node:
        """Return a new placeholder for a value."""
        with self.graph.graph.inserting_before(self.first):
            node = self.graph.graph.placeholder(f"frozen_{self.count}")
        self.count += 1
        node.meta["val"] = fake_of(value, like)
        self.values[node] = value
        return node

    def fold(self) -> None:
        """Replace operators on weights by their results."""
        for node in list(self.graph.graph.nodes):
            inputs = node.all_input_nodes
            if not inputs or not all(arg in self.values for arg in inputs):
                continue
            fake = node.meta.get("val")
            if not _foldable(node) or not isinstance(fake, torch.Tensor):
                continue
            if fake.numel() > LARGEST:
                continue
            args, kwargs = fx.map_arg((node.args, node.kwargs), self.values.__getitem__)
            with real_tensors(), torch.no_grad():
                value = node.target(*args, **kwargs)
            node.replace_all_uses_with(self.constant(value, fake))

    def fold_normalisations(self) -> None:
        """Scale a convolution's weights where a fixed normalisation follows it."""
        for node in list(self.graph.graph.nodes):
            if node.target is not aten._native_batch_norm_legit_no_training.default:
                continue
            convolution, *parameters = node.args[:5]
            if not self._folds(convolution, parameters):
                continue
            with real_tensors(), torch.no_grad():
                scaled, moved = self._scaled(
                    convolution, parameters, float(node.args[6])
                )
            fake = convolution.meta["val"]
            args = list(convolution.args)
            args[1] = self.constant(scaled, fake)
            args[2] = self.constant(moved, fake)
            convolution.args = tuple(args)
            for user in list(node.users):
                user.replace_all_uses_with(convolution)

    def _scaled(
        self, convolution: fx.Node, parameters: list[Any], epsilon: float
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return a convolution's weight and bias with a normalisation in them."""
        gamma, beta, mean, variance = (
            None if p is None else self.values[p].double() for p in parameters
        )
        assert mean is not None and variance is not None
        weight_node: Any = convolution.args[1]
        bias: Any = convolution.args[2]
        weight = self.values[weight_node]
        scale = torch.rsqrt(variance + epsilon)
        if gamma is not None:
            scale = scale * gamma
        shift = 0.0 if bias is None else self.values[bias].double()
        moved = (shift - mean) * scale
        if beta is not None:
            moved = moved + beta
        shape = (-1, *[1] * (weight.dim() - 1))
        scaled = (weight.double() * scale.view(shape)).to(weight.dtype)
        return scaled, moved.to(weight.dtype)

    def _folds(self, convolution: Any, parameters: list[Any]) -> bool:
        if not isinstance(convolution, fx.Node) or len(convolution.users) != 1:
            return False
        if convolution.target is not aten.convolution.default:
            return False
        if convolution.args[6]:  # transposed: its channels are another dim
            return False
        wanted = [*convolution.args[1:3], *parameters]
        if not all(p is None or p in self.values for p in wanted):
            return False
        (user,) = convolution.users
        return all(
            n.target is operator.getitem and (n.args[1] == 0 or not n.users)
            for n in user.users
        )

    def finish(self) -> dict[str, torch.Tensor]:
        """Remove what is dead; return the weights that are left."""
        graph = self.graph.graph
        graph.eliminate_dead_code()
        for node in list(graph.nodes):
            if node in self.values and not node.users:
                graph.erase_node(node)
        self.graph.recompile()
        return {
            node.name: self.values[node] for node in graph.nodes if node in self.values
        }


def _foldable(node: fx.Node) -> bool:
    if node.op != "call_function" or not is_overload(node.target):
        return False
    target: Any = node.target
    random = torch.Tag.nondeterministic_seeded in target.tags
    return not random and not target._schema.is_mutable
