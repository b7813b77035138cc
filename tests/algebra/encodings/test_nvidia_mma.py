"""NVIDIA's fragments as the PTX manual prints them."""

from itertools import product
from typing import Any

import pytest

from algebra.encodings import Cga, DotOperand, NvidiaMma
from algebra.errors import EncodingError, UnsupportedLayoutError


def mma(**changes: Any) -> NvidiaMma:
    parameters: dict[str, Any] = {
        "version": [2, 0],
        "warps_per_cta": [1, 1],
        "instr_shape": [16, 8],
    }
    return NvidiaMma(**(parameters | changes))


def test_result_fragment_of_m16n8() -> None:
    layout = mma().to_linear_layout([16, 8])
    for lane, register in product(range(32), range(4)):
        point = {"register": register, "lane": lane, "warp": 0, "block": 0}
        row = lane // 4 + 8 * (register // 2)
        column = lane % 4 * 2 + register % 2
        assert layout.apply(point) == {"dim0": row, "dim1": column}


def test_operand_fragments_of_m16n8k16() -> None:
    left = DotOperand(op_idx=0, parent=mma(), k_width=2).to_linear_layout([16, 16])
    right = DotOperand(op_idx=1, parent=mma(), k_width=2).to_linear_layout([16, 8])
    for lane, register in product(range(32), range(8)):
        point = {"register": register, "lane": lane, "warp": 0, "block": 0}
        row = lane // 4 + 8 * (register // 2 % 2)
        column = lane % 4 * 2 + register % 2 + 8 * (register // 4)
        assert left.apply(point) == {"dim0": row, "dim1": column}
    for lane, register in product(range(32), range(4)):
        point = {"register": register, "lane": lane, "warp": 0, "block": 0}
        row = lane % 4 * 2 + register % 2 + 8 * (register // 2)
        assert right.apply(point) == {"dim0": row, "dim1": lane // 4}


def test_warps_of_v2_run_along_n_and_of_v3_along_m() -> None:
    ampere = mma(warps_per_cta=(2, 2)).to_linear_layout([64, 64])
    hopper = mma(version=(3, 0), warps_per_cta=(4, 2), instr_shape=(16, 32, 16))
    assert ampere.bases["warp"] == ((0, 8), (16, 0))
    warps = hopper.to_linear_layout([64, 64]).bases["warp"]
    assert warps == ((16, 0), (32, 0), (0, 32))


def test_float64_instruction_of_8_rows() -> None:
    parent = mma(instr_shape=(8, 8))
    operand = DotOperand(op_idx=0, parent=parent, k_width=1)
    assert operand.to_linear_layout([8, 4]).bases["register"] == ()
    assert operand.to_linear_layout([8, 4], "3.7").bases["register"] == (
        (0, 0),
        (0, 0),
    )
    batch = mma(warps_per_cta=(2, 1, 1), instr_shape=(1, 8, 8))
    assert batch.to_linear_layout([2, 8, 8]).bases["warp"] == ((1, 0, 0),)


def test_register_operand_of_wgmma() -> None:
    parent = mma(version=(3, 0), warps_per_cta=(4, 1), instr_shape=(16, 64, 16))
    operand = DotOperand(op_idx=0, parent=parent, k_width=2)
    layout = operand.to_linear_layout([64, 16])
    assert layout.bases["register"] == ((0, 1), (8, 0), (0, 8))
    assert layout.is_surjective


def test_results_and_operands_reach_every_element() -> None:
    for warps in product((1, 2, 4), repeat=2):
        for shape in product((1, 16, 64), repeat=2):
            parent = mma(warps_per_cta=warps, cga=Cga(bases=((1, 0),)))
            assert parent.to_linear_layout(shape).is_surjective
            for op_idx in (0, 1):
                operand = DotOperand(op_idx=op_idx, parent=parent, k_width=4)
                assert operand.to_linear_layout(shape).is_surjective


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": [5, 0]}, "use TensorMemory"),
        ({"version": [2]}, "version to have 2 entries"),
        ({"instr_shape": [16, 16]}, "16 x 8 or 8 x 8"),
        ({"warps_per_cta": [1], "instr_shape": [8]}, "rank >= 2"),
        ({"warps_per_cta": [1, 1, 1]}, "after 1 ones"),
        ({"version": [3, 0]}, r"instr_shape \[16, N, K\]"),
        ({"version": [3, 0], "instr_shape": [16, 12, 16]}, "multiple of 8"),
        ({"version": [3, 0], "instr_shape": [16, 512, 16]}, "up to 256"),
    ],
)
def test_instructions_that_do_not_exist(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(EncodingError, match=message):
        mma(**changes)


def test_a_width_of_24_is_an_instruction_but_no_linear_layout() -> None:
    encoding = mma(version=(3, 0), warps_per_cta=(4, 1), instr_shape=(16, 24, 16))
    with pytest.raises(UnsupportedLayoutError, match="split N into powers of two"):
        encoding.to_linear_layout([64, 32])
