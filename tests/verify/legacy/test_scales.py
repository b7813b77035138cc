from collections.abc import Callable

import pytest

from algebra.encodings import MfmaScale, Sm120DotScaledScale, WmmaScale
from verify.legacy.placement import Placement
from verify.legacy.scales import wmma_scales


@pytest.mark.parametrize("op_idx", [0, 1])
@pytest.mark.parametrize("shape", [[128, 2], [16, 8], [4, 1]])
def test_sm120(simulate: Callable[..., int], op_idx: int, shape: list[int]) -> None:
    encoding = Sm120DotScaledScale(op_idx=op_idx, warps_per_cta=(2, 4))
    assert simulate(encoding, shape) > 0


@pytest.mark.parametrize("op_idx", [0, 1])
@pytest.mark.parametrize("rows", [16, 32])
@pytest.mark.parametrize("shape", [[128, 8], [16, 2]])
def test_mfma(
    simulate: Callable[..., int], op_idx: int, rows: int, shape: list[int]
) -> None:
    encoding = MfmaScale(
        op_idx=op_idx, mfma_m=rows, warps_per_cta=(2, 2), tiles_per_warp=(1, 2)
    )
    assert simulate(encoding, shape) > 0


@pytest.mark.parametrize("op_idx", [0, 1])
@pytest.mark.parametrize("instr", [(16, 16), (32, 16)])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("shape", [[128, 8], [16, 4], [32, 16]])
def test_wmma(
    simulate: Callable[..., int],
    op_idx: int,
    instr: tuple[int, int],
    transposed: bool,
    shape: list[int],
) -> None:
    encoding = WmmaScale(op_idx=op_idx, instr_shape=instr, is_transposed=transposed)
    assert simulate(encoding, shape) > 0


def test_the_upper_lanes_take_the_next_tile_or_copy() -> None:
    assert wmma_scales([32, 4], 0, Placement()).position(0, 16, 0) == [16, 0]
    assert wmma_scales([16, 4], 0, Placement()).position(0, 16, 0) == [0, 0]
