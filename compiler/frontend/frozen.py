"""The option ``freeze``: a model whose weights are taken as they are now.

Parameters and buffers become constants of the compiled graph. Each call looks whether
they are still the tensors that were frozen, unchanged: an assignment or a write in
place is seen, and such a call runs as captured, with a warning.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import fx

from compiler.errors import FallbackWarning, OptionError
from compiler.lower import decompositions
from compiler.options import Options
from compiler.torch_api import (
    boxed,
    differentiate,
    mutated_arguments,
    mutated_inputs,
    real_weights,
    unseen,
)

from .freeze import freeze
from .graph import compile_graph
from .overlap import unless_they_overlap
from .validator import Validator


def compile_frozen(
    graph: fx.GraphModule,
    example_inputs: Sequence[Any],
    options: Options,
    validator: Validator | None = None,
) -> Callable[..., Any]:
    """Compile a graph of Dynamo's for inference, with its weights as constants.

    Args:
        graph: What was captured.
        example_inputs: Its inputs, as Dynamo gives them.
        options: What the user asked for.
        validator: Checks the kernels where ``options.certify`` is set.

    Returns:
        A function of the graph's inputs, weights included.

    Raises:
        OptionError: Gradients are needed.
    """
    _refuse_gradients(graph, example_inputs)
    weights = real_weights(graph)
    mutated: tuple[int, ...] = ()

    def compiler(inner: fx.GraphModule, inputs: Sequence[Any]) -> Any:
        nonlocal mutated
        mutated = mutated_arguments(inputs, example_inputs)
        numbers = {n.name: number for number, n in enumerate(_placeholders(inner))}
        kept = freeze(inner, _constant(inner, weights))
        wanted = [node.name for node in _placeholders(inner)]
        filled = [kept.get(name) for name in wanted]
        places = [
            (place, numbers[name])
            for place, name in enumerate(wanted)
            if name not in kept
        ]
        fakes = [node.meta.get("val") for node in _placeholders(inner)]
        run = compile_graph(inner, fakes, options, validator, name="inference")

        def call(args: list[Any]) -> Any:
            given: list[Any] = list(filled)
            for place, number in places:
                given[place] = args[number]
            args.clear()
            return run(given)

        return boxed(call)

    def refuse(inner: fx.GraphModule, inputs: Sequence[Any]) -> Any:
        raise OptionError(_NEEDED)

    run = differentiate(
        graph,
        example_inputs,
        forward=refuse,
        backward=refuse,
        inference=compiler,
        decompositions=decompositions(),
    )
    as_written = unseen(graph.forward)
    run = unless_they_overlap(run, as_written, mutated, example_inputs)
    return _watched(run, as_written, weights)


_NEEDED = (
    'freeze=True is for inference, and this call needs gradients; call it under "with '
    'torch.no_grad():" or torch.inference_mode, or leave out the option'
)


def _refuse_gradients(graph: fx.GraphModule, inputs: Sequence[Any]) -> None:
    if not torch.is_grad_enabled():
        return
    for node, value in zip(_placeholders(graph), inputs, strict=True):
        if isinstance(value, torch.Tensor) and value.requires_grad:
            raise OptionError(f"{_NEEDED} ({node.name} requires a gradient)")


def _placeholders(graph: fx.GraphModule) -> list[fx.Node]:
    return [node for node in graph.graph.nodes if node.op == "placeholder"]


def _constant(
    inner: fx.GraphModule, weights: Mapping[int, torch.Tensor]
) -> dict[str, torch.Tensor]:
    """Return placeholder -> weight, for the weights that nothing writes."""
    written = set(mutated_inputs())
    found = {}
    for number, node in enumerate(_placeholders(inner)):
        weight, fake = weights.get(number), node.meta.get("val")
        if weight is None or number in written or not isinstance(fake, torch.Tensor):
            continue
        same = weight.shape == fake.shape and weight.stride() == fake.stride()
        if same and weight.dtype == fake.dtype and weight.device == fake.device:
            found[node.name] = weight
    return found


def _watched(
    run: Callable[..., Any],
    as_written: Callable[..., Any],
    weights: Mapping[int, torch.Tensor],
) -> Callable[..., Any]:
    """Return the function, whose calls look whether the weights are those frozen."""
    watched = [(n, weight, _version(weight)) for n, weight in weights.items()]
    told = False

    def call(*args: Any) -> Any:
        nonlocal told
        for number, weight, version in watched:
            if args[number] is not weight or _version(weight) != version:
                if not told:
                    told = True
                    warnings.warn(
                        "weights changed after they were frozen: calls run by "
                        "PyTorch's own operators; call torch.compiler.reset() to "
                        "freeze them as they are now",
                        FallbackWarning,
                        stacklevel=2,
                    )
                return as_written(*args)
        return run(*args)

    return unseen(call)


def _version(weight: torch.Tensor) -> int:
    """Return the number of writes to a tensor, 0 where PyTorch does not count them."""
    return 0 if weight.is_inference() else weight._version
