import numpy as np
import pytest
import torch

from algebra.errors import UnsupportedLayoutError
from compiler.mixed.formats import FORMATS
from compiler.mixed.pack import move_bits
from compiler.mixed.upcast import TARGETS, bit_places, upcast, zero_bits, zero_points
from verify.ptx.numeric import run_kernel

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}


def run(text: str, outputs: int, words: np.ndarray, zeros: np.ndarray) -> np.ndarray:
    """Run the block on one word a thread; return its results [thread, output]."""
    inputs = ["%r0", "%r1", "%gate"] if f"${outputs + 2}" in text else ["%r0", "%gate"]
    names = [f"%h{i}" for i in range(outputs)] + inputs
    for i, name in reversed(list(enumerate(names))):
        text = text.replace(f"${i}", name)
    stores = " ".join(f"st.global.b16 [%rd3 + {2 * i}], %h{i};" for i in range(outputs))
    kernel = f"""
    .visible .entry upcast(.param .u64 a, .param .u64 z, .param .u64 b) .reqntid 32 {{
      .reg .b32 %r<4>; .reg .b64 %rd<7>; .reg .b16 %h<9>; .reg .b32 %gate;
      mov.b32 %gate, 0;
      ld.param.b64 %rd1, [a]; ld.param.b64 %rd4, [z]; ld.param.b64 %rd2, [b];
      mov.u32 %r2, %tid.x;
      mov.u32 %r3, %ctaid.x;
      shl.b32 %r3, %r3, 5;
      add.s32 %r2, %r2, %r3;
      mad.wide.u32 %rd3, %r2, {2 * outputs}, %rd2;
      mad.wide.u32 %rd5, %r2, 4, %rd1;
      mad.wide.u32 %rd6, %r2, 4, %rd4;
      ld.global.b32 %r0, [%rd5];
      ld.global.b32 %r1, [%rd6];
      {text}
      {stores}
      ret;
    }}"""
    out = np.zeros((len(words), outputs), np.int16)
    run_kernel(kernel, [words, zeros, out], (len(words) // 32, 1, 1))
    return out


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", FORMATS)
def test_every_code_in_every_position(name: str, target: str) -> None:
    kind = FORMATS[name]
    per_word = 32 // kind.bits
    rng = np.random.default_rng(0)
    columns = [rng.permutation(256) for _ in range(per_word)]
    codes = (np.stack(columns, 1) & ((1 << kind.bits) - 1)).astype(np.uint8)
    if name.startswith("fp8"):
        finite = kind.values(torch.from_numpy(codes)).isfinite().numpy()
        codes = np.where(finite, codes, 0).astype(np.uint8)
    wide = codes.astype(np.uint32)
    words = sum(wide[:, i] << np.uint32(i * kind.bits) for i in range(per_word))
    natural = torch.from_numpy(np.asarray(words, np.uint32).view(np.int32))
    words = move_bits(natural, bit_places(kind, target)).numpy().view(np.uint32)
    cast = upcast(kind, target)
    assert cast.outputs == per_word
    got = run(cast.text, per_word, words, words)
    # register i: positions i and i + n
    half = per_word // 2
    order = [i + half * pair for i in range(half) for pair in (0, 1)]
    due = kind.values(torch.from_numpy(codes))[:, order]
    values = torch.from_numpy(got).view(DTYPES[target])
    assert torch.equal(values.float() * cast.factor, due)


@pytest.mark.parametrize("target", TARGETS)
def test_zero_points(target: str) -> None:
    """Even registers have row r's zero point, odd ones that of row r + 8."""
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 16, (256, 8)).astype(np.uint8)
    wide = codes.astype(np.uint32)
    words = np.asarray(sum(wide[:, i] << np.uint32(4 * i) for i in range(8)))
    points = rng.integers(0, 16, (256, 2)).astype(np.uint32)
    bits = zero_bits(torch.from_numpy(points.astype(np.int32)), target)
    assert zero_points(bits, target).numpy().tolist() == points.tolist()
    stored = bits.numpy().view(np.uint16).astype(np.uint32)
    zeros = stored[:, 0] | stored[:, 1] << np.uint32(16)
    cast = upcast(FORMATS["int4"], target, zeros=True)
    got = run(cast.text, 8, words, zeros)
    values = torch.from_numpy(got).view(DTYPES[target]).float().numpy() * cast.factor
    for register in range(4):
        for pair in (0, 1):
            code = codes[:, register + 4 * pair].astype(int)
            due = code - points[:, register % 2].astype(int)
            assert (values[:, 2 * register + pair] == due).all()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", FORMATS)
def test_bits_have_a_place_each(name: str, target: str) -> None:
    assert sorted(bit_places(FORMATS[name], target)) == list(range(16))


@pytest.mark.parametrize("target", TARGETS)
def test_four_bit_floats_take_few_operations(target: str) -> None:
    lines = upcast(FORMATS["mxfp4"], target).text.split(";")
    names = [line.split()[0] for line in lines if line.strip()]
    kinds = ("shl.b32", "shr.u32", "and.b32", "lop3.b32")
    assert sum(name in kinds for name in names) == 11


@pytest.mark.parametrize("target", TARGETS)
def test_integers_of_four_bits_take_fewer(target: str) -> None:
    """A mask each, and a shift for every second register."""
    lines = upcast(FORMATS["int4"], target).text.split(";")
    names = [line.split()[0] for line in lines if line.strip()]
    kinds = ("shl.b32", "shr.u32", "and.b32", "lop3.b32")
    assert sum(name in kinds for name in names) == 6  # one of two equal shifts goes


def test_what_there_is_not() -> None:
    with pytest.raises(UnsupportedLayoutError, match="fp32"):
        upcast(FORMATS["int4"], "fp32")
    with pytest.raises(UnsupportedLayoutError, match="zero points"):
        upcast(FORMATS["int8"], "bf16", zeros=True)
