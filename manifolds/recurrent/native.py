"""The recurrence in C++, for real numbers on the CPU."""

import ctypes
from functools import cache, lru_cache
from itertools import accumulate
from pathlib import Path

import torch
from torch import Tensor

from compiler.errors import BuildError
from compiler.runtime.build import FLAGS, load_library

NAMES = {torch.float32: "recurrence_float", torch.float64: "recurrence_double"}
WIDTH = {torch.float32: 32, torch.float64: 16}
"""Columns of a panel of W: two vectors of 64 bytes."""


@cache
def library() -> ctypes.CDLL | None:
    """Return the compiled recurrence, or None where there is no compiler."""
    source = Path(__file__).with_name("recurrence.cpp").read_text()
    try:
        loaded = load_library("recurrence", source, (*FLAGS, "-Wno-psabi"))
    except BuildError:
        return None
    pointer, integer = ctypes.c_void_p, ctypes.c_int64
    for name in NAMES.values():
        function = getattr(loaded, name)
        function.argtypes = [*(integer,) * 5, *(pointer,) * 9]
        function.restype = None
    return loaded


def serves(rows: Tensor) -> bool:
    """Tell whether there is compiled code for such tensors.

    Args:
        rows: Any tensor of the recurrence.
    """
    return rows.device.type == "cpu" and rows.dtype in NAMES and library() is not None


def forward_native(
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
    return _scan(inputs, None, start, weight, bias, sizes)[0]


def backward_native(
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
    start = states.new_zeros(sizes[0] if sizes else 0, states.shape[-1])
    return _scan(gradient, states, start, weight, bias, sizes)


def _scan(
    x: Tensor,
    states: Tensor | None,
    start: Tensor,
    weight: Tensor,
    bias: Tensor,
    sizes: tuple[int, ...],
) -> tuple[Tensor, Tensor]:
    loaded = library()
    assert loaded is not None
    n = weight.shape[0]
    width = WIDTH[weight.dtype]
    padded = -(-n // width) * width
    threads = max(min(torch.get_num_threads(), start.shape[0]), 1)
    out = torch.empty_like(x, memory_format=torch.contiguous_format)
    panels = weight.new_empty(n * padded)
    sums = weight.new_zeros(threads, padded)
    wide_bias = torch.nn.functional.pad(bias, (0, padded - n))
    kept = [
        tensor.contiguous()
        for tensor in (x, weight, wide_bias, x if states is None else states, start)
    ]
    getattr(loaded, NAMES[weight.dtype])(
        threads,
        len(sizes),
        start.shape[0],
        n,
        int(states is not None),
        offsets(sizes),
        *(tensor.data_ptr() for tensor in (*kept, out, panels, sums)),
    )
    return out, sums[:, :n].sum(0)


@lru_cache(maxsize=64)
def offsets(sizes: tuple[int, ...]) -> ctypes.Array[ctypes.c_int64]:
    """Return the first row of each step, and the number of all rows.

    Args:
        sizes: Rows of each step.

    Example:
        >>> list(offsets((3, 3, 1)))
        [0, 3, 6, 7]
    """
    values = [0, *accumulate(sizes)]
    return (ctypes.c_int64 * len(values))(*values)
