"""Tensor memory: blocks, halves, pairs of CTAs, views."""

from itertools import product
from typing import Any

import pytest

from algebra.encodings import Cga, TensorMemory
from algebra.errors import EncodingError, NotPowerOfTwoError, UnsupportedLayoutError

PAIR = Cga(bases=((1, 0),))


def memory(**changes: Any) -> TensorMemory:
    parameters: dict[str, Any] = {"block_m": 128, "block_n": 16}
    return TensorMemory(**(parameters | changes))


def test_whole_blocks_are_bijections() -> None:
    for rows, columns, block_n in product((128, 256), (16, 64), (16, 64)):
        layout = memory(block_n=block_n).to_linear_layout([rows, columns])
        assert layout.is_invertible
        assert layout.in_dims["row"] == 128


def test_half_blocks_take_the_next_one_or_leave_a_gap() -> None:
    half = memory(block_m=64)
    assert half.to_linear_layout([128, 16]).bases["row"][4] == (64, 0)
    assert half.to_linear_layout([64, 32]).bases["row"][4] == (0, 16)
    assert half.to_linear_layout([64, 16]).bases["row"][4] == (0, 0)


def test_stride_and_padding_leave_gaps() -> None:
    assert memory(block_n=2, col_stride=2).to_linear_layout([128, 2]).bases["col"] == (
        (0, 0),
        (0, 1),
    )
    assert memory(block_n=2, fp4_padded=True).to_linear_layout([128, 2]).bases[
        "col"
    ] == ((0, 0), (0, 1))


def test_a_pair_of_ctas_shares_a_block() -> None:
    pair = memory(block_m=64, two_ctas=True, cga=PAIR)
    bases = pair.to_linear_layout([128, 16]).bases
    assert bases["row"][-2:] == ((32, 0), (0, 8))
    assert bases["block"] == ((64, 0),)
    narrow = memory(block_m=64, block_n=1, col_stride=4, two_ctas=True, cga=PAIR)
    bases = narrow.to_linear_layout([128, 2]).bases
    assert bases["row"][-1] == (0, 0)
    assert bases["col"] == ((0, 0), (0, 1))
    whole = memory(two_ctas=True, cga=PAIR).to_linear_layout([256, 16])
    assert whole.bases["row"][-1] == (64, 0)


def test_parts_of_ctas_follow_each_other_before_release_3_8() -> None:
    split = memory(block_m=64, cga=Cga(bases=((1, 0), (0, 1))))
    old = split.to_linear_layout([256, 32], "3.7").bases
    assert old["col"][4:] == ((128, 0), (0, 16))
    assert old["block"] == ()
    pair = memory(block_m=64, two_ctas=True, cga=PAIR)
    old = pair.to_linear_layout([128, 16], "3.7").bases
    assert old["row"][-1] == (0, 8)
    assert old["col"][-1] == (64, 0)
    alone = memory(block_m=64, two_ctas=True).to_linear_layout([64, 16], "3.7")
    assert alone.bases["row"][4] == (0, 0)


def test_views() -> None:
    whole = memory(block_n=64)
    view = whole.to_linear_layout(
        [128, 256], alloc_shape=[256, 256], element_bits=32
    ).bases
    assert view["col"][6:] == ((0, 0), (0, 64), (0, 128))
    narrow = memory(block_n=1, col_stride=2)
    view = narrow.to_linear_layout(
        [128, 1], alloc_shape=[256, 1], element_bits=16
    ).bases
    assert view["col"] == ((0, 0),)
    same = whole.to_linear_layout([128, 64], alloc_shape=[128, 64])
    assert same == whole.to_linear_layout([128, 64])


def test_text() -> None:
    assert memory().rank == 2
    assert eval(repr(memory())) == memory()


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"block_m": 32}, EncodingError, r"block_m to be one of \[64, 128\]"),
        ({"block_n": 24}, NotPowerOfTwoError, "block_n=24"),
        ({"col_stride": 0}, NotPowerOfTwoError, "col_stride=0"),
        ({"fp4_padded": True, "col_stride": 2}, EncodingError, "col_stride=2"),
        ({"two_ctas": "no"}, EncodingError, "True or False"),
    ],
)
def test_parameters_that_do_not_fit(
    changes: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        memory(**changes)


def test_too_few_rows() -> None:
    with pytest.raises(EncodingError, match="take block_m=64 or a taller tensor"):
        memory().to_linear_layout([64, 16])


@pytest.mark.parametrize("cga", [Cga(), Cga(bases=((0, 1),))])
def test_a_pair_needs_its_basis(cga: Cga) -> None:
    with pytest.raises(EncodingError, match="put the pair of CTAs along M first"):
        memory(two_ctas=True, cga=cga).to_linear_layout([256, 64])


def test_a_pair_needs_two_columns() -> None:
    pair = memory(block_m=64, block_n=1, two_ctas=True, cga=PAIR)
    with pytest.raises(EncodingError, match="take block_n >= 2"):
        pair.to_linear_layout([128, 2])


def test_a_pair_of_older_releases_exchanges_by_block_n() -> None:
    pair = memory(block_m=64, two_ctas=True, cga=PAIR)
    bases = pair.to_linear_layout([256, 8], "3.7").bases
    assert bases["row"][-1] == (128, 0)
    assert bases["col"] == ((0, 1), (0, 2), (0, 4), (64, 0))
    for block_n in (1, 64):
        pair = memory(block_m=64, block_n=block_n, two_ctas=True, cga=PAIR)
        with pytest.raises(UnsupportedLayoutError, match="take another block_n"):
            pair.to_linear_layout([128, 8], "3.7")


def test_views_that_do_not_fit() -> None:
    with pytest.raises(EncodingError, match="element_bits=None"):
        memory().to_linear_layout([128, 8], alloc_shape=[128, 16])
    with pytest.raises(EncodingError, match="give the larger one as alloc_shape"):
        memory().to_linear_layout([128, 32], alloc_shape=[128, 16], element_bits=32)
