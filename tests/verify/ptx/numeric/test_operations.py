import numpy as np
import pytest
import torch

from verify.ptx.numeric.operations import operation_of


def bits(*values: int) -> list[np.ndarray]:
    return [np.array([value & (1 << 64) - 1], np.uint64) for value in values]


@pytest.mark.parametrize(
    ("opcode", "operands", "due"),
    [
        ("add.s32", (0xFFFFFFFF, 2), 1),
        ("sub.s32", (1, 2), 0xFFFFFFFF),
        ("mul.lo.s32", (0x10001, 0x10001), 0x20001),
        ("mul.hi.u32", (0x80000000, 6), 3),
        ("mul.wide.s32", (0xFFFFFFFF, 3), -3),
        ("mul.wide.u32", (0xFFFFFFFF, 2), 0x1FFFFFFFE),
        ("mad.wide.s32", (0xFFFFFFFE, 4, 100), 92),
        ("mad.lo.s32", (3, 4, 5), 17),
        ("div.s32", (-7, 2), -3),
        ("rem.s32", (-7, 2), -1),
        ("min.s32", (0xFFFFFFFF, 1), 0xFFFFFFFF),
        ("max.u32", (0xFFFFFFFF, 1), 0xFFFFFFFF),
        ("shl.b32", (1, 31), 0x80000000),
        ("shl.b32", (1, 40), 0),
        ("shr.u32", (0x80000000, 31), 1),
        ("shr.s32", (0x80000000, 31), -1),
        ("shr.u64", (1 << 63, 63), 1),
        ("and.b32", (12, 10), 8),
        ("or.b32", (12, 10), 14),
        ("xor.b32", (12, 10), 6),
        ("lop3.b32", (0xF, 0x5, 0xA0, 0xEA), 0xA5),
        ("lop3.b32", (0xF, 0x5, 0xC, 0x6A), 0x9),
        ("prmt.b32", (0x44332211, 0x88776655, 0x3210), 0x44332211),
        ("prmt.b32", (0x44332211, 0x88776655, 0xF740), 0xFF885511),
        ("bfe.u32", (0xABCD, 4, 8), 0xBC),
        ("bfe.s32", (0xFF, 4, 4), -1),
        ("selp.b32", (3, 4, 1), 3),
        ("not.b32", (0,), 0xFFFFFFFF),
        ("cvt.u64.u32", (0xFFFFFFFF,), 0xFFFFFFFF),
        ("cvt.s64.s32", (0xFFFFFFFF,), -1),
        ("cvt.s8.s32", (0x12380,), -128),
        ("cvt.u8.u32", (0x12380,), 0x80),
        ("cvt.f32.bf16", (0x3F80,), 0x3F800000),
        ("cvt.rn.bf16.f32", (0x3F808000,), 0x3F80),
        ("cvt.rn.bf16x2.f32", (0x40000000, 0x3F800000), 0x40003F80),
        ("cvt.rn.f32.s32", (0xFFFFFFFF,), 0xBF800000),
        ("add.f32", (0x3F800000, 0x40000000), 0x40400000),
        ("fma.rn.f32", (0x40000000, 0x40000000, 0x3F800000), 0x40A00000),
        ("sub.bf16x2", (0x43094308, 0x43084308), 0x3F800000),
        ("mul.f16x2", (0x3C004000, 0x40004000), 0x40004400),
        ("neg.f32", (0x3F800000,), 0xBF800000),
        ("setp.lt.s32", (0xFFFFFFFF, 0), 1),
        ("setp.lt.u32", (0xFFFFFFFF, 0), 0),
        ("setp.eq.b32", (5, 5), 1),
        ("setp.gt.f32", (0x40000000, 0x3F800000), 1),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_results(opcode: str, operands: tuple[int, ...], due: int) -> None:
    operation = operation_of(opcode)
    assert operation is not None
    got = int(operation(*bits(*operands))[0])
    width = 64 if "64" in opcode or "wide" in opcode else 32
    assert got & (1 << width) - 1 == due & (1 << width) - 1


@pytest.mark.parametrize("kind", ["e4m3", "e5m2"])
def test_all_8_bit_floats(kind: str) -> None:
    dtype = torch.float8_e4m3fn if kind == "e4m3" else torch.float8_e5m2
    codes = torch.arange(256, dtype=torch.uint8)
    due = codes.view(dtype).half()
    operation = operation_of(f"cvt.rn.f16x2.{kind}x2")
    assert operation is not None
    words = operation(codes.numpy().astype(np.uint64) * np.uint64(257))
    for shift in (0, 16):
        half = (words >> np.uint64(shift)).astype(np.uint16).view(np.float16)
        assert np.array_equal(half, due.numpy(), equal_nan=True)


@pytest.mark.parametrize(
    "opcode",
    ["add.sat.s32", "sqrt.rn.f32", "cvt.rni.s32.f32", "cvt.rz.f16.f32", "vote"],
)
def test_what_is_not_modelled(opcode: str) -> None:
    assert operation_of(opcode) is None
