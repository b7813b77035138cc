"""The recurrence on a GPU: how a scan is cut into programs, and its launch."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import torch
from torch import Tensor

from compiler.triton_api import interpreted, relaunch

LARGEST = 512
"""The largest n."""

UNWRITTEN = -1
"""Bits of a NaN that arithmetic does not make: its NaNs are 0x7fffffff."""


@dataclass(frozen=True, slots=True)
class Cut:
    """How W and the batch are divided; see ``recurrence_kernel``.

    Args:
        parts: Tiles of W in each direction.
        k_tile: Rows of a tile.
        n_tile: Columns of a tile.
        split: Programs that share the columns.
        warps: Of a program.
        rows: Rows of the batch that a program serves.
    """

    parts: int
    k_tile: int
    n_tile: int
    split: int
    warps: int
    rows: int = 1

    def programs(self, batch: int) -> int:
        """Return how many programs serve a batch."""
        return -(-batch // self.rows) * self.split


_CUTS = {
    16: Cut(1, 16, 16, 1, 1),
    32: Cut(1, 32, 32, 1, 2),
    48: Cut(3, 16, 16, 1, 2),
    64: Cut(1, 64, 64, 1, 4),
    96: Cut(3, 32, 32, 1, 4),
    128: Cut(1, 128, 128, 1, 8),
    192: Cut(3, 64, 64, 1, 8),
    256: Cut(1, 256, 128, 2, 8),
    384: Cut(3, 128, 32, 4, 4),
    512: Cut(1, 512, 64, 8, 8),
}
"""Largest n -> a cut whose share of W fits the registers of one multiprocessor."""


def cut(n: int, batch: int, processors: int) -> Cut:
    """Return the cut for a size.

    Law: all programs run at once, if n needs several for its columns.

    Args:
        n: Columns, 1 to ``LARGEST``.
        batch: Rows of a step.
        processors: Multiprocessors of the device.

    Returns:
        The smallest tiles that hold n, and a power of two of rows.

    Example:
        >>> cut(190, 128, 132)
        Cut(parts=3, k_tile=64, n_tile=64, split=1, warps=8, rows=1)
        >>> cut(360, 128, 132).rows
        4
    """
    found = _CUTS[min(size for size in _CUTS if size >= n)]
    groups = max(processors // found.split, 1)
    rows = 1 << (-(-batch // groups) - 1).bit_length()
    return Cut(
        *(found.parts, found.k_tile, found.n_tile, found.split, found.warps),
        rows=rows,
    )


def serves(rows: Tensor) -> bool:
    """Tell whether the kernel takes such tensors: float32 on an NVIDIA GPU.

    Args:
        rows: Any tensor of the recurrence [..., n].
    """
    return (
        rows.device.type == "cuda"
        and torch.version.hip is None
        and rows.dtype == torch.float32
        and 1 <= rows.shape[-1] <= LARGEST
    )


def forward_launch(
    inputs: Tensor, start: Tensor, weight: Tensor, bias: Tensor, sizes: tuple[int, ...]
) -> Tensor:
    """Return h of all steps, as ``forward_loop`` does.

    Args:
        inputs: x of all steps, packed [rows, n].
        start: h before the first step [sizes[0], n].
        weight: B [n, n].
        bias: b [n].
        sizes: Rows of each step, not increasing.

    Returns:
        h, packed [rows, n].
    """
    kept = places(sizes, inputs.device)
    x = pad(inputs, kept, sizes)
    out, _ = launch(x, start, weight, bias, None)
    return out.flatten(0, 1) if kept is None else out.flatten(0, 1)[kept]


def backward_launch(
    gradient: Tensor,
    states: Tensor,
    weight: Tensor,
    bias: Tensor,
    sizes: tuple[int, ...],
) -> tuple[Tensor, Tensor]:
    """Return the gradients that ``backward_loop`` returns.

    Args:
        gradient: With respect to h of all steps, packed [rows, n].
        states: h, packed [rows, n].
        weight: B [n, n].
        bias: b [n].
        sizes: Rows of each step.

    Returns:
        With respect to ``x_t + h_{t-1} B``, packed [rows, n]; and to b [n].
    """
    kept = places(sizes, states.device)
    x, h = pad(gradient, kept, sizes), pad(states, kept, sizes)
    start = states.new_zeros(sizes[0] if sizes else 0, states.shape[-1])
    out, to_bias = launch(x, start, weight.T, bias, h)
    before = out.flatten(0, 1)
    return (before if kept is None else before[kept]), to_bias


@lru_cache(maxsize=256)  # tensors on the GPU: lengths that come no more must go
def places(sizes: tuple[int, ...], device: torch.device) -> Tensor | None:
    """Return where packed rows lie when all steps have equal room; None if they do.

    Args:
        sizes: Rows of each step.
        device: Of the result.

    Returns:
        Integers [rows], or None.

    Example:
        >>> places((2, 1), torch.device("cpu")).tolist()
        [0, 1, 2]
        >>> places((2, 2), torch.device("cpu"))
    """
    if not sizes or sizes[-1] == sizes[0]:
        return None
    rows = [t * sizes[0] + row for t, size in enumerate(sizes) for row in range(size)]
    return torch.tensor(rows, device=device)


def pad(packed: Tensor, kept: Tensor | None, sizes: tuple[int, ...]) -> Tensor:
    """Give all steps equal room, with zeros where sequences have ended.

    Args:
        packed: [rows, n].
        kept: Of ``places``.
        sizes: Rows of each step.

    Returns:
        Contiguous [steps, sizes[0], n].
    """
    n = packed.shape[-1]
    batch = sizes[0] if sizes else 0
    if kept is None:
        return packed.contiguous().view(len(sizes), batch, n)
    room = packed.new_zeros(len(sizes) * batch, n)
    room[kept] = packed
    return room.view(len(sizes), batch, n)


def launch(
    x: Tensor,
    start: Tensor,
    weight: Tensor,
    bias: Tensor,
    states: Tensor | None,
    *,
    chosen: Cut | None = None,
    interpret: bool = False,
) -> tuple[Tensor, Tensor]:
    """Run one scan in one launch.

    Args:
        x: [steps, batch, n].
        start: y before the first step [batch, n].
        weight: Multiplied from the right [n, n].
        bias: [n].
        states: h [steps, batch, n] for the backward scan; None for the forward one.
        chosen: The cut, if not that of ``cut``.
        interpret: Run in Triton's interpreter, on the CPU, a launch for each step.

    Returns:
        y [steps, batch, n]; ``sum sign(h) y`` over steps and batch [n]
        (unset in a forward scan).
    """
    steps, batch, n = x.shape
    chosen = chosen or cut(n, batch, processors(x.device))
    backward = states is not None
    groups = -(-batch // chosen.rows)
    out = torch.empty_like(x)
    sums = x.new_zeros(groups, n) if backward or interpret else x.new_empty(1, n)
    if not out.numel():
        return out, sums.sum(0)
    wait = chosen.split > 1 and not interpret
    if wait:
        out.view(torch.int32).fill_(UNWRITTEN)
    tensors = (
        x,
        weight.contiguous(),
        bias.contiguous(),
        x if states is None else states,
        start.contiguous(),
        out,
        sums,
    )
    sizes = (steps, batch, n)
    constants = (
        *(backward, chosen.parts, chosen.k_tile, chosen.n_tile),
        *(chosen.split, chosen.rows, wait),
    )
    programs = groups * chosen.split
    if interpret:
        kernel = interpreted(choose_kernel())
        for t in range(steps):
            kernel[(programs,)](*tensors, t, t + 1, *sizes, *constants)
    else:
        arguments = (*tensors, 0, steps, *sizes, *constants)
        submit(x.device, programs, arguments, chosen.warps, wait)
    return out, sums.sum(0) if backward else sums[0]


_ready: dict[tuple[Any, ...], Any] = {}
"""Compiled kernels, which are launched again without looking at their arguments."""


def submit(
    device: torch.device,
    programs: int,
    arguments: tuple[Any, ...],
    warps: int,
    together: bool,
) -> None:
    """Launch the kernel on a GPU.

    Args:
        device: A GPU.
        programs: Number of programs.
        arguments: All, in the kernel's order.
        warps: Of a program.
        together: Whether all programs must run at once.
    """
    with on_device(device):
        aligned = not any(t.data_ptr() % 16 for t in arguments[:7])
        key = (device, aligned, warps, *arguments[10:])
        if key in _ready:
            relaunch(_ready[key], programs, arguments)
            return
        options = {"launch_cooperative_grid": True} if together else {}
        compiled = choose_kernel()[(programs,)](*arguments, num_warps=warps, **options)
        if aligned:
            _ready[key] = compiled


def choose_kernel() -> Any:
    """Return the kernel; loads Triton."""
    from .kernel import recurrence_kernel

    return recurrence_kernel


def on_device(device: torch.device) -> AbstractContextManager[object]:
    """Return the context in which a launch goes to this device.

    Args:
        device: A GPU.
    """
    if device.index == torch.cuda.current_device():
        return nullcontext()
    return torch.cuda.device(device)


@cache
def processors(device: torch.device) -> int:
    """Return the number of multiprocessors; 1 on a CPU.

    Args:
        device: Any.
    """
    if device.type != "cuda":
        return 1
    return torch.cuda.get_device_properties(device).multi_processor_count
