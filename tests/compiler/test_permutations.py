"""Named maps against torch and against the published lists."""

import numpy as np
import pytest
import torch

from algebra.errors import (
    DimMismatchError,
    NotInvertibleError,
    NotPowerOfTwoError,
    OutOfRangeError,
)
from compiler import permutations, permute


def test_axes_agree_with_torch() -> None:
    x = torch.arange(2 * 4 * 8 * 2).view(2, 4, 8, 2)
    for axes in ((3, 1, 0, 2), (0, 1, 2, 3), (2, 3, 1, 0)):
        layout = permutations.permute_axes(x.shape, axes)
        assert torch.equal(permute(x, layout).flatten(), x.permute(axes).flatten())
    assert permutations.permute_axes((), ()).num_in_dims == 1


def test_axes_must_be_a_permutation() -> None:
    with pytest.raises(DimMismatchError, match=r"axes=\(0, 0\)"):
        permutations.permute_axes((2, 2), (0, 0))
    with pytest.raises(NotPowerOfTwoError, match=r"shape\[1\]"):
        permutations.permute_axes((2, 3), (1, 0))


def test_transpose_and_rotation_and_reversal() -> None:
    x = torch.arange(32).view(8, 4)
    assert torch.equal(
        permute(x, permutations.transpose(8, 4)).view(4, 8), x.T.contiguous()
    )
    square = torch.arange(64).view(8, 8)
    assert torch.equal(permute(square, permutations.rotate90(8)), torch.rot90(square))
    assert torch.equal(
        permute(x, permutations.reversal(5)).flatten(), x.flatten().flip(0)
    )


def test_image_layouts() -> None:
    x = torch.arange(3 * 64 * 4 * 8).view(3, 64, 4, 8)
    nhwc = permute(x, permutations.nchw_to_nhwc(64, 4, 8))
    assert torch.equal(nhwc.view(3, 4, 8, 64), x.permute(0, 2, 3, 1))
    assert torch.equal(permute(nhwc, permutations.nhwc_to_nchw(64, 4, 8)), x)
    blocked = permute(x, permutations.nc32hw32(64, 4, 8)).view(3, 2, 4, 8, 32)
    assert torch.equal(blocked, x.view(3, 2, 32, 4, 8).permute(0, 1, 3, 4, 2))
    shuffled = permute(x, permutations.pixel_shuffle(16, 4, 8, 2)).view(3, 16, 8, 16)
    assert torch.equal(shuffled, torch.pixel_shuffle(x, 2))


@pytest.mark.parametrize(
    ("channels", "error"), [(16, DimMismatchError), (48, NotPowerOfTwoError)]
)
def test_nc32hw32_needs_full_groups(channels: int, error: type[Exception]) -> None:
    with pytest.raises(error, match="channels="):
        permutations.nc32hw32(channels, 2, 2)


def test_orders_of_bits() -> None:
    x = torch.arange(16)
    assert permute(x, permutations.bit_reversal(4)).tolist() == [
        int(f"{i:04b}"[::-1], 2) for i in range(16)
    ]
    gray = permute(x, permutations.gray(4))
    assert [int(gray[i ^ i >> 1]) for i in range(16)] == list(range(16))
    assert permutations.morton(32, 32).columns == (
        *(1, 4, 16, 64, 256),
        *(2, 8, 32, 128, 512),
    )
    assert permutations.morton(4, 1).columns == (1, 2)


