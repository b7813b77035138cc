"""Batches of matrices of any extents, transposed.

Where both extents are powers of two this is a permutation of index bits like any
other. Else the index is not a vector over F2, and tiles are cut off by masks.
"""

import ctypes
from functools import cache
from typing import Any

import torch

from compiler.codegen.cpp.permute import WIDTHS
from compiler.codegen.cpp.transpose import transpose_source
from compiler.runtime.build import load_library

from .execute import Backend, check_tensor, choose, permute_data
from .index_map import IndexMap

_LARGEST_ELEMENT = 8
"""Triton has no wider integer [bytes]."""

_FEW = 8
"""Up to so many rows or columns, tiles of a matrix would be mostly masked."""

_INTERLEAVED = {1: 4096, 2: 2048, 4: 1024, 8: 1024}
_DEINTERLEAVED = 1024
"""Elements of a program: ``benchmarks/permute_tuning.py``."""


def transpose_matrices(
    matrices: torch.Tensor, *, backend: Backend = "auto"
) -> torch.Tensor:
    """Return each matrix of a batch transposed, in new contiguous memory.

    Law: ``transpose_matrices(x) == x.transpose(1, 2).contiguous()``, bit for bit.

    Args:
        matrices: Any extents, any strides [batch, rows, columns].
        backend: As for ``permute``.

    Raises:
        NotATensorError: ``matrices`` is no dense tensor.
        BackendError: The backend does not run on the tensor's device.

    Example:
        >>> transpose_matrices(torch.arange(6).view(1, 2, 3)).tolist()
        [[[0, 3], [1, 4], [2, 5]]]
    """
    check_tensor(matrices)
    batch, rows, columns = matrices.shape
    if torch.is_grad_enabled() and matrices.requires_grad:
        return _differentiable(matrices, backend)
    source = matrices.detach().resolve_conj().resolve_neg().contiguous()
    target = torch.empty(
        (batch, columns, rows), dtype=source.dtype, device=source.device
    )
    if not source.numel():
        return target
    if not rows & rows - 1 and not columns & columns - 1:
        moved = target.view(source.shape)
        permute_data(source, rotation(rows, columns), moved, backend)
        return target
    chosen = choose(backend, source.device)
    width = source.element_size()
    aligned = source.data_ptr() % width == 0
    if chosen == "cpp" and aligned:
        function = getattr(load_kernels(), f"transpose_{width}")
        pointers = source.data_ptr(), target.data_ptr()
        function(*pointers, torch.get_num_threads(), batch, rows, columns)
    elif chosen in ("triton", "interpreter") and width <= _LARGEST_ELEMENT:
        _run_triton(source, target, interpret=chosen == "interpreter")
    else:
        target.copy_(source.transpose(1, 2))
    return target


def rotation(rows: int, columns: int) -> IndexMap:
    """Return the transpose of a matrix whose extents are powers of two.

    Law: flat index ``r * columns + c`` goes to ``c * rows + r``, so the bits of the
    index turn around by those of ``rows``.

    Example:
        >>> rotation(2, 4).columns
        (2, 4, 1)
    """
    turn, bits = rows.bit_length() - 1, (rows * columns).bit_length() - 1
    return IndexMap(tuple(1 << (bit + turn) % bits for bit in range(bits)))


@cache
def load_kernels() -> ctypes.CDLL:
    """Return the library of transposes; build it the first time.

    Raises:
        BuildError: There is no compiler, or it refuses the source.
    """
    library = load_library("transpose", transpose_source())
    for width in WIDTHS:
        function = getattr(library, f"transpose_{width}")
        function.argtypes = [*(ctypes.c_void_p,) * 2, *(ctypes.c_int64,) * 4]
        function.restype = None
    return library


def _differentiable(matrices: torch.Tensor, backend: Backend) -> torch.Tensor:
    """Record the transpose; its derivative is the transpose back."""

    class Transposition(torch.autograd.Function):
        @staticmethod
        def forward(ctx: object, matrices: torch.Tensor) -> torch.Tensor:
            return transpose_matrices(matrices.detach(), backend=backend)

        @staticmethod
        def backward(ctx: object, *gradients: torch.Tensor) -> torch.Tensor:
            return transpose_matrices(gradients[0], backend=backend)

    result: torch.Tensor = Transposition.apply(matrices)  # type: ignore[no-untyped-call]  # torch's gap
    return result


def _run_triton(source: torch.Tensor, target: torch.Tensor, *, interpret: bool) -> None:
    """Launch the kernel for few rows, for few columns, or for tiles of a matrix."""
    import triton

    from compiler.codegen.triton import transpose
    from compiler.triton_api import interpreted, reinterpret

    batch, rows, columns = source.shape
    width = source.element_size()
    pointers = reinterpret(source, width), reinterpret(target, width)
    arguments: tuple[Any, ...]
    constants: dict[str, int]
    few = _FEW if rows * columns < 1 << 31 else 0
    if rows <= few < columns:
        kernel = transpose.interleave_kernel
        block = _INTERLEAVED[width]
        tiles = triton.cdiv(rows * columns, block)
        arguments = (*pointers, columns, tiles)
        constants = {"ROWS": rows, "BLOCK": block}
    elif columns <= few < rows:
        kernel = transpose.deinterleave_kernel
        tiles = triton.cdiv(rows, _DEINTERLEAVED)
        arguments = (*pointers, rows, tiles)
        constants = {"COLUMNS": columns, "BLOCK": _DEINTERLEAVED}
    else:
        kernel = transpose.transpose_kernel
        tile_rows = min(triton.next_power_of_2(rows), 64)
        tile_columns = min(triton.next_power_of_2(columns), 4096 // tile_rows)
        row_tiles = triton.cdiv(rows, tile_rows)
        column_tiles = triton.cdiv(columns, tile_columns)
        tiles = row_tiles * column_tiles
        arguments = (*pointers, rows, columns, row_tiles, column_tiles)
        constants = {"ROWS": tile_rows, "COLUMNS": tile_columns}
    if interpret:
        interpreted(kernel)[(batch * tiles,)](*arguments, **constants)
        return
    with torch.cuda.device(source.device):
        kernel[(batch * tiles,)](
            *arguments,
            **constants,
            num_warps=8 if kernel is transpose.transpose_kernel else 4,
        )
