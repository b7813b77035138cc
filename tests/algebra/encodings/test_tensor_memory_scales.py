"""Scales in tensor memory and on their way there."""

import pytest

from algebra.encodings import Cga, ScaleSmemForTmemCopy, TensorMemoryScales
from algebra.errors import EncodingError


def test_each_warp_sees_all_rows() -> None:
    for order in ("mn_then_k", "k_then_mn"):
        scales = TensorMemoryScales(block_rep_order=order)
        for rows in (32, 64, 128, 512):
            layout = scales.to_linear_layout([rows, 8])
            assert layout.bases["row"][5:] == ((0, 0), (0, 0))
            assert layout.is_surjective


def test_order_of_the_blocks() -> None:
    rows_first = TensorMemoryScales().to_linear_layout([256, 8])
    columns_first = TensorMemoryScales(block_rep_order="k_then_mn")
    assert rows_first.bases["col"][4:] == ((128, 0), (0, 4))
    assert columns_first.to_linear_layout([256, 8]).bases["col"][4:] == (
        (0, 4),
        (128, 0),
    )


def test_an_unknown_order() -> None:
    with pytest.raises(EncodingError, match="block_rep_order='k'"):
        TensorMemoryScales(block_rep_order="k")


def test_shared_memory_holds_the_same_blocks() -> None:
    shared = ScaleSmemForTmemCopy()
    layout = shared.to_linear_layout([256, 16])
    assert layout.is_invertible
    assert shared.rank == TensorMemoryScales().rank == 2
    assert eval(repr(shared)) == shared
    assert shared.cga == Cga()
    tensor = TensorMemoryScales().to_linear_layout([128, 4])
    assert layout.bases["offset"][:4] == tensor.bases["col"]


@pytest.mark.parametrize("shape", [[64, 4], [128, 2]])
def test_less_than_one_block_in_shared_memory(shape: list[int]) -> None:
    with pytest.raises(EncodingError, match="128 x 4 scales or more"):
        ScaleSmemForTmemCopy().to_linear_layout(shape)
