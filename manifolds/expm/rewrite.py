"""Rewrite PyTorch's exponential in a captured graph to the operator of this package.

PyTorch differentiates ``matrix_exp`` by the exponential of a block of twice the size,
``exp [[A, E], [0, A]] = [[exp A, L(A, E)], [0, exp A]]``, of which it keeps one corner.
In a graph that is two rows joined to a block, one exponential and two slices. The
rewrite finds them and asks for ``L(A, E)`` alone: a third of the arithmetic, a scaling
that does not depend on E, and so an error that does not grow with it. All other
exponentials become the operator too.
"""

from typing import Any

import torch
from torch import fx

from compiler.lower import rewriting

from .operator import frechet_operator

_ATEN = torch.ops.aten
_ZEROS = (_ATEN.zeros_like.default, _ATEN.zeros.default, _ATEN.new_zeros.default)
_FULL = (_ATEN.full.default, _ATEN.full_like.default, _ATEN.new_full.default)
_DTYPES = (torch.float32, torch.float64, torch.complex64, torch.complex128)


@rewriting
def use_frechet(module: fx.GraphModule) -> int:
    """Replace the exponentials of a graph of ATen operators, in place.

    Law: the graph computes the same, up to rounding.

    Args:
        module: Has tensors (fake ones will do) in ``meta["val"]`` of its nodes.

    Returns:
        How many exponentials were replaced.

    Example:
        >>> from torch.fx.experimental.proxy_tensor import make_fx
        >>> graph = make_fx(torch.matrix_exp)(torch.eye(2))
        >>> use_frechet(graph), float(graph(torch.zeros(1, 1)))
        (1, 1.0)
    """
    found = [
        node
        for node in module.graph.nodes
        if node.target is _ATEN.linalg_matrix_exp.default
        and node.meta["val"].dtype in _DTYPES
    ]
    for node in found:
        block = read_block(node.args[0])
        corners = block and read_corners(node, block[0].meta["val"].shape[-1])
        if block and corners:
            for corner in corners:
                _replace(module, corner, block[0], [block[1]])
        else:
            _replace(module, node, node.args[0], [])
    if found:
        module.graph.eliminate_dead_code()
        module.recompile()
    return len(found)


def read_block(node: Any) -> tuple[fx.Node, fx.Node] | None:
    """Return A and E of a block ``[[A, E], [0, A]]``, or None.

    Args:
        node: What is exponentiated.
    """
    rows = _joined(node, 2)
    if rows is None:
        return None
    upper, lower = (_joined(row, 1) for row in rows)
    if upper is None or lower is None:
        return None
    (matrix, direction), (zero, again) = upper, lower
    same = matrix is again and _is_zero(zero)
    same &= matrix.meta["val"].shape == direction.meta["val"].shape
    return (matrix, direction) if same else None


def read_corners(node: fx.Node, size: int) -> list[fx.Node] | None:
    """Return the slices that are upper right corners, or None if more is read.

    Args:
        node: Exponential of a block.
        size: n of the block's parts.
    """
    corners = []
    for half in node.users:
        if not _is_slice(half, 2, 0, size):
            return None
        for corner in half.users:
            if not _is_slice(corner, 1, size, 2 * size):
                return None
            corners.append(corner)
    return corners


def _joined(node: Any, from_the_end: int) -> tuple[fx.Node, fx.Node] | None:
    """Return the two parts of a concatenation along this dim, or None."""
    if not isinstance(node, fx.Node) or node.target is not _ATEN.cat.default:
        return None
    parts = node.args[0]
    dim: Any = node.args[1] if len(node.args) > 1 else 0
    rank = node.meta["val"].dim()
    if not isinstance(parts, list | tuple) or len(parts) != 2:
        return None
    if dim % rank != rank - from_the_end:
        return None
    one, other = parts
    if not isinstance(one, fx.Node) or not isinstance(other, fx.Node):
        return None
    return one, other


def _is_zero(node: fx.Node) -> bool:
    if node.target in _FULL:
        value = node.args[-1]
        return isinstance(value, int | float) and value == 0
    return node.target in _ZEROS


def _is_slice(node: fx.Node, from_the_end: int, start: int, end: int) -> bool:
    if node.target is not _ATEN.slice.Tensor or len(node.args) < 4:
        return False
    value = node.args[0]
    assert isinstance(value, fx.Node)
    shape = value.meta["val"].shape
    dim, first, last = node.args[1:4]
    if not (isinstance(dim, int) and isinstance(first, int) and isinstance(last, int)):
        return False
    if dim % len(shape) != len(shape) - from_the_end:
        return False
    return (first, min(last, shape[dim])) == (start, end) and node.args[4:] in (
        (),
        (1,),
    )


def _replace(
    module: fx.GraphModule, node: fx.Node, matrix: Any, directions: list[Any]
) -> None:
    target = torch.ops.tilewright.frechet.default
    assert frechet_operator is not None  # its module registers the operator
    with module.graph.inserting_before(node):
        made = module.graph.call_function(target, (matrix, directions))
    made.meta = dict(node.meta)
    node.replace_all_uses_with(made)
    module.graph.erase_node(node)
