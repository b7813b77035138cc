"""Kernels compiled once with the installed wheel; a runner of single instructions."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from verify.oracle import Wheel
from verify.ptx.buffers import INPUT, OUTPUT, Buffers
from verify.ptx.campaign import Outcome, judge, ptx_wheel
from verify.ptx.execute import execute
from verify.ptx.machine import Machine
from verify.ptx.random_conversions import Conversion
from verify.ptx.reader import parse
from verify.ptx.word import Word

ROWS: dict[str, Any] = {
    "kind": "blocked",
    "size_per_thread": [1, 4],
    "threads_per_warp": [4, 8],
    "warps_per_cta": [4, 1],
    "order": [1, 0],
}
COLUMNS: dict[str, Any] = {
    "kind": "blocked",
    "size_per_thread": [4, 1],
    "threads_per_warp": [8, 4],
    "warps_per_cta": [1, 4],
    "order": [0, 1],
}
UNITS = [[1, 0], [2, 0], [4, 0], [0, 1], [0, 2], [0, 4], [0, 8]]


def one_warp(order: list[int], shape: tuple[int, int] = (8, 16)) -> dict[str, Any]:
    """Return a layout of one warp whose registers come first in ``order``."""
    vectors = [UNITS[i] for i in order]
    return {
        "kind": "linear",
        "register": vectors[:-5],
        "lane": vectors[-5:],
        "warp": [],
        "block": [],
        "shape": list(shape),
    }


def scaled(encoding: dict[str, Any], warps: list[int]) -> dict[str, Any]:
    return {**encoding, "warps_per_cta": warps}


MMA = {
    "kind": "nvidia_mma",
    "version": [2, 0],
    "warps_per_cta": [4, 1],
    "instr_shape": [16, 8],
}
OPERAND = {"kind": "dot_operand", "op_idx": 0, "k_width": 2, "parent": MMA}
CONVERSIONS = {
    "shared": Conversion(ROWS, COLUMNS, (32, 32), 32, 4),
    "bytes": Conversion(ROWS, COLUMNS, (32, 32), 8, 4),
    "matrix": Conversion(ROWS, OPERAND, (64, 32), 16, 4),
    "shuffle": Conversion(
        one_warp([0, 1, 2, 3, 4, 5, 6]), one_warp([3, 0, 1, 2, 4, 5, 6]), (8, 16), 32, 1
    ),
    "shuffled bytes": Conversion(
        one_warp([0, 1, 2, 3, 4, 5, 6]), one_warp([1, 3, 0, 2, 4, 5, 6]), (8, 16), 8, 1
    ),
    "broadcast": Conversion(ROWS, COLUMNS, (8, 8), 32, 4),
    "wide": Conversion(COLUMNS, ROWS, (16, 16), 64, 4),
}


@pytest.fixture(scope="session")
def wheel() -> Iterator[Wheel]:
    """The installed Triton, in a process of its own."""
    pytest.importorskip("triton")
    with ptx_wheel() as found:
        yield found


@pytest.fixture(scope="session")
def outcomes(wheel: Wheel) -> dict[str, Outcome]:
    """Each of ``CONVERSIONS``, compiled and judged."""
    found = judge(wheel, list(CONVERSIONS.values()))
    return dict(zip(CONVERSIONS, found, strict=True))


HEAD = """
.extern .shared .align 16 .b8 smem[];
.entry snippet(.param .u64 .ptr .global in, .param .u64 .ptr .global out)
{
  .reg .pred %p<9>; .reg .b16 %rs<20>; .reg .b32 %r<40>; .reg .b64 %rd<20>;
  ld.param.b64 %rd1, [in]; ld.param.b64 %rd2, [out]; mov.u32 %r1, %tid.x;
  mad.wide.u32 %rd3, %r1, 4, %rd1; mad.wide.u32 %rd4, %r1, 4, %rd2;
"""

Run = Callable[..., Machine]


@pytest.fixture
def run() -> Run:
    """A function that executes some instructions and returns the machine.

    Before them: ``%rd3`` and ``%rd4`` point to the thread's element of four bytes in
    the input and the output, ``%r1`` is the thread's index.
    """

    def start(body: str, threads: int = 32, elements: int = 64) -> Machine:
        kernel = parse(HEAD + body + "}")
        opaque = np.arange(1, 4 * elements + 1, dtype=np.int32)
        buffers = Buffers(elements, 4, opaque)
        zeros = np.zeros(threads, np.uint64)
        pointers = {
            "in": Word(64, zeros, None, INPUT),
            "out": Word(64, zeros, None, OUTPUT),
        }
        machine = Machine(kernel, threads, buffers, pointers, 4096)
        execute(machine)
        return machine

    return start
