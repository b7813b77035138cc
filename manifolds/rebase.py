"""Move the bases of dynamic trivializations after the steps of an optimizer."""

from collections.abc import Iterator
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrize import ParametrizationList
from torch.optim import Optimizer
from torch.utils.hooks import RemovableHandle

from manifolds.errors import PolicyError
from manifolds.trivialization import Trivialization

State = Literal["keep", "reset", "transport"]

LINEAR_STATE = ("momentum_buffer", "exp_avg", "grad_avg")
"""What optimizers keep that is a linear function of gradients."""


def rebase_after_steps(
    optimizer: Optimizer, module: nn.Module, *, state: State = "keep"
) -> RemovableHandle:
    """Let each step of an optimizer count, and move the bases that are due.

    The hook runs when a step is over, so the next forward pass builds its graph in the
    new charts. It runs the same for compiled modules: base and parameters keep their
    storage.

    What an optimizer remembers of past gradients was measured in the old chart:
    ``"keep"`` leaves it (exact for groups, whose coordinates are those of the Lie
    algebra; a heuristic elsewhere), ``"reset"`` forgets it, ``"transport"`` projects
    what is linear in the gradients to the tangent space at the new base and leaves the
    second moments.

    Args:
        optimizer: Holds the parameters of the module.
        module: Its submodules are searched once, now.
        state: What becomes of the optimizer's state.

    Returns:
        A handle; ``remove()`` ends it.

    Raises:
        PolicyError: No such policy.

    Example:
        >>> from manifolds import orthogonal
        >>> layer = orthogonal(nn.Linear(3, 3), "weight", every=1)
        >>> optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
        >>> handle = rebase_after_steps(optimizer, layer)
        >>> layer(torch.ones(3)).sum().backward()
        >>> optimizer.step()
        >>> int(layer.parametrizations.weight[0].rebases)
        1

    Source: Lezcano-Casado, NeurIPS 2019, algorithm 5.1.
    """
    if state not in get_args(State):
        raise PolicyError(
            f"the policies are {', '.join(get_args(State))}, but state={state!r}",
            state=state,
        )
    found = list(trivializations(module))

    def after_step(optimizer: Optimizer, *_: Any) -> None:
        for trivialization, parameters in found:
            if trivialization.tick():
                trivialization.rebase(parameters)
                move_state(optimizer, trivialization, parameters, state)

    return optimizer.register_step_post_hook(after_step)


def trivializations(module: nn.Module) -> Iterator[tuple[Trivialization, list[Tensor]]]:
    """Yield all trivializations below a module, each with its parameters.

    Args:
        module: Any.

    Yields:
        The trivialization; one parameter for each part of its weight.

    Example:
        >>> list(trivializations(nn.Linear(1, 1)))
        []
    """
    for child in module.modules():
        if isinstance(child, ParametrizationList):
            first = child[0]
            if isinstance(first, Trivialization):
                yield first, originals(child)


def trivialization_parameters(module: nn.Module, name: str) -> list[Tensor]:
    """Return the parameters of a parametrized weight, one for each part.

    Args:
        module: Has the weight.
        name: Of the weight.

    Returns:
        The tensors that the optimizer sees.

    Example:
        >>> from manifolds import orthogonal
        >>> layer = orthogonal(nn.Linear(2, 2))
        >>> [p.shape for p in trivialization_parameters(layer, "weight")]
        [torch.Size([2, 2])]
    """
    lists: Any = module.parametrizations
    return originals(lists[name])


def originals(parametrizations: ParametrizationList) -> list[Tensor]:
    """Return the tensors that parametrize a weight, in order."""
    if not parametrizations.is_tensor:
        count: int = parametrizations.ntensors
        return [getattr(parametrizations, f"original{i}") for i in range(count)]
    return [parametrizations.original]


@torch.no_grad()
def move_state(
    optimizer: Optimizer,
    trivialization: Trivialization,
    parameters: list[Tensor],
    policy: State,
) -> None:
    """Carry an optimizer's state to the chart at the new base.

    Args:
        optimizer: Its state of these parameters is changed.
        trivialization: Its base has moved already.
        parameters: One for each part of the weight.
        policy: See ``rebase_after_steps``.
    """
    if policy == "keep":
        return
    parts = zip(
        trivialization.manifold.charts, trivialization.base, parameters, strict=True
    )
    for chart, base, parameter in parts:
        remembered = optimizer.state.get(parameter)
        if not remembered:
            continue
        if policy == "reset":
            optimizer.state[parameter] = {}
            continue
        for name in LINEAR_STATE:
            if isinstance(remembered.get(name), Tensor):
                remembered[name].copy_(chart.transport(base, remembered[name]))
