"""Scales of block-scaled products on NVIDIA."""

from itertools import product

import pytest

from algebra.encodings import Cga, Sm120DotScaledScale
from algebra.errors import EncodingError


def test_scales_reach_every_row_and_warps_follow_their_operand() -> None:
    for op_idx, rows, columns in product((0, 1), (1, 16, 128), (1, 4)):
        scales = Sm120DotScaledScale(op_idx=op_idx, warps_per_cta=(2, 2))
        assert scales.to_linear_layout([rows, columns]).is_surjective
    left = Sm120DotScaledScale(op_idx=0, warps_per_cta=(2, 1))
    right = Sm120DotScaledScale(op_idx=1, warps_per_cta=(2, 1))
    assert left.to_linear_layout([64, 4]).bases["warp"] == ((16, 0),)
    assert right.to_linear_layout([64, 4]).bases["warp"] == ((0, 0),)
    assert eval(repr(left)) == left
    assert left.cga == Cga()


def test_batches() -> None:
    scales = Sm120DotScaledScale(op_idx=1, warps_per_cta=(2, 1, 2))
    assert scales.rank == 3
    layout = scales.to_linear_layout([4, 16, 2])
    assert layout.bases["warp"] == ((0, 8, 0), (1, 0, 0))


def test_parameters_that_do_not_fit() -> None:
    with pytest.raises(EncodingError, match="op_idx=2"):
        Sm120DotScaledScale(op_idx=2, warps_per_cta=(1, 1))
    with pytest.raises(EncodingError, match="rank=1"):
        Sm120DotScaledScale(op_idx=0, warps_per_cta=(1,))
