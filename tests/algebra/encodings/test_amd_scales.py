"""Scales of block-scaled products on AMD."""

from itertools import product
from typing import Any

import pytest

from algebra.encodings import Cga, CtaLayout, MfmaScale, WmmaScale
from algebra.errors import EncodingError, UnsupportedLayoutError


def test_scales_of_mfma_reach_every_row() -> None:
    for op_idx, rows, shape in product((0, 1), (16, 32), ([16, 2], [256, 8])):
        scales = MfmaScale(
            op_idx=op_idx, mfma_m=rows, warps_per_cta=(2, 2), tiles_per_warp=(2, 1)
        )
        assert scales.to_linear_layout(shape).is_surjective
        assert scales.rank == 2
        assert scales.cga == Cga()
        assert eval(repr(scales)) == scales


def test_scales_of_mfma_follow_their_operand() -> None:
    scales = MfmaScale(op_idx=1, mfma_m=32, tiles_per_warp=(1, 2), warps_per_cta=(4, 2))
    bases = scales.to_linear_layout([256, 8]).bases
    assert bases["register"] == ((0, 2), (0, 4), (32, 0), (128, 0))
    assert bases["warp"] == ((64, 0), (0, 0), (0, 0))


def wmma(**changes: Any) -> WmmaScale:
    return WmmaScale(**({"op_idx": 0} | changes))


def test_other_half_of_a_warp_holds_the_next_tile_or_copies() -> None:
    assert wmma().to_linear_layout([16, 4]).bases["lane"][4] == (0, 0)
    bases = wmma().to_linear_layout([64, 8]).bases
    assert bases["lane"][4] == (16, 0)
    assert bases["register"] == ((0, 1), (0, 2), (0, 4), (32, 0))


def test_wide_instructions_fill_a_warp_on_one_side_only() -> None:
    for op_idx, turned in product((0, 1), (False, True)):
        scales = wmma(op_idx=op_idx, instr_shape=(32, 16), is_transposed=turned)
        bases = scales.to_linear_layout([128, 4]).bases
        expected = (16, 0) if op_idx == turned else (0, 0)
        assert bases["lane"][4] == expected
        assert scales.to_linear_layout([128, 4]).is_surjective


def test_instructions_go_where_the_cta_layout_says() -> None:
    layout = CtaLayout(register=((0, 1), (1, 0)), warp=((2, 0), (0, 2)))
    scales = wmma(cta_layout=layout, cga=Cga(bases=((1, 0),)))
    bases = scales.to_linear_layout([256, 4]).bases
    assert bases["lane"][4] == (16, 0)
    assert bases["warp"] == ((32, 0), (0, 0))
    assert bases["register"] == ((0, 1), (0, 2), (64, 0))
    assert bases["block"] == ((128, 0),)
    assert scales.rank == 2
    assert eval(repr(scales)) == scales


def test_what_came_with_release_3_8() -> None:
    for changes in ({"instr_shape": (32, 16)}, {"scale_factor": 16}):
        scales = wmma(**changes)
        assert scales.to_linear_layout([32, 8], "3.8").is_surjective
        with pytest.raises(UnsupportedLayoutError, match=r"from release 3\.8 on"):
            scales.to_linear_layout([32, 8], "3.7")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"op_idx": 2}, "op_idx=2"),
        ({"instr_shape": (16, 32)}, "instr_shape to be one of"),
        ({"scale_factor": 64}, "scale_factor=64"),
        ({"is_transposed": 0}, "True or False"),
        ({"cta_layout": CtaLayout(warp=((1,),))}, "cta_layout to have 2"),
    ],
)
def test_scales_of_wmma_that_do_not_exist(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(EncodingError, match=message):
        wmma(**changes)


def test_scales_of_mfma_that_do_not_exist() -> None:
    with pytest.raises(EncodingError, match="mfma_m=64"):
        MfmaScale(op_idx=0, mfma_m=64, warps_per_cta=(1, 1))
