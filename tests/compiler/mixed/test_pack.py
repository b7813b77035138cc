import pytest
import torch

from compiler import preshuffle
from compiler.mixed.fragments import unit_depth, weight_fragment
from verify.mixed import random_weight


@pytest.mark.parametrize(
    ("format", "n", "k", "group", "zeros"),
    [
        ("int4", 32, 256, 128, False),
        ("int4", 40, 192, 64, True),
        ("int4", 17, 192, 192, True),
        ("int4", 16, 320, 32, True),
        ("int8", 48, 96, 32, False),
        ("int8", 5, 128, 128, False),
        ("fp8e4m3", 16, 256, 64, False),
        ("fp8e5m2", 16, 256, 256, False),
        ("mxfp4", 24, 320, 32, False),
        ("nvfp4", 24, 192, 16, False),
    ],
)
def test_unpack_is_the_inverse(
    format: str,
    n: int,
    k: int,
    group: int,
    zeros: bool,
) -> None:
    weight = random_weight(format, n, k, group, zeros=zeros)
    codes, scales, points = weight.unpack()
    assert codes.shape == (n, k)
    assert scales.shape == (n, k // group)
    again = preshuffle(
        codes, scales, points, format=format, group=group, alpha=weight.alpha
    )
    assert torch.equal(again.weight, weight.weight)
    assert torch.equal(again.scales, weight.scales)
    if zeros:
        assert again.zeros is not None and weight.zeros is not None
        assert torch.equal(again.zeros, weight.zeros)
    else:
        assert points is None
    size = 0 if weight.zeros is None else weight.zeros.nbytes
    size += weight.weight.nbytes + weight.scales.nbytes
    assert size == weight.problem.weight_bytes


@pytest.mark.parametrize("bits", [4, 8])
def test_codes_come_back(bits: int) -> None:
    codes = torch.randint(0, 1 << bits, (37, 192), dtype=torch.uint8)
    scales = torch.rand(37, 3).bfloat16()
    weight = preshuffle(codes, scales, format=f"int{bits}")
    assert torch.equal(weight.unpack()[0], codes)
    assert torch.equal(weight.unpack()[1], scales)


def test_a_lanes_vector_holds_its_fragment() -> None:
    """Lane 9's first 16 bytes of the second unit, by hand."""
    weight = random_weight("int4", 16, 128, 128)
    codes = weight.unpack()[0]
    words = weight.weight.view(-1, 32, 4)[1, 9]
    layout = weight_fragment(unit_depth(4), 128)
    for register in range(32):
        place = layout.apply({"register": register, "lane": 9, "warp": 0, "block": 0})
        # registers: pair, row + 8, half, then two bits of words; positions: row + 8,
        # half, pair
        word = int(words[register >> 3])
        position = (register >> 1 & 3) | (register & 1) << 2
        assert word >> 4 * position & 15 == codes[place["dim0"], 64 + place["dim1"]]


def test_dequantise() -> None:
    weight = random_weight("int4", 16, 128, 64, zeros=True)
    codes, scales, zeros = weight.unpack()
    assert zeros is not None
    factor = scales.double().repeat_interleave(64, 1)
    due = 0.5 * (codes.double() - zeros.double().repeat_interleave(64, 1)) * factor
    assert torch.equal(weight.dequantise(torch.float64), due)


def test_dtype() -> None:
    assert random_weight("int8", 16, 128, 64, torch.float16).dtype == torch.float16
