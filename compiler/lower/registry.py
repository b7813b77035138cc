"""The table of lowerings. It is open: a package above may register its own."""

from collections.abc import Callable
from typing import Any, TypeVar

from torch import fx

LOWERINGS: dict[Any, Callable[..., Any]] = {}
"""Operator -> function of (builder, *args, **kwargs), see :func:`lowering`."""

REWRITES: list[Callable[[fx.GraphModule], object]] = []
"""Functions that change a captured graph in place before it is lowered."""

JOINT_REWRITES: list[Callable[[fx.GraphModule], None]] = []
"""Functions that change a training graph before it is cut into two halves."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


class NotLowered(Exception):  # noqa: N818 - a decision
    """A lowering does not take these arguments: the operator is called instead.

    The message is the reason that the trace shows.
    """


def lowering(*targets: Any) -> Callable[[_Function], _Function]:
    """Register a function as the lowering of operators.

    The function gets the builder and the operator's arguments: an
    :class:`~compiler.lower.builder.Array` for each tensor, an index expression for
    each symbolic size, all else as it is. It returns an array, or a tuple of arrays
    and None for several results, or raises :class:`NotLowered`. The last registration
    of an operator wins.

    Args:
        targets: Operators (``torch.ops.aten.add.Tensor``).
    """

    def register(function: _Function) -> _Function:
        for target in targets:
            LOWERINGS[target] = function
        return function

    return register


def rewriting(function: _Function) -> _Function:
    """Register a function that rewrites graphs of ATen operators before lowering.

    It gets the graph module, with fake tensors in ``meta["val"]``, and changes it in
    place to one that computes the same. All are run, in the order of registration.

    Args:
        function: Of a ``torch.fx.GraphModule``.
    """
    if function not in REWRITES:
        REWRITES.append(function)
    return function


def rewriting_both(function: _Function) -> _Function:
    """Register a function that rewrites training graphs before they are cut in two.

    As :func:`rewriting`, but it sees the forward and the backward half together, and
    what is kept between them is chosen afterwards.

    Args:
        function: Of a ``torch.fx.GraphModule``.
    """
    if function not in JOINT_REWRITES:
        JOINT_REWRITES.append(function)
    return function
