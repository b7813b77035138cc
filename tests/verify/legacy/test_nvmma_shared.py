from collections.abc import Callable

import pytest

from algebra.encodings import NvmmaShared
from verify.legacy.nvmma_shared import nvmma_shared


@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
@pytest.mark.parametrize("bits", [8, 16, 32])
@pytest.mark.parametrize("transposed", [False, True])
def test_every_position(
    simulate: Callable[..., int], swizzle: int, bits: int, transposed: bool
) -> None:
    encoding = NvmmaShared(
        swizzle_byte_width=swizzle, element_bit_width=bits, transposed=transposed
    )
    assert simulate(encoding, [128, 128]) == 1 << 14


def test_padding_and_more_dims(simulate: Callable[..., int]) -> None:
    padded = NvmmaShared(swizzle_byte_width=128, element_bit_width=8, fp4_padded=True)
    assert simulate(padded, [16, 64]) == 1024
    cube = NvmmaShared(swizzle_byte_width=64, element_bit_width=16, rank=3)
    assert simulate(cube, [4, 8, 64]) == 2048
    turned = NvmmaShared(
        swizzle_byte_width=32, element_bit_width=16, rank=3, transposed=True
    )
    assert simulate(turned, [16, 4, 8]) == 512


def test_more_rows_than_a_box(simulate: Callable[..., int]) -> None:
    for transposed in (False, True):
        encoding = NvmmaShared(
            swizzle_byte_width=32, element_bit_width=32, transposed=transposed
        )
        shape = [16, 512] if transposed else [512, 16]
        assert simulate(encoding, shape) == 1 << 13


def test_the_swizzle_of_wgmma() -> None:
    """128 bytes of halves: 16-byte piece p of row r lies at piece p xor r mod 8."""
    model = nvmma_shared([64, 64], 128, 16)
    for row in range(16):
        for piece in range(8):
            expected = row * 64 + (piece ^ row % 8) * 8
            assert model.offset([row, piece * 8]) == expected
