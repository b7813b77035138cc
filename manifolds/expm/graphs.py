"""The exponential of a larger matrix on a GPU, where launches cost more than the work.

One exponential is some forty small products and sums. Outside of a CUDA graph all of
them are recorded once into a graph for each size, scheme and count of squarings, which
the host then replays in one call; it waits for the device once, to read the norm.

Inside of a graph that somebody else records, the host cannot read anything. There the
device decides: ``MOST`` squarings are recorded, and each takes effect only where it is
due. A matrix that needs more gives NaN.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .jet import Plan, add_product, exp_of_jet, one_norms, parts, prepare
from .scheme import SCHEMES, choose, reach, squarings

MOST = 8
"""Squarings in a recorded graph: enough for norms up to 760 in float32."""

REMEMBERED = 32
"""Graphs that are kept; the one that was used longest ago goes first."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A graph, the tensors that it reads and the one that it writes."""

    graph: Any
    inputs: tuple[Tensor, ...]
    output: Tensor


_graphs: "OrderedDict[tuple[Any, ...], Recorded]" = OrderedDict()


def serves(matrix: Tensor) -> bool:
    """Tell whether a graph of one's own is used: for one matrix on an NVIDIA GPU.

    Args:
        matrix: [..., n, n].
    """
    return (
        matrix.device.type == "cuda"
        and torch.version.hip is None
        and matrix.numel() == matrix.shape[-1] ** 2 > 1
        and not torch.cuda.is_current_stream_capturing()
    )


def read_plan(matrix: Tensor, order: int = 1) -> Plan:
    """Choose scheme and squarings by the norm, for which the host waits.

    Args:
        matrix: One matrix [..., n, n].
        order: Of the highest derivative that must be accurate.
    """
    prepare(matrix.dtype, matrix.device)
    norm = float(one_norms(matrix.detach()))
    roundoff = torch.finfo(matrix.dtype).eps / 2
    whole = norm <= torch.finfo(matrix.dtype).max
    return Plan(
        choose(norm, order, roundoff) if whole else SCHEMES[0],
        (squarings(norm, order, roundoff),),
        () if whole else (0,),
    )


def replay(plan: Plan, *tensors: Tensor) -> Tensor:
    """Return the exponential, or its derivative in one direction.

    Args:
        plan: Of the matrix, or of its adjoint.
        tensors: The matrix, then the direction if there is one [..., n, n each].

    Returns:
        A new tensor, shaped as the matrix.
    """
    matrix = tensors[0]
    if plan.broken:
        return torch.full_like(matrix, torch.nan, memory_format=torch.contiguous_format)
    device = matrix.device
    stream = torch.cuda.current_stream(device).cuda_stream
    key = (
        *(device, stream, matrix.dtype, matrix.shape[-1]),
        *(len(tensors), plan.scheme.degree, plan.halvings),
    )
    if key in _graphs:
        _graphs.move_to_end(key)
    else:
        with torch.cuda.device(device):
            _graphs[key] = record(plan, tensors)
        while len(_graphs) > REMEMBERED:
            _graphs.popitem(last=False)
    recorded = _graphs[key]
    for own, tensor in zip(recorded.inputs, tensors, strict=True):
        own.view(tensor.shape).copy_(tensor.detach())
    recorded.graph.replay()
    return recorded.output.view(matrix.shape).clone()


def record(plan: Plan, tensors: Sequence[Tensor]) -> Recorded:
    """Record the evaluation of a plan; see ``replay``."""
    n = tensors[0].shape[-1]
    inputs = tuple(tensor.new_zeros(1, n, n) for tensor in tensors)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        exp_of_jet(inputs, plan)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        output = exp_of_jet(inputs, plan)[0][-1]
    return Recorded(graph, inputs, output)


def exp_unread(jet: Sequence[Tensor]) -> Tensor:
    """Return the last component of the exponential of a jet; the host reads nothing.

    Args:
        jet: 2**k components [batch, n, n each].

    Returns:
        [batch, n, n]; NaN for a matrix that is not finite or needs more than ``MOST``
        squarings.

    Example:
        >>> exp_unread([torch.zeros(1, 1, 1)])
        tensor([[[1.]]])
    """
    matrix = jet[0]
    order = max(len(jet).bit_length() - 1, 1)
    limit = reach(SCHEMES[-1].degree, order, torch.finfo(matrix.dtype).eps / 2)
    norms = one_norms(matrix)[:, None, None]
    counts = (norms / limit).log2().ceil().clamp(0, MOST)
    scaled = [component * torch.exp2(-counts) for component in jet]
    plan = Plan(SCHEMES[-1], (0,) * len(matrix), ())
    components, _ = exp_of_jet(scaled, plan)
    for done in range(MOST):
        due = counts > done
        squared = square(components)
        components = [
            torch.where(due, new, old)
            for new, old in zip(squared, components, strict=True)
        ]
    return components[-1].where(norms <= limit * 2**MOST, torch.nan)


def square(jet: Sequence[Tensor]) -> list[Tensor]:
    """Return all components of the square of a jet.

    Args:
        jet: 2**k components [batch, n, n each].
    """
    results = []
    for mask in range(len(jet)):
        total = torch.empty_like(jet[mask])
        for count, part in enumerate(parts(mask)):
            add_product(total, jet[part], jet[mask ^ part], int(count > 0))
        results.append(total)
    return results
