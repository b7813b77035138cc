"""The exponential of many small matrices on a GPU: which kernel, and its launch."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor

from compiler.triton_api import interpreted, relaunch

LARGEST = 64
"""The largest n."""

PRECISION = "tf32x3"
"""Of the products from 5 x 5 on; see the kernels."""

SMALL_BLOCK = 32
"""Matrices up to 4 x 4 of a program, which is one warp."""

WARPS = {16: 1, 32: 2, 64: 4}

_ready: dict[tuple[Any, ...], Any] = {}
"""Compiled kernels, which are launched again without looking at their arguments."""


def serves(matrix: Tensor) -> bool:
    """Tell whether the kernels take such matrices.

    Args:
        matrix: [..., n, n].

    Returns:
        True for float32 and n of 2 to 64 on an NVIDIA GPU.
    """
    return (
        matrix.device.type == "cuda"
        and torch.version.hip is None
        and matrix.dtype == torch.float32
        and 2 <= matrix.shape[-1] <= LARGEST
    )


def launch(
    matrix: Tensor,
    direction: Tensor | None = None,
    *,
    interpret: bool = False,
    precision: str = PRECISION,
    **options: int,
) -> Tensor:
    """Exponentiate, or differentiate the exponential, in one launch.

    Args:
        matrix: A, float32 [..., n, n]; of a transposed matrix no copy is made.
        direction: E, of the same shape; None for ``exp(A)``.
        interpret: Run in Triton's interpreter, on the CPU.
        precision: Of ``tl.dot``: ``"tf32x3"`` or ``"ieee"``.
        options: Of Triton, if not the usual ones: ``num_warps``, ``maxnreg``.

    Returns:
        ``exp(A)``, or ``L(A, E)``, contiguous [..., n, n].
    """
    n = matrix.shape[-1]
    plain = matrix.detach()
    transposed = not plain.is_contiguous() and plain.mT.is_contiguous()
    plain = plain.mT if transposed else plain.contiguous()
    other = plain if direction is None else direction.detach().contiguous()
    out = torch.empty(matrix.shape, dtype=matrix.dtype, device=matrix.device)
    count = out.numel() // (n * n)
    if not count:
        return out
    pair = direction is not None
    small = n <= 4
    tensors = (plain, other, out)
    arguments: tuple[Any, ...]
    if small:
        log2_size = 2 if n == 2 else 4
        arguments = (*tensors, count, n, log2_size, SMALL_BLOCK, transposed, pair)
    else:
        size = max(16, 1 << (n - 1).bit_length())
        arguments = (*tensors, n, size, transposed, pair, precision)
    programs = -(-count // SMALL_BLOCK) if small else count
    if interpret:
        interpreted(choose_kernel(small))[(programs,)](*arguments)
        return out
    with on_device(out.device):
        aligned = not any(tensor.data_ptr() % 16 for tensor in tensors)
        key: tuple[Any, ...] = (
            out.device,
            small,
            aligned,
            *arguments[4 if small else 3 :],
        )
        key += tuple(options.items())
        if key in _ready:
            relaunch(_ready[key], programs, arguments)
            return out
        options.setdefault("num_warps", 1 if small else WARPS[size])
        compiled = choose_kernel(small)[(programs,)](*arguments, **options)
        if aligned:
            _ready[key] = compiled
    return out


def choose_kernel(small: bool) -> Any:
    """Return the kernel for matrices up to 4 x 4, or for larger ones."""
    from .kernel import matrix_kernel, small_kernel

    return small_kernel if small else matrix_kernel


def on_device(device: torch.device) -> AbstractContextManager[object]:
    """Return the context in which a launch goes to this device.

    Args:
        device: A GPU.
    """
    if device.index == torch.cuda.current_device():
        return nullcontext()
    return torch.cuda.device(device)
