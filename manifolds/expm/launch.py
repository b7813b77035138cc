"""The exponential of many small matrices on a GPU: which kernel, and its launch."""

from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor

from compiler.triton_api import interpreted

LARGEST = 64
"""The largest n."""

PRECISION = "tf32x3"
"""Of the products from 5 x 5 on; see the kernels."""

_SMALL_BLOCK, _SMALL_WARPS = 32, 1
_WARPS = {16: 1, 32: 4, 64: 8}


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
    warps: int | None = None,
) -> Tensor:
    """Exponentiate, or differentiate the exponential, in one launch.

    Args:
        matrix: A, float32 [..., n, n]; of a transposed matrix no copy is made.
        direction: E, of the same shape; None for ``exp(A)``.
        interpret: Run in Triton's interpreter, on the CPU.
        precision: Of ``tl.dot``: ``"tf32x3"`` or ``"ieee"``.
        warps: Of a program, if not the usual number.

    Returns:
        ``exp(A)``, or ``L(A, E)``, contiguous [..., n, n].
    """
    from .kernel import matrix_kernel, small_kernel

    n = matrix.shape[-1]
    plain = matrix.detach()
    transposed = not plain.is_contiguous() and plain.mT.is_contiguous()
    plain = plain.mT if transposed else plain.contiguous()
    other = plain if direction is None else direction.detach().contiguous()
    out = torch.empty(matrix.shape, dtype=matrix.dtype, device=matrix.device)
    count = out.numel() // (n * n)
    if not count:
        return out
    constants: dict[str, Any] = {
        "TRANSPOSED": transposed,
        "PAIR": direction is not None,
    }
    small = n <= 4
    if small:
        kernel: Any = small_kernel
        block = _SMALL_BLOCK
        constants |= {"N": n, "LOG2_SIZE": 2 if n == 2 else 4, "BLOCK": block}
        grid, size, usual = -(-count // block), count, _SMALL_WARPS
    else:
        kernel = matrix_kernel
        tile = max(16, 1 << (n - 1).bit_length())
        constants |= {"SIZE": tile, "PRECISION": precision}
        grid, size, usual = count, n, _WARPS[tile]
    if interpret:
        kernel = interpreted(kernel)
    else:
        constants["num_warps"] = warps or usual
    is_gpu = out.device.type == "cuda"
    with torch.cuda.device(out.device) if is_gpu else nullcontext():
        kernel[(grid,)](plain, other, out, size, **constants)
    return out
