"""Masks of attention that are known when a graph is compiled.

Models build masks from ranges of positions, as ``arange(n)[:, None] >= 0`` where every
position is seen; eager mode often finds in time that such a mask lets everything pass.
A mask given to the call keeps PyTorch from its quickest kernels, all the more an
expanded one. So masks that depend on nothing but constants are computed here: one that
lets everything pass goes, and one that lets a query see the keys up to its own position
becomes ``is_causal``. Source: what ``scaled_dot_product_attention`` documents of
``attn_mask`` and ``is_causal``.
"""

import operator
from collections.abc import Callable, Iterator
from typing import Any, Final

import torch
from torch import fx

from compiler.torch_api import real_tensors

LARGEST: Final = 1 << 26
"""Elements of an array beyond which no mask is computed."""

_ATTENTION: Final = torch.nn.functional.scaled_dot_product_attention
_NAMES: Final = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")

_CONSTANTS: Final[frozenset[Callable[..., Any]]] = frozenset(
    {torch.arange, torch.full, torch.ones, torch.zeros}
)
_FRESH: Final[frozenset[Callable[..., Any]]] = frozenset(
    {
        *(operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod),
        *(operator.ge, operator.gt, operator.le, operator.lt, operator.eq, operator.ne),
        *(operator.and_, operator.or_, operator.xor, operator.invert, operator.neg),
        *(torch.tril, torch.triu, torch.where, torch.logical_and, torch.logical_or),
        *(torch.logical_not, torch.abs),
    }
)
_VIEWS: Final[frozenset[Callable[..., Any]]] = frozenset(
    {operator.getitem, torch.unsqueeze, torch.transpose, torch.broadcast_to}
)
_FRESH_METHODS: Final = frozenset(
    {"tril", "triu", "masked_fill", "logical_not", "logical_and", "logical_or", "abs"}
    | {"clone"}
)
_VIEW_METHODS: Final = frozenset(
    {"expand", "view", "reshape", "unsqueeze", "squeeze", "transpose", "permute"}
    | {"to", "bool", "contiguous", "expand_as", "view_as"}
)
# calls whose results share no memory with their arguments, and that write to none
_READERS: Final[frozenset[Callable[..., Any]]] = frozenset(
    {_ATTENTION, torch.nn.functional.embedding}
)


def without_idle_masks(graph: fx.GraphModule) -> int:
    """Take masks out of calls of attention that do without them.

    Law: the call attends to the same keys. Masks that depend on an input, on a random
    number or on a size that is not known stay, and so does one that is written to.

    Args:
        graph: As Dynamo captured it; it is changed.

    Returns:
        How many calls were changed.
    """
    seen: dict[fx.Node, torch.Tensor | None] = {}
    changed = 0
    for node in graph.graph.nodes:
        if node.op != "call_function" or node.target is not _ATTENTION:
            continue
        given = {**dict(zip(_NAMES, node.args, strict=False)), **node.kwargs}
        mask = given.get("attn_mask")
        if not isinstance(mask, fx.Node) or given.get("is_causal", False) is not False:
            continue
        if mask not in seen:
            seen[mask] = _passes(mask)
        meaning = _meaning(seen[mask], given["query"], given["key"])
        if meaning is None:
            continue
        given["attn_mask"] = None
        if meaning == "causal":
            given["is_causal"] = True
        node.args = tuple(given.pop(name) for name in _NAMES[:3])
        node.kwargs = given
        changed += 1
    if changed:
        graph.recompile()
    return changed


def _passes(mask: fx.Node) -> torch.Tensor | None:
    """Return which keys a mask lets pass, or None if that is not known."""
    cone = _cone(mask)
    if not cone or any(_is_written(node) for node in cone):
        return None
    with torch.no_grad(), real_tensors():
        try:
            value = _computed(cone)[mask]
        except (RuntimeError, TypeError, ValueError, IndexError):
            return None  # eager mode has something to say of it
        if not isinstance(value, torch.Tensor) or value.dim() < 2:
            return None
        if value.dtype == torch.bool:
            return value
        if not value.is_floating_point():
            return None
        passes = value == 0
        only = passes | (value == -torch.inf)
        return passes if bool(only.all()) else None


