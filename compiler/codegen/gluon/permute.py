"""The Gluon kernels that carry out a ``VectorPlan``.

Everything but the tensors is a constant, so an address costs a few xors; a map is
compiled once and stays in Triton's cache. Data moves as 32-bit words: what is narrower
is permuted in registers by the PTX that the plan gives. Shared memory has two linear
views, one for each step, in which the shear and the transpose of the map are folded.

Forwards the tile comes in by asynchronous copies, which need no registers; backwards
it is the plan of the inverse map, run from its last step to its first.
"""

from typing import Any

import triton.experimental.gluon.language as gl
from triton.experimental import gluon
from triton.experimental.gluon.language.nvidia.ampere import async_copy

from compiler.permuting.vector_launch import VectorLaunch

from .registers import permute_registers

RENAMED: gl.constexpr = gl.constexpr(
    hasattr(gl.shared_memory_descriptor, "reinterpret")
)
"""Newer releases of Triton made this method public."""

# releases after 3.8 know it by this name only
start_copy = getattr(async_copy, "async_load", async_copy.async_copy_global_to_shared)


@gluon.jit  # type: ignore[misc,untyped-decorator,unused-ignore]  # triton has no types
def view_as(memory, SHAPE: gl.constexpr, LAYOUT: gl.constexpr):  # type: ignore[no-untyped-def]
    """Return the same shared memory as words in another layout."""
    if RENAMED:
        return memory.reinterpret(gl.int32, SHAPE, LAYOUT)
    else:
        return memory._reinterpret(gl.int32, SHAPE, LAYOUT)


@gluon.jit  # type: ignore[misc,untyped-decorator,unused-ignore]  # triton has no types
def span(number, BASIS: gl.constexpr):  # type: ignore[no-untyped-def]
    """Return the xor of the basis vectors that the bits of ``number`` select."""
    place = number * 0
    for i in gl.static_range(len(BASIS)):
        place = place ^ (((number >> i) & 1) * BASIS[i])
    return place


@gluon.jit  # type: ignore[misc,untyped-decorator,unused-ignore]  # triton has no types
def counted(  # type: ignore[no-untyped-def]
    SIZE: gl.constexpr,
    AXIS: gl.constexpr,
    LAYOUT: gl.constexpr,
    WIDE: gl.constexpr,
):
    """Return the numbers along one axis, wide where addresses are."""
    number = gl.arange(0, SIZE, layout=gl.SliceLayout(1 - AXIS, LAYOUT))
    if WIDE:
        number = number.to(gl.int64)
    return gl.expand_dims(number, 1 - AXIS)


@gluon.jit  # type: ignore[misc,untyped-decorator,unused-ignore]  # triton has no types
def line_places(  # type: ignore[no-untyped-def]
    base,
    ROWS: gl.constexpr,
    SIZE: gl.constexpr,
    VECTOR: gl.constexpr,
    LAYOUT: gl.constexpr,
    WIDE: gl.constexpr,
):
    """Return the places of the tile's lines [rows, places of a line]."""
    row = counted(1 << len(ROWS), 0, LAYOUT, WIDE)
    places = (base ^ span(row, ROWS)) ^ counted(SIZE, 1, LAYOUT, WIDE)
    return gl.max_contiguous(gl.multiple_of(places, [1, VECTOR]), [1, VECTOR])


@gluon.jit  # type: ignore[misc,untyped-decorator,unused-ignore]  # triton has no types
def block_places(  # type: ignore[no-untyped-def]
    base,
    THREADS: gl.constexpr,
    STORES: gl.constexpr,
    LAYOUT: gl.constexpr,
    WIDE: gl.constexpr,
):
    """Return the places of the blocks' vectors [threads, words of a block]."""
    thread = counted(1 << len(THREADS), 0, LAYOUT, WIDE)
    word = counted(4 << len(STORES), 1, LAYOUT, WIDE)
    places = (base ^ span(thread, THREADS)) ^ ((word & 3) ^ span(word >> 2, STORES))
    return gl.max_contiguous(gl.multiple_of(places, [1, 4]), [1, 4])


