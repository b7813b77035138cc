"""AMD's MFMA fragments, as the instruction set manual prints them."""

from itertools import product
from typing import Any

import pytest

from algebra.encodings import AmdMfma, Cga, DotOperand
from algebra.errors import EncodingError, NotPowerOfTwoError


def mfma(**changes: Any) -> AmdMfma:
    parameters: dict[str, Any] = {
        "version": 3,
        "warps_per_cta": (1, 1),
        "instr_shape": (32, 32, 8),
        "is_transposed": False,
    }
    return AmdMfma(**(parameters | changes))


def test_result_fragment_of_32x32() -> None:
    layout = mfma().to_linear_layout([32, 32])
    for lane, register in product(range(64), range(16)):
        point = {"register": register, "lane": lane, "warp": 0, "block": 0}
        row = register % 4 + 4 * (lane // 32) + 8 * (register // 4)
        assert layout.apply(point) == {"dim0": row, "dim1": lane % 32}


def test_transposition_swaps_rows_and_columns() -> None:
    for tile in ((32, 32), (16, 16)):
        instr = (*tile, 8)
        plain = mfma(instr_shape=instr).to_linear_layout(tile)
        turned = mfma(instr_shape=instr, is_transposed=True).to_linear_layout(tile)
        swapped = turned.rename_out_dim("dim0", "x").rename_out_dim("dim1", "dim0")
        swapped = swapped.rename_out_dim("x", "dim1")
        assert swapped.transpose_outs(["dim0", "dim1"]) == plain


def test_result_of_float64_holds_single_rows() -> None:
    layout = mfma(instr_shape=(16, 16, 4), element_bit_width=64)
    assert layout.to_linear_layout([16, 16]).bases["register"] == ((4, 0), (8, 0))


def test_tiles_of_a_warp_are_neighbours_along_n() -> None:
    layout = mfma(tiles_per_warp=(2, 2), warps_per_cta=(1, 2))
    bases = layout.to_linear_layout([64, 256]).bases
    assert bases["register"][4:] == ((0, 32), (0, 128), (32, 0))
    assert bases["warp"] == ((0, 64),)


def test_batches_go_to_warps() -> None:
    layout = mfma(warps_per_cta=(2, 1, 1)).to_linear_layout([2, 32, 32])
    assert layout.bases["warp"] == ((1, 0, 0),)
    assert layout.is_invertible


@pytest.mark.parametrize("release", ["3.6", "3.7", "3.8", "3.9"])
def test_results_and_operands_reach_every_element(release: str) -> None:
    for tile in ((32, 32), (16, 16), (64, 4), (4, 64)):
        parent = mfma(
            instr_shape=(*tile, 8),
            is_transposed=True,
            warps_per_cta=(2, 2),
            tiles_per_warp=(1, 2),
            cga=Cga(bases=((0, 1),)),
        )
        for shape in product((1, 16, 128), repeat=2):
            assert parent.to_linear_layout(shape, release).is_surjective
            for op_idx in (0, 1):
                operand = DotOperand(op_idx=op_idx, parent=parent, k_width=4)
                assert operand.to_linear_layout(shape, release).is_surjective


def test_operand_of_4x64_repeats_along_k() -> None:
    parent = mfma(instr_shape=(4, 64, 4))
    operand = DotOperand(op_idx=1, parent=parent, k_width=4)
    layout = operand.to_linear_layout([64, 64])
    assert layout.bases["register"] == tuple((1 << bit, 0) for bit in range(6))
    assert layout.bases["lane"] == tuple((0, 1 << bit) for bit in range(6))


def test_text() -> None:
    assert eval(repr(mfma())) == mfma()
    assert mfma() == mfma(tiles_per_warp=(1, 1))


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"version": 5}, EncodingError, "version to be one of"),
        ({"instr_shape": (8, 8, 8)}, EncodingError, r"M, N of instr_shape"),
        ({"instr_shape": (64, 4, 4)}, EncodingError, "64 x 4 needs is_transposed"),
        ({"is_transposed": 1}, EncodingError, "True or False"),
        ({"element_bit_width": 16}, EncodingError, "element_bit_width=16"),
        ({"warps_per_cta": (1,)}, EncodingError, "rank to be one of"),
        ({"tiles_per_warp": (1, 3)}, NotPowerOfTwoError, "tiles_per_warp=3"),
    ],
)
def test_instructions_that_do_not_exist(
    changes: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        mfma(**changes)
