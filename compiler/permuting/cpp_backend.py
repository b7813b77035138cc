"""Permutations on the CPU: plans as tables for the C++ kernels."""

import ctypes
from array import array
from dataclasses import dataclass
from functools import cache, lru_cache

import torch

from compiler.codegen.cpp.permute import WIDTHS, permute_source
from compiler.runtime.build import load_library

from .granularity import absorb_batch, coarsen_to
from .index_map import IndexMap, table
from .line_plan import plan_lines

_LINE_BITS = {1: 6, 2: 7, 4: 6, 8: 6, 16: 5}
"""Log2 of the line for each width [elements]."""

_BLOCK_BYTES = 64
"""From this size on, groups are copied by memcpy [bytes]."""

_LARGE_BYTES = 1 << 22
"""From this size on, new memory is asked for in huge pages [bytes]."""

_LARGEST_BLOCK_BYTES = 1 << 15
"""Copies are not longer, so that cores can share the work [bytes]."""


def run_cpp(source: torch.Tensor, target: torch.Tensor, map: IndexMap) -> None:
    """Write the permutation of ``source`` to ``target``.

    Args:
        source: Contiguous, on the CPU, aligned to its element [batch * 2**bits].
        target: The same, disjoint from ``source``.
        map: The permutation.

    Raises:
        BuildError: The kernels cannot be built here.
    """
    library = load_kernels()
    batch = source.numel() >> map.bits
    map, batch = absorb_batch(map, batch)
    width = source.element_size()
    blocks, block_bytes = coarsen_to(map, width, _LARGEST_BLOCK_BYTES)
    pointers = source.data_ptr(), target.data_ptr()
    threads = torch.get_num_threads()
    if block_bytes >= _BLOCK_BYTES:
        addresses, low_bits = _block_tables(blocks)
        library.permute_block(
            *pointers,
            threads,
            batch,
            blocks.bits,
            low_bits,
            addresses.buffer_info()[0],
            block_bytes,
        )
        return
    alignment = pointers[0] | pointers[1] | WIDTHS[-1]
    map, width = coarsen_to(map, width, alignment & -alignment)
    tables = _line_tables(map, _LINE_BITS[width])
    getattr(library, f"permute_{width}")(
        *pointers,
        threads,
        batch,
        map.bits,
        tables.line_bits,
        tables.row_bits,
        tables.low_bits,
        tables.addresses.buffer_info()[0],
        tables.places.buffer_info()[0],
    )


def prepare(target: torch.Tensor) -> None:
    """Make new memory cheap to write for the first time."""
    if target.nbytes >= _LARGE_BYTES:
        load_kernels().permute_prepare(target.data_ptr(), target.nbytes)


@cache
def load_kernels() -> ctypes.CDLL:
    """Return the library of kernels; build it the first time.

    Raises:
        BuildError: There is no compiler, or it refuses the source.
    """
    library = load_library("permute", permute_source())
    pointer, integer = ctypes.c_void_p, ctypes.c_int64
    library.permute_block.argtypes = [
        *(pointer, pointer),
        *(integer,) * 4,
        *(pointer, integer),
    ]
    library.permute_block.restype = None
    library.permute_prepare.argtypes = [pointer, integer]
    library.permute_prepare.restype = None
    for width in WIDTHS:
        function = getattr(library, f"permute_{width}")
        function.argtypes = [
            *(pointer, pointer),
            *(integer,) * 6,
            *(pointer, pointer),
        ]
        function.restype = None
    return library


@dataclass(frozen=True, slots=True)
class _LineTables:
    line_bits: int
    row_bits: int
    low_bits: int
    addresses: "array[int]"
    places: "array[int]"


@lru_cache(maxsize=128)
def _line_tables(map: IndexMap, line_bits: int) -> _LineTables:
    plan = plan_lines(map, line_bits=line_bits)
    addresses, places, low_bits = plan.tables()
    return _LineTables(
        plan.line_bits,
        len(plan.source_lines),
        low_bits,
        array("q", addresses),
        array("i", places),
    )


@lru_cache(maxsize=128)
def _block_tables(map: IndexMap) -> "tuple[array[int], int]":
    low = (map.bits + 1) // 2
    columns, units = map.columns, [1 << i for i in range(map.bits)]
    values = [
        *table(units[:low]),
        *table(columns[:low], map.offset),
        *table(units[low:]),
        *table(columns[low:]),
    ]
    return array("q", values), low