def test_block_scales_tile_by_tile() -> None:
    rows, columns = 256, 8
    scales = torch.arange(rows * columns, dtype=torch.int16).view(rows, columns)
    tiled = permute(scales, permutations.block_scales(rows, columns)).flatten()
    for r in range(rows):
        for c in range(columns):
            tile = (r // 128) * (columns // 4) + c // 4
            place = (r % 32) * 16 + (r % 128 // 32) * 4 + c % 4
            assert tiled[tile * 512 + place] == scales[r, c]
    with pytest.raises(DimMismatchError, match="rows=64"):
        permutations.block_scales(64, 4)


def test_col32_2r_4r4_tile_by_tile() -> None:
    rows, columns = 64, 128
    matrix = torch.arange(rows * columns, dtype=torch.int16).view(rows, columns)
    layout = permutations.col32_2r_4r4(rows, columns)
    tiled = permute(matrix, layout).flatten()
    for r in range(rows):
        for c in range(columns):
            tile = c // 32 * (rows // 32) + r // 32
            row = (r % 8 // 2 * 4 + r % 32 // 8) * 2 + r % 2
            assert tiled[tile * 1024 + row * 32 + c % 32] == matrix[r, c]


@pytest.mark.parametrize(
    ("rows", "error"), [(16, DimMismatchError), (48, NotPowerOfTwoError)]
)
def test_col32_2r_4r4_needs_full_tiles(rows: int, error: type[Exception]) -> None:
    with pytest.raises(error, match="rows="):
        permutations.col32_2r_4r4(rows, 32)


def test_gather_lists_are_the_inverse_map() -> None:
    word = torch.arange(8)
    assert permute(word, permutations.awq_order()).tolist() == [0, 2, 4, 6, 1, 3, 5, 7]
    with pytest.raises(NotInvertibleError):
        permutations.from_gather([1, 1])


def marlin_list() -> list[int]:
    """The gather list that the dequantiser wants, from the mma fragments' geometry.

    Lane l of a warp holds, of the 16 x 16 B operand, rows 2(l%4) + {0, 1, 8, 9} of
    columns l//4 and l//4 + 8; four operands side by side give 32 values a lane, of
    which each eight are interleaved, even places first.
    """
    values = []
    for lane in range(32):
        rows = [2 * (lane % 4) + step for step in (0, 1, 8, 9)]
        eight = [16 * row + lane // 4 + half for half in (0, 8) for row in rows]
        order = [*eight[0::2], *eight[1::2]]
        values += [256 * operand + place for operand in range(4) for place in order]
    return values


def test_marlin_tile_is_the_published_list() -> None:
    tile = torch.arange(1024)
    assert permute(tile, permutations.marlin_tile()).tolist() == marlin_list()


@pytest.mark.parametrize(("rows", "columns"), [(16, 64), (64, 256), (256, 128)])
def test_marlin_weight(rows: int, columns: int) -> None:
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 16, (rows, columns), dtype=np.int8)
    tiles = weight.reshape(rows // 16, 16, columns // 16, 16).transpose(0, 2, 1, 3)
    expected = tiles.reshape(-1, 1024)[:, marlin_list()]
    layout = permutations.marlin_weight(rows, columns)
    got = permute(torch.from_numpy(weight), layout).numpy()
    assert (got.ravel() == expected.ravel()).all()


def test_a_weight_of_an_odd_number_of_tile_rows_is_a_batch() -> None:
    weight = torch.randint(0, 16, (48, 64), dtype=torch.int8)
    strips = permute(weight, permutations.marlin_weight(16, 64))
    for i in range(3):
        strip = weight[16 * i : 16 * i + 16]
        one = permute(strip, permutations.marlin_weight(16, 64))
        assert torch.equal(strips[16 * i : 16 * i + 16], one)


def test_a_weight_smaller_than_a_unit() -> None:
    with pytest.raises(DimMismatchError, match="rows=8, columns=64"):
        permutations.marlin_weight(8, 64)


@pytest.mark.parametrize("shape", [(2, 3, 7, 9), (3, 16, 4, 8), (0, 3, 4, 4)])
def test_channels_last_of_any_extents(shape: tuple[int, ...]) -> None:
    images = torch.randn(shape)
    result = permutations.channels_last(images)
    assert result.is_contiguous()
    assert torch.equal(result, images.permute(0, 2, 3, 1))


def test_channels_last_needs_four_axes() -> None:
    with pytest.raises(DimMismatchError, match=r"shape=\(3, 4\)"):
        permutations.channels_last(torch.zeros(3, 4))


@pytest.mark.parametrize("name", ["bit_reversal", "gray", "reversal"])
@pytest.mark.parametrize("bits", [-1, 1025, 10**12, "3", 2.0, None])
def test_bits_are_a_number_that_an_index_can_have(name: str, bits: object) -> None:
    with pytest.raises(OutOfRangeError, match="bits must be a number from 0 to 1024"):
        getattr(permutations, name)(bits)


def test_the_longest_index() -> None:
    longest = permutations.bit_reversal(permutations.MOST_BITS)
    assert (
        longest.compose(longest).bases
        == permutations.from_columns([1 << i for i in range(1024)]).bases
    )
