"""Launching the kernel of a quantised matmul on a GPU."""

from functools import cache
from typing import Any

import torch

from compiler.codegen.gluon.emission import load_module
from compiler.codegen.gluon.quantised_matmul import KERNEL, KernelText, kernel_text
from compiler.errors import BackendError
from compiler.mixed.choose import WGMMA_ARCH, default_tiling
from compiler.mixed.pack import PackedWeight
from compiler.mixed.tiling import MOST_COLUMNS, Problem, Tiling

MOST_ELEMENTS = 2**31 - 1
"""Indices of elements are 32-bit."""

LEAST_ARCH = 90
"""Compute capability times ten that the kernels need."""

ALIGNMENT = 16
"""Of all pointers [bytes]."""


@cache
def build(
    problem: Problem, tiling: Tiling, ragged: bool, arch: int = 90
) -> tuple[KernelText, Any]:
    """Return a kernel's text and the compiled kernel; imports triton.

    Args:
        problem: What is computed.
        tiling: How it is cut.
        ragged: Whether m may be no multiple of ``tiling.rows``.
        arch: Compute capability times ten; the GPU need not be there.

    Raises:
        BackendError: The tiling needs another GPU.
        DimMismatchError: The tiling does not fit the problem.
    """
    from compiler.triton_api import compile_gluon

    if tiling.wgmma and arch != WGMMA_ARCH:
        raise BackendError(
            f"a tiling with wgmma needs a GPU of sm_{WGMMA_ARCH}, got arch=sm_{arch}; "
            "leave the choice of the tiling to quantised_matmul"
        )
    text = kernel_text(problem, tiling, ragged=ragged)
    compiled = compile_gluon(
        getattr(load_module(text.text), KERNEL),
        text.signature,
        {},
        aligned=[name for name, kind in text.signature.items() if kind[0] == "*"],
        num_warps=text.num_warps,
        arch=arch,
        dependent=tiling.dependent,
    )
    return text, compiled


@cache
def arch_of(device: torch.device) -> int:
    """Return the compute capability of a GPU times ten.

    Raises:
        BackendError: The GPU cannot run the kernels.
    """
    major, minor = torch.cuda.get_device_capability(device)
    check_arch(10 * major + minor, torch.version.hip)
    return 10 * major + minor


def check_arch(arch: int, hip: str | None) -> None:
    """Raise where a GPU lacks the kernels' instructions (packed bf16 arithmetic).

    Args:
        arch: Compute capability times ten.
        hip: Version of ROCm, None on NVIDIA's GPUs.

    Raises:
        BackendError: Names what is needed and the way out.
    """
    if arch < LEAST_ARCH or hip:
        raise BackendError(
            f"quantised matmuls need an NVIDIA GPU of sm_{LEAST_ARCH} or later, got "
            f"arch=sm_{arch}, hip={hip}; multiply with weight.dequantise()"
        )


class Counters:
    """Counters of the splits of some launches, zero between launches.

    Launches take slots in turn, so that those on other streams, and those recorded in
    CUDA graphs, do not meet.

    Attributes:
        slots: int32 zeros [slots, tiles].
    """

    SLOTS = 64
    TILES = 4096

    def __init__(self, device: torch.device) -> None:
        """Allocate them."""
        shape = (self.SLOTS, self.TILES)
        self.slots = torch.zeros(shape, dtype=torch.int32, device=device)
        self.taken = 0

    def take(self, tiles: int) -> torch.Tensor:
        """Return counters for one launch, all zero."""
        if tiles > self.TILES:
            return torch.zeros(tiles, dtype=torch.int32, device=self.slots.device)
        self.taken = (self.taken + 1) % self.SLOTS
        return self.slots[self.taken]


_COUNTERS: dict[torch.device, Counters] = {}


def _counters(device: torch.device, tiles: int) -> torch.Tensor:
    if device not in _COUNTERS:
        if torch.cuda.is_current_stream_capturing():
            # what is allocated now belongs to the graph: nobody else may have it
            return torch.zeros(tiles, dtype=torch.int32, device=device)
        _COUNTERS[device] = Counters(device)
    return _COUNTERS[device].take(tiles)


def launch(
    x: torch.Tensor,
    weight: PackedWeight,
    out: torch.Tensor,
    tiling: Tiling | None = None,
) -> None:
    """Launch ``out = x @ weight^T``.

    Args:
        x: Contiguous [m, k], of the weight's ``dtype``, on its device.
        weight: Packed.
        out: Contiguous [m, n], of the same type.
        tiling: How the kernel cuts the problem; None chooses.

    Raises:
        BackendError: The GPU or the tiling cannot be used.
    """
    problem = weight.problem
    each = tiling.rows if tiling else MOST_COLUMNS
    strip = MOST_ELEMENTS // max(problem.n, problem.k) // each * each
    for first in range(0, x.shape[0], strip):
        rows = slice(first, first + strip)
        _launch(x[rows], weight, out[rows], tiling)


def _choose(
    problem: Problem, m: int, arch: int, given: Tiling | None
) -> tuple[Tiling, KernelText, Any]:
    """Return a tiling and its kernel: of those worth it the first that can be used.

    ptxas (12.8) has been seen to lose values of warpgroups' kernels whose registers it
    keeps in local memory, so those are not used.
    """
    from compiler.triton_api import spilled

    archs = (arch, 0)  # 0: for any GPU
    choices = (default_tiling(problem, m, arch=a) for a in archs)
    for tiling in (given,) if given else choices:
        text, compiled = build(problem, tiling, m % tiling.rows != 0, arch)
        if not (tiling.wgmma and spilled(compiled)):
            return tiling, text, compiled
    raise BackendError(
        "a kernel with wgmma does not fit into registers with rows="
        f"{tiling.rows}, row_tiles={tiling.row_tiles}, depth={tiling.depth}; use fewer "
        "of them, or leave out the tiling"
    )


def _launch(
    x: torch.Tensor, weight: PackedWeight, out: torch.Tensor, given: Tiling | None
) -> None:
    from compiler.triton_api import launch_compiled

    m = x.shape[0]
    with torch.cuda.device(x.device):
        tiling, text, compiled = _choose(weight.problem, m, arch_of(x.device), given)
    strips = -(-m // tiling.rows)
    partial = counter = weight.weight  # not read without splits
    if tiling.splits > 1:
        tiles = text.programs[0] * strips
        size = tiles * tiling.splits * tiling.columns * tiling.rows
        partial = torch.empty(size, dtype=torch.float32, device=x.device)
        counter = _counters(x.device, tiles)
    zeros = weight.weight if weight.zeros is None else weight.zeros.view(torch.int32)
    pointers = (weight.weight, weight.scales, zeros, _aligned(x), out, partial, counter)
    with torch.cuda.device(x.device):
        launch_compiled(
            compiled, (*text.programs, strips), (*pointers, weight.alpha, m)
        )


def _aligned(x: torch.Tensor) -> torch.Tensor:
    """Return activations that start at a multiple of 16 bytes, as kernels promise."""
    return x if x.data_ptr() % ALIGNMENT == 0 else x.clone()