@gluon.jit  # type: ignore[misc,untyped-decorator,unused-ignore]  # triton has no types
def reorder(  # type: ignore[no-untyped-def]
    words,
    THREADS: gl.constexpr,
    STORES: gl.constexpr,
    FLIPS: gl.constexpr,
    LAYOUT: gl.constexpr,
    PTX: gl.constexpr,
    CONSTRAINTS: gl.constexpr,
):
    """Permute the elements of each thread's block."""
    if len(FLIPS) == 0:
        return gl.inline_asm_elementwise(
            PTX, CONSTRAINTS, [words], gl.int32, True, 4 << len(STORES)
        )
    else:
        thread = counted(1 << len(THREADS), 0, LAYOUT, False)
        flip = span(thread, FLIPS) + words * 0
        return gl.inline_asm_elementwise(
            PTX, CONSTRAINTS, [words, flip], gl.int32, True, 4 << len(STORES)
        )


@gluon.jit  # type: ignore[misc,untyped-decorator,unused-ignore]  # triton has no types
def permute_kernel(  # type: ignore[no-untyped-def]
    source,
    target,
    BACKWARD: gl.constexpr,
    WIDE: gl.constexpr,
    MAP_BITS: gl.constexpr,
    OFFSET: gl.constexpr,
    LINE_PROGRAMS: gl.constexpr,
    BLOCK_PROGRAMS: gl.constexpr,
    ROWS: gl.constexpr,
    LINE: gl.constexpr,
    THREADS: gl.constexpr,
    STORES: gl.constexpr,
    FLIPS: gl.constexpr,
    PTX: gl.constexpr,
    CONSTRAINTS: gl.constexpr,
    LINE_VIEW: gl.constexpr,
    BLOCK_VIEW: gl.constexpr,
    LINE_LAYOUT: gl.constexpr,
    BLOCK_LAYOUT: gl.constexpr,
):
    """Move one tile: program ``batch << program_bits | program``, in words."""
    item = gl.program_id(0)
    start = (item >> len(LINE_PROGRAMS)).to(gl.int64) << MAP_BITS
    program = item & ((1 << len(LINE_PROGRAMS)) - 1)
    if WIDE:
        program = program.to(gl.int64)
    line_base = span(program, LINE_PROGRAMS)
    block_base = span(program, BLOCK_PROGRAMS) ^ OFFSET
    lines = start + line_places(line_base, ROWS, LINE, 4, LINE_LAYOUT, WIDE)
    blocks = start + block_places(block_base, THREADS, STORES, BLOCK_LAYOUT, WIDE)
    tile = gl.allocate_shared_memory(gl.int32, [1 << len(ROWS), LINE], LINE_VIEW)
    view = view_as(tile, [1 << len(THREADS), 4 << len(STORES)], BLOCK_VIEW)
    if BACKWARD:
        words = reorder(
            gl.load(source + blocks),
            *(THREADS, STORES, FLIPS, BLOCK_LAYOUT, PTX, CONSTRAINTS),
        )
        view.store(words)
        gl.store(target + lines, tile.load(LINE_LAYOUT))
    else:
        start_copy(tile, source + lines)
        async_copy.commit_group()
        async_copy.wait_group(0)
        words = reorder(
            view.load(BLOCK_LAYOUT),
            *(THREADS, STORES, FLIPS, BLOCK_LAYOUT, PTX, CONSTRAINTS),
        )
        gl.store(target + blocks, words)


def kernel_constants(launch: VectorLaunch) -> dict[str, Any]:
    """Return the value of each constant of the kernel, in its order."""
    plan, constants = launch.plan, launch.constants()
    flips = "none"
    if constants["FLIPS"]:
        flips = "output" if launch.backward else "input"
    columns, offset = constants.pop("COLUMNS"), constants.pop("IN_THREAD_OFFSET")
    ptx, operands = permute_registers(columns, offset, plan.element_bytes, flips)
    lanes = min(constants["LINE"] // 4, 32)
    block = 4 << len(constants["STORES"])
    warps = [launch.num_warps, 1]
    return constants | {
        "PTX": ptx,
        "CONSTRAINTS": operands,
        "LINE_VIEW": gl.SharedLinearLayout(plan.line_view(plan.word_bits)),
        "BLOCK_VIEW": gl.SharedLinearLayout(plan.block_view()),
        "LINE_LAYOUT": gl.BlockedLayout([1, 4], [32 // lanes, lanes], warps, [1, 0]),
        "BLOCK_LAYOUT": gl.BlockedLayout([1, block], [32, 1], warps, [1, 0]),
    }