def _meaning(passes: torch.Tensor | None, query: fx.Node, key: fx.Node) -> str | None:
    """Return "all" or "causal", or None where a mask is another one, or not known.

    A mask may have one row for all queries, and may even give the result more dims or
    batches than the queries have; such a one stays.
    """
    asks, holds = (node.meta.get("example_value") for node in (query, key))
    if not isinstance(asks, torch.Tensor) or not isinstance(holds, torch.Tensor):
        return None
    if passes is None or passes.dim() > asks.dim():
        return None
    scores = (*asks.shape[:-1], holds.shape[-2])
    for mine, wanted in zip(passes.shape[::-1], scores[::-1], strict=False):
        if mine != 1 and not (isinstance(wanted, int) and mine == wanted):
            return None
    with torch.no_grad(), real_tensors():
        for dim in range(passes.dim()):
            if passes.stride(dim) == 0 and passes.shape[dim] > 1:
                passes = passes.narrow(dim, 0, 1)
        if bool(passes.all()):
            return "all"
        if not all(isinstance(extent, int) for extent in scores[-2:]):
            return None
        lower = torch.ones(scores[-2:], dtype=torch.bool).tril()
        return "causal" if bool((passes == lower).all()) else None


def _cone(mask: fx.Node) -> list[fx.Node]:
    """Return all that a mask is computed from, in order; nothing if not known."""
    found: dict[fx.Node, None] = {}
    waiting = [mask]
    while waiting:
        node = waiting.pop()
        if node in found:
            continue
        if not _is_known(node) or _elements(node) > LARGEST:
            return []
        found[node] = None
        waiting.extend(node.all_input_nodes)
    return [node for node in mask.graph.nodes if node in found]


def _is_known(node: fx.Node) -> bool:
    if node.op == "call_method":
        return node.target in _FRESH_METHODS | _VIEW_METHODS
    if node.op != "call_function" or "out" in node.kwargs:
        return False
    return node.target in _CONSTANTS | _FRESH | _VIEWS


def _elements(node: fx.Node) -> int:
    """Return the elements that a node's array has in memory, as far as is known."""
    value = node.meta.get("example_value")
    if not isinstance(value, torch.Tensor):
        return 1
    total = 1
    for extent, stride in zip(value.shape, value.stride(), strict=True):
        if not isinstance(extent, int):
            return LARGEST + 1
        total *= extent if stride != 0 else 1
    return total


def _is_written(node: fx.Node) -> bool:
    """Return whether something may write to the memory of a node of a cone."""
    return any(not _only_reads(user) for user in _users(node))


def _users(node: fx.Node) -> Iterator[fx.Node]:
    """Yield who sees a node's memory: its users, and those of its views."""
    seen: set[fx.Node] = set()
    waiting = list(node.users)
    while waiting:
        user = waiting.pop()
        if user in seen:
            continue
        seen.add(user)
        yield user
        if user.target in _VIEWS | _VIEW_METHODS:
            waiting.extend(user.users)


def _only_reads(user: fx.Node) -> bool:
    return _is_known(user) or (user.op == "call_function" and user.target in _READERS)


def _computed(cone: list[fx.Node]) -> dict[fx.Node, Any]:
    """Return the value of each node, computed on the CPU."""
    values: dict[fx.Node, Any] = {}
    for node in cone:
        args = fx.map_arg(node.args, values.__getitem__)
        kwargs = dict(fx.map_arg(node.kwargs, values.__getitem__))
        if "device" in kwargs:
            kwargs["device"] = "cpu"
        if node.op == "call_method":
            owner, *rest = args
            rest = [_on_cpu(arg) for arg in rest]
            values[node] = getattr(owner, str(node.target))(*rest, **kwargs)
        else:
            assert callable(node.target)
            values[node] = node.target(*args, **kwargs)
    return values


def _on_cpu(value: Any) -> Any:
    is_device = isinstance(value, torch.device) or (
        isinstance(value, str) and value.split(":")[0] in ("cuda", "cpu")
    )
    return "cpu" if is_device else value
