"""The instruction of a warpgroup, against the layouts of ``algebra.encodings``."""

import numpy as np
import pytest

from algebra.encodings import DotOperand, NvidiaMma
from algebra.encodings.nvmma_shared import NvmmaShared
from verify.ptx.halt import UnsupportedError
from verify.ptx.numeric.floats import from_bits, to_bits
from verify.ptx.numeric.run import run_kernel
from verify.ptx.numeric.warpgroup import places, product, shape_of

CODES = {128: 1, 64: 2, 32: 3}


def descriptor(start: int, stride: int, width: int) -> int:
    return start >> 4 | (stride >> 4) << 32 | CODES[width] << 62


@pytest.mark.parametrize("width", CODES)
@pytest.mark.parametrize("columns", [8, 16, 64, 256])
def test_blocks_are_swizzled_as_triton_lays_them_out(width: int, columns: int) -> None:
    """Each slice of 16 along k begins further on in the first row."""
    depth = width // 2
    layout = NvmmaShared(swizzle_byte_width=width, element_bit_width=16)
    inverse = layout.to_linear_layout([columns, depth]).invert()
    base = 4096
    for begin in range(0, depth, 16):
        bits = descriptor(base + 2 * begin, 8 * width, width)
        found = places(np.array([bits], np.uint64), columns)
        assert found is not None
        for column in range(columns):
            for k in range(16):
                at = inverse.apply({"dim0": column, "dim1": begin + k})
                assert found[0, column, k] == base + 2 * at["offset"]


def test_blocks_without_swizzle_are_refused() -> None:
    assert places(np.array([64 | 8 << 32], np.uint64), 8) is None


@pytest.mark.parametrize("kind", ["bf16", "f16"])
@pytest.mark.parametrize("columns", [8, 64])
def test_fragments_are_those_of_the_layouts(kind: str, columns: int) -> None:
    parent = NvidiaMma(
        version=(3, 0), warps_per_cta=(4, 1), instr_shape=(16, columns, 16)
    )
    rng = np.random.default_rng(0)
    a = rng.integers(-8, 8, (64, 16)).astype(float)
    b = rng.integers(-8, 8, (columns, 16)).astype(float)
    c = rng.integers(-8, 8, (64, columns)).astype(float)
    operand = DotOperand(op_idx=0, parent=parent, k_width=2).to_linear_layout([64, 16])
    left = [np.zeros(128, np.uint64) for _ in range(4)]
    result = parent.to_linear_layout([64, columns])
    sums = [np.zeros(128, np.uint64) for _ in range(columns // 2)]
    due = [np.zeros(128) for _ in sums]
    for thread in range(128):
        at = {"lane": thread % 32, "warp": thread // 32, "block": 0}
        for register in range(8):
            place = operand.apply({"register": register} | at)
            bits = to_bits(np.array([a[place["dim0"], place["dim1"]]]), kind)[0]
            left[register // 2][thread] |= bits << np.uint64(register % 2 * 16)
        for register, held in enumerate(sums):
            place = result.apply({"register": register} | at)
            row, column = place["dim0"], place["dim1"]
            held[thread] = to_bits(np.array([c[row, column]]), "f32")[0]
            due[register][thread] = a[row] @ b[column] + c[row, column]
    shape = shape_of(f"wgmma.mma_async.sync.aligned.m64n{columns}k16.f32.{kind}.{kind}")
    assert shape is not None
    words = to_bits(b.reshape(-1), kind).reshape(1, columns, 16).astype(np.uint16)
    found = product(shape, left, words, sums)
    for bits, wanted in zip(found, due, strict=True):
        assert (from_bits(bits, "f32") == wanted).all()


def test_other_opcodes_are_not_modelled() -> None:
    assert shape_of("wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3") is None
    assert shape_of("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.f16") is None


KERNEL = """
.visible .entry one(.param .u64 .ptr .global out) .reqntid 128 {{
  .reg .b32 %r<20>; .reg .b64 %rd<9>; .reg .pred %p<3>;
  .shared .align 1024 .b8 memory[4096];
  ld.param.b64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, memory;
  shl.b32 %r3, %r1, 2;
  add.s32 %r4, %r2, %r3;
  mov.b32 %r5, 0x3F803F80;
  st.shared.b32 [%r4], %r5;
  {fence}
  {before}
  mov.b64 %rd2, {descriptor};
  mov.pred %p1, 0;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {{%r10,%r11,%r12,%r13}}, \
{{%r5,%r5,%r5,%r5}}, %rd2, %p1, 1, 1, {transposed};
  wgmma.commit_group.sync.aligned;
  {after}
  wgmma.wait_group.sync.aligned 0;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd1, %rd3;
  st.global.b32 [%rd4], %r10;
  ret;
}}"""


def run(**parts: str) -> np.ndarray:
    given = {
        "fence": "fence.proxy.async.shared::cta;",
        "before": "",
        "after": "",
        "transposed": "0",
        "descriptor": str(descriptor(0, 256, 32)),
    }
    out = np.full(128, np.nan, np.float32)
    run_kernel(KERNEL.format(**given | parts), [out], (1, 1, 1))
    return out


def test_a_product_of_ones() -> None:
    assert (run() == 16).all()


def test_what_no_fence_has_shown_is_poison() -> None:
    assert np.isnan(run(fence="")).all()
    assert np.isnan(run(before="st.shared.b32 [%r4], %r1;")).any()


def test_what_is_stored_before_the_wait_is_poison() -> None:
    assert np.isnan(run(after="st.shared.b32 [%r4], %r1;")).any()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("transposed", "1"),
        ("descriptor", "64"),
        ("descriptor", str(descriptor(240 * 1024, 256, 32))),
        ("before", "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%r4], {%r5};"),
    ],
)
def test_what_is_not_modelled_is_refused(name: str, value: str) -> None:
    with pytest.raises(UnsupportedError):
        run(**{name: value})


def test_stmatrix_stores_rows_at_the_lanes_addresses() -> None:
    """Lane l's pair goes to row l / 4 of the tile, at l % 4."""
    text = """
.visible .entry one(.param .u64 .ptr .global out) .reqntid 32 {
  .reg .b32 %r<20>; .reg .b64 %rd<9>;
  .shared .align 16 .b8 memory[512];
  ld.param.b64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, memory;
  xor.b32 %r3, %r1, 5;
  shl.b32 %r3, %r3, 4;
  add.s32 %r3, %r2, %r3;
  add.s32 %r4, %r1, 32;
  stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r3], {%r1, %r4};
  shl.b32 %r5, %r1, 2;
  add.s32 %r6, %r2, %r5;
  ld.shared.b32 %r7, [%r6];
  ld.shared.b32 %r8, [%r6+128];
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd1, %rd3;
  st.global.b32 [%rd4], %r7;
  st.global.b32 [%rd4+128], %r8;
  ret;
}"""
    out = np.zeros(64, np.int32)
    run_kernel(text, [out], (1, 1, 1))
    rows = out.reshape(16, 4)
    for row in range(16):
        lane = row ^ 5
        assert rows[row].tolist() == [
            lane // 8 * 32 + lane % 8 * 4 + pair for pair in range(4)
        ]
