"""The exponential of small real matrices on the CPU, in C++."""

import ctypes
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from compiler.errors import BuildError
from compiler.runtime.build import FLAGS, load_library

from .scheme import SCHEMES, reach

LARGEST = 16
"""The largest n."""

NAMES = {torch.float32: "exponential_float", torch.float64: "exponential_double"}


@cache
def library() -> ctypes.CDLL | None:
    """Return the compiled exponential, or None where there is no compiler."""
    source = Path(__file__).with_name("small.cpp").read_text()
    try:
        loaded = load_library("exponential", source, (*FLAGS, "-Wno-psabi"))
    except BuildError:
        return None
    pointer, integer = ctypes.c_void_p, ctypes.c_int64
    for name in NAMES.values():
        function = getattr(loaded, name)
        function.argtypes = [*(integer,) * 4, *(pointer,) * 4]
        function.restype = None
    return loaded


def serves(matrix: Tensor) -> bool:
    """Tell whether there is compiled code for such matrices.

    Args:
        matrix: [..., n, n].

    Returns:
        True for real matrices on the CPU with n of 2 to 16.
    """
    return (
        matrix.device.type == "cpu"
        and matrix.dtype in NAMES
        and 2 <= matrix.shape[-1] <= LARGEST
        and library() is not None
    )


def exponentiate(matrix: Tensor, direction: Tensor | None = None) -> Tensor:
    """Return the exponential, or its derivative in a direction.

    Args:
        matrix: A, float32 or float64 [..., n, n]; of a transposed matrix no copy is
            made.
        direction: E, of the same shape; None for ``exp(A)``.

    Returns:
        ``exp(A)``, or ``L(A, E)``, contiguous [..., n, n].

    Example:
        >>> exponentiate(torch.zeros(2, 2)).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    loaded = library()
    assert loaded is not None
    n = matrix.shape[-1]
    plain = matrix.detach()
    transposed = not plain.is_contiguous() and plain.mT.is_contiguous()
    plain = plain.mT if transposed else plain.contiguous()
    other = None if direction is None else direction.detach().contiguous()
    out = torch.empty(matrix.shape, dtype=matrix.dtype)
    count = out.numel() // (n * n)
    threads = min(torch.get_num_threads(), 1 + count * n**3 // 8192)
    getattr(loaded, NAMES[matrix.dtype])(
        *(threads, count, n, transposed),
        scheme(matrix.dtype).data_ptr(),
        plain.data_ptr(),
        None if other is None else other.data_ptr(),
        out.data_ptr(),
    )
    return out


@cache
def scheme(dtype: torch.dtype) -> Tensor:
    """Return the coefficients of the polynomial of degree 18, and what norm it serves.

    Args:
        dtype: float32 or float64.
    """
    last = SCHEMES[-1]
    one, five = last.products[3]
    left, right = last.products[4]
    limit = reach(last.degree, 1, torch.finfo(dtype).eps / 2)
    values = [*one[1:4], *five[2:5], *left[:5], *right[:5], *last.result[1:5], limit]
    return torch.tensor(values, dtype=dtype)
