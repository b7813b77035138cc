"""What tests of kernels share: a way to write TTIR down."""

from collections.abc import Callable

import pytest

BLOCK = """
%block = arith.constant 64 : i32
%pid = tt.get_program_id x : i32
%start = arith.muli %pid, %block : i32
%range = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
%starts = tt.splat %start : i32 -> tensor<64xi32>
%index = arith.addi %starts, %range : tensor<64xi32>
%ns = tt.splat %n : i32 -> tensor<64xi32>
%mask = arith.cmpi slt, %index, %ns : tensor<64xi32>
%xs = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
%ys = tt.splat %y : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
%from = tt.addptr %xs, %index : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
%to = tt.addptr %ys, %index : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
"""
COPY = """
%value = tt.load %from, %mask : tensor<64x!tt.ptr<f32>>
tt.store %to, %value, %mask : tensor<64x!tt.ptr<f32>>
"""


def written(
    body: str, arguments: str = "x: !tt.ptr<f32>, y: !tt.ptr<f32>, n: i32"
) -> str:
    """Return a module with one kernel."""
    listed = ", ".join("%" + argument.strip() for argument in arguments.split(","))
    lines = "\n".join("  " + line for line in body.strip().splitlines())
    return f"tt.func public @k({listed}) {{\n{lines}\n  tt.return\n}}\n"


@pytest.fixture
def ttir() -> Callable[..., str]:
    """A function from the lines of a body, and the arguments, to the text."""
    return written


@pytest.fixture
def block() -> str:
    """Indices of a block of 64, pointers and mask: ``%from``, ``%to``, ``%mask``."""
    return BLOCK


@pytest.fixture
def copy_text() -> str:
    """A kernel that copies ``n`` elements of x to y, 64 a program."""
    return written(BLOCK + COPY)
