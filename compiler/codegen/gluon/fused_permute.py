"""The Gluon kernel that scales, adds a bias, casts and permutes in one pass."""

from typing import Any

import torch
import triton.experimental.gluon.language as gl
from triton.experimental import gluon

from compiler.permuting.pointwise import ROUNDED
from compiler.permuting.vector_launch import VectorLaunch

from .permute import block_places, kernel_constants, line_places, reorder, span, view_as

_TYPES = {
    torch.float32: gl.float32,
    torch.float16: gl.float16,
    torch.bfloat16: gl.bfloat16,
    torch.float8_e4m3fn: gl.float8e4nv,
    torch.float8_e5m2: gl.float8e5,
    torch.int8: gl.int8,
    torch.uint8: gl.uint8,
    torch.int16: gl.int16,
}


@gluon.jit  # type: ignore[misc,untyped-decorator,unused-ignore]  # triton has no types
def fused_permute_kernel(  # type: ignore[no-untyped-def]
    source,
    target,
    bias,
    scale,
    TYPE: gl.constexpr,
    LIMITS: gl.constexpr,
    CHANNELS: gl.constexpr,
    FIRST_BIT: gl.constexpr,
    ELEMENT_BITS: gl.constexpr,
    VECTOR: gl.constexpr,
    ELEMENT_VIEW: gl.constexpr,
    ELEMENT_LAYOUT: gl.constexpr,
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
    BLOCK_VIEW: gl.constexpr,
    BLOCK_LAYOUT: gl.constexpr,
):
    """Move one tile; lines count elements of the source, blocks words of the target."""
    item = gl.program_id(0)
    batch = (item >> len(LINE_PROGRAMS)).to(gl.int64)
    program = item & ((1 << len(LINE_PROGRAMS)) - 1)
    if WIDE:
        program = program.to(gl.int64)
    base = span(program, LINE_PROGRAMS)
    places = line_places(base, ROWS, LINE, VECTOR, ELEMENT_LAYOUT, WIDE)
    value = gl.load(source + (batch << ELEMENT_BITS) + places).to(gl.float32) * scale
    if CHANNELS > 1:
        if (1 << FIRST_BIT) >= LINE:
            row = gl.arange(0, 1 << len(ROWS), gl.SliceLayout(1, ELEMENT_LAYOUT))
            if WIDE:
                row = row.to(gl.int64)
            channel = ((base ^ span(row, ROWS)) >> FIRST_BIT) & (CHANNELS - 1)
            value = value + gl.expand_dims(gl.load(bias + channel), 1)
        else:
            channel = (places >> FIRST_BIT) & (CHANNELS - 1)
            value = value + gl.load(bias + channel)
    if len(LIMITS) > 0:
        value = gl.inline_asm_elementwise(
            "cvt.rni.s32.f32 $0, $1;", "=r,r", [value], gl.int32, True, 1
        )
        value = gl.minimum(gl.maximum(value, LIMITS[0]), LIMITS[1])
    tile = gl.allocate_shared_memory(TYPE, [1 << len(ROWS), LINE], ELEMENT_VIEW)
    tile.store(value.to(TYPE))
    view = view_as(tile, [1 << len(THREADS), 4 << len(STORES)], BLOCK_VIEW)
    words = reorder(
        view.load(BLOCK_LAYOUT),
        *(THREADS, STORES, FLIPS, BLOCK_LAYOUT, PTX, CONSTRAINTS),
    )
    onto = span(program, BLOCK_PROGRAMS) ^ OFFSET
    blocks = block_places(onto, THREADS, STORES, BLOCK_LAYOUT, WIDE)
    gl.store(target + (batch << MAP_BITS) + blocks, words)


def fused_constants(
    launch: VectorLaunch, dtype: torch.dtype, channels: int, first_bit: int
) -> dict[str, Any]:
    """Return the value of each constant of the kernel."""
    plan, constants = launch.plan, kernel_constants(launch)
    for name in ("BACKWARD", "LINE_VIEW", "LINE_LAYOUT"):
        del constants[name]
    vector, line = 1 << plan.vector_bits, 1 << plan.line_bits
    lanes = min(line // vector, 32)
    shape = [32 // lanes, lanes], [launch.num_warps, 1]
    return constants | {
        "TYPE": _TYPES[dtype],
        "LIMITS": ROUNDED.get(dtype, ()),
        "CHANNELS": channels,
        "FIRST_BIT": first_bit,
        "ELEMENT_BITS": plan.map.bits,
        "VECTOR": vector,
        "ELEMENT_VIEW": gl.SharedLinearLayout(plan.line_view(0)),
        "ELEMENT_LAYOUT": gl.BlockedLayout([1, vector], *shape, [1, 0]),
        "WIDE": plan.map.bits > 31,
        "LINE_PROGRAMS": plan.programs,
        "ROWS": plan.rows,
        "LINE": line,
    }
