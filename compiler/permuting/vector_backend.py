"""Permutations on an NVIDIA GPU by 16-byte vectors on both sides."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Final

import torch

from compiler.triton_api import reinterpret, relaunch

from .granularity import absorb_batch
from .index_map import IndexMap
from .measurement import fastest
from .pointwise import Pointwise
from .vector_launch import VectorLaunch, plan_vector_launch
from .vector_plan import VECTOR_BYTES, WORD_BYTES
from .vector_search import ORDERS

_WORTH_MEASURING: Final = 1 << 28
"""From this size on, the order of programs is chosen by measurement [bytes]."""

_measured: dict[tuple[IndexMap, int, torch.device], VectorLaunch] = {}
_MAX_GRID: Final = (1 << 31) - 1
_READABLE: Final = frozenset(
    {torch.float32, torch.float16, torch.bfloat16, torch.int8, torch.uint8, torch.int16}
)
_FIRST_CAPABILITY: Final = (8, 0)
"""Asynchronous copies to shared memory begin here."""


def run_vectors(
    source: torch.Tensor, target: torch.Tensor, map: IndexMap, width: int, batch: int
) -> bool:
    """Write the permutation of ``source`` to ``target``, or say that it must not.

    Args:
        source: Contiguous, on a GPU [batch * 2**bits elements of ``width`` bytes].
        target: The same, on the same device, disjoint from ``source``.
        map: The permutation.
        width: 1, 2, 4 or 8 [bytes].
        batch: Copies of the map, one after another.

    Returns:
        Whether it is done: not on an older GPU, for a map smaller than a tile, or for
        addresses that are no multiples of a vector.
    """
    if (source.data_ptr() | target.data_ptr()) % VECTOR_BYTES or map.bits == 0:
        return False
    if not _has_asynchronous_copies(source.device):
        return False
    if width > WORD_BYTES:
        map, width = map.refine(), width // 2
    key = map, width, source.device
    launch = _measured.get(key) or plan_vector_launch(map, width)
    if launch is None:
        return False
    with torch.cuda.device(source.device):
        if (
            source.nbytes >= _WORTH_MEASURING
            and key not in _measured
            and not torch.cuda.is_current_stream_capturing()
        ):
            plans = [plan_vector_launch(map, width, order) for order in ORDERS]
            launches = [plan for plan in plans if plan is not None]
            actions = [partial(_run, one, source, target, batch) for one in launches]
            _measured[key] = launches[fastest(actions)]
        else:
            _run(launch, source, target, batch)
    return True


def _run(
    launch: VectorLaunch, source: torch.Tensor, target: torch.Tensor, batch: int
) -> None:
    kernel = _permutation(launch)
    for first, count in _pieces(batch, launch):
        kernel.run(
            count << launch.program_bits,
            reinterpret(_part(source, first, count, batch), WORD_BYTES),
            reinterpret(_part(target, first, count, batch), WORD_BYTES),
        )


def run_fused(
    source: torch.Tensor, target: torch.Tensor, map: IndexMap, pointwise: Pointwise
) -> bool:
    """Write ``pointwise`` of ``source``, permuted, to ``target``, if one kernel can.

    Args:
        source: Contiguous, on a GPU, float32 or narrower [batch * 2**bits].
        target: Contiguous, of the pointwise type, on the same device, disjoint.
        map: The permutation.
        pointwise: What is done before elements move.

    Returns:
        Whether it is done, as for ``run_vectors``.
    """
    if (source.data_ptr() | target.data_ptr()) % VECTOR_BYTES or map.bits == 0:
        return False
    if source.dtype not in _READABLE or not _has_asynchronous_copies(source.device):
        return False
    map, batch = absorb_batch(map, source.numel() >> map.bits)
    launch = plan_vector_launch(map, target.element_size(), fused=True)
    if launch is None:
        return False
    bias, first_bit = source, 0
    channels = 1
    if pointwise.bias is not None:
        bias = pointwise.bias.to(device=source.device, dtype=torch.float32).contiguous()
        channels, first_bit = len(bias), pointwise.first_bit
        if channels << first_bit > 1 << map.bits:
            return False
    kernel = _fused_kernel(launch, pointwise.dtype, channels, first_bit)
    with torch.cuda.device(source.device):
        for first, count in _pieces(batch, launch):
            kernel.run(
                count << launch.program_bits,
                _part(source, first, count, batch),
                reinterpret(_part(target, first, count, batch), WORD_BYTES),
                bias,
                float(pointwise.scale),
            )
    return True


@dataclass(slots=True)
class _Kernel:
    """A kernel with its constants, compiled at its first run for each signature."""

    function: Any
    constants: tuple[Any, ...]
    num_warps: int
    compiled: dict[Any, Any]

    def run(self, programs: int, *tensors: Any) -> None:
        arguments = (*tensors, *self.constants)
        key = (torch.cuda.current_device(), *(getattr(t, "dtype", 0) for t in tensors))
        ready = self.compiled.get(key)
        if ready is None:
            self.compiled[key] = self.function[(programs,)](
                *arguments, num_warps=self.num_warps
            )
        else:
            relaunch(ready, programs, arguments)


def _kernel(function: Any, constants: dict[str, Any], num_warps: int) -> _Kernel:
    names = [name for name in function.arg_names if name in constants]
    return _Kernel(function, tuple(constants[name] for name in names), num_warps, {})


@lru_cache(maxsize=256)
def _permutation(launch: VectorLaunch) -> _Kernel:
    from compiler.codegen.gluon.permute import kernel_constants, permute_kernel

    return _kernel(permute_kernel, kernel_constants(launch), launch.num_warps)


@lru_cache(maxsize=64)
def _fused_kernel(
    launch: VectorLaunch, dtype: torch.dtype, channels: int, first_bit: int
) -> _Kernel:
    from compiler.codegen.gluon.fused_permute import (
        fused_constants,
        fused_permute_kernel,
    )

    constants = fused_constants(launch, dtype, channels, first_bit)
    return _kernel(fused_permute_kernel, constants, launch.num_warps)


@lru_cache(maxsize=64)
def _has_asynchronous_copies(device: torch.device) -> bool:
    is_nvidia = torch.version.cuda is not None
    return is_nvidia and torch.cuda.get_device_capability(device) >= _FIRST_CAPABILITY


def _pieces(batch: int, launch: VectorLaunch) -> Iterator[tuple[int, int]]:
    """Yield start and number of batches that fit into one grid."""
    step = max(_MAX_GRID >> launch.program_bits, 1)
    for first in range(0, batch, step):
        yield first, min(step, batch - first)


def _part(tensor: torch.Tensor, first: int, count: int, batch: int) -> torch.Tensor:
    return tensor.view(batch, -1)[first : first + count]
