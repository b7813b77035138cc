import pytest

from algebra import dims


def test_names_count_from_zero() -> None:
    assert dims.standard_out_dim_names(0) == ()
    assert dims.standard_out_dim_names(3) == ("dim0", "dim1", "dim2")
    assert dims.HARDWARE_DIMS == ("register", "lane", "warp", "block")


@pytest.mark.parametrize("shape", [[], [1], [4, 8, 2]])
def test_pairs_keep_order_and_sizes(shape: list[int]) -> None:
    pairs = dims.standard_out_dim_pairs(shape)
    assert list(pairs.values()) == shape
    assert list(pairs) == [dims.dim_name(i) for i in range(len(shape))]
