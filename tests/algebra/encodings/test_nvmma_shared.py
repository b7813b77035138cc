"""NVIDIA's swizzle, counted in bytes and 16-byte vectors."""

from itertools import product
from typing import Any

import pytest

from algebra.encodings import Cga, NvmmaShared
from algebra.errors import EncodingError, NotPowerOfTwoError


def nvmma(**changes: Any) -> NvmmaShared:
    parameters: dict[str, Any] = {"swizzle_byte_width": 128, "element_bit_width": 16}
    return NvmmaShared(**(parameters | changes))


def test_address_bits_are_xored_as_the_manual_says() -> None:
    for width, bits in product((32, 64, 128), (8, 16, 32)):
        shared = nvmma(swizzle_byte_width=width, element_bit_width=bits)
        columns = 8 * width // bits
        layout = shared.to_linear_layout([8, columns])
        for offset in range(8 * columns):
            address = offset * bits // 8
            mask = width // 16 - 1
            plain = address ^ (address >> 7 & mask) << 4
            row, column = divmod(plain, width)
            got = layout.apply({"offset": offset, "block": 0})
            assert got["dim0"] == row
            assert got["dim1"] * bits // 8 == column


def test_swizzles_are_bijections() -> None:
    for width, turned, rank in product((0, 32, 64, 128), (False, True), (2, 3, 4)):
        shared = nvmma(swizzle_byte_width=width, transposed=turned, rank=rank)
        if width == 0 and turned and rank > 2:
            continue
        shape = [64, *[2] * (rank - 2), 64]
        for release in ("3.7", "3.9"):
            assert shared.to_linear_layout(shape, release).is_invertible


def test_transposed_swaps_the_dims_of_a_matrix() -> None:
    for width in (0, 32, 128):
        plain = nvmma(swizzle_byte_width=width).to_linear_layout([16, 64])
        turned = nvmma(swizzle_byte_width=width, transposed=True)
        layout = turned.to_linear_layout([64, 16])
        swapped = [vector[::-1] for vector in layout.bases["offset"]]
        assert tuple(swapped) == plain.bases["offset"]


def test_no_swizzle_and_transposed_changed_with_release_3_8() -> None:
    shared = nvmma(swizzle_byte_width=0, transposed=True)
    assert shared.to_linear_layout([2, 2], "3.7").bases["offset"] == ((0, 1), (1, 0))
    assert shared.to_linear_layout([2, 2], "3.8").bases["offset"] == ((1, 0), (0, 1))
    cube = nvmma(swizzle_byte_width=0, transposed=True, rank=3)
    assert not cube.to_linear_layout([4, 2, 2], "3.8").is_injective


def test_padding_of_4_bit_values() -> None:
    shared = nvmma(element_bit_width=8, fp4_padded=True)
    bases = shared.to_linear_layout([8, 64]).bases["offset"]
    assert bases[:7] == ((0, 1), (0, 2), (0, 4), (0, 0), (0, 8), (0, 16), (0, 32))
    assert bases[7:] == ((1, 8), (2, 16), (4, 32))


def test_boxes_of_256_repeat_along_the_last_dim_first() -> None:
    bases = nvmma().to_linear_layout([512, 128]).bases["offset"]
    assert bases[-2:] == ((256, 0), (0, 64))
    plain = nvmma(swizzle_byte_width=0).to_linear_layout([512, 512])
    assert plain.bases["offset"][-2:] == ((0, 256), (256, 0))


def test_vectors_and_ctas() -> None:
    line = nvmma(swizzle_byte_width=0, rank=1).to_linear_layout([4])
    assert line.bases["offset"] == ((1,), (2,))
    split = nvmma(cga=Cga(bases=((0, 1),))).to_linear_layout([8, 128])
    assert split.bases["block"] == ((0, 64),)


@pytest.mark.parametrize("shape", [[8, 32], [4, 64]])
def test_a_part_smaller_than_a_core_matrix(shape: list[int]) -> None:
    with pytest.raises(EncodingError, match="at least 64 elements in dim 1 and 8"):
        nvmma().to_linear_layout(shape)


def test_a_view_has_the_map_of_its_allocation() -> None:
    layout = nvmma().to_linear_layout([8, 64], alloc_shape=[16, 64])
    assert layout.out_dims["dim0"] == 16


def test_text() -> None:
    assert eval(repr(nvmma())) == nvmma()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"swizzle_byte_width": 16}, r"one of \[0, 32, 64, 128\]"),
        ({"element_bit_width": 4}, "element_bit_width=4"),
        ({"rank": 1}, "rank to be an integer >= 2"),
        ({"transposed": None}, "True or False"),
        ({"fp4_padded": True}, "with fp4_padded needs element_bit_width"),
        ({"fp4_padded": True, "swizzle_byte_width": 64}, "swizzle_byte_width=64"),
        ({"cga": Cga(bases=((1,),))}, "cga to have 2"),
    ],
)
def test_parameters_that_do_not_fit(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(EncodingError, match=message):
        nvmma(**changes)


def test_sizes_that_are_no_powers_of_two() -> None:
    with pytest.raises(NotPowerOfTwoError, match="size 24 in dim 0"):
        nvmma().to_linear_layout([24, 64])
