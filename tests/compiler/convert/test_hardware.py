from typing import Any

import pytest

from algebra import AffineLayout, LinearLayout, UnsupportedLayoutError
from algebra.encodings import Blocked
from compiler.convert.hardware import (
    Hardware,
    affine,
    check_same_tensor,
    distributed,
    hardware_of,
    moved,
)

HERE = Hardware(2, 5, 1, 1)


def test_masks_cut_a_packed_index() -> None:
    assert HERE.bits == 9 and HERE.threads == 7
    assert HERE.register_mask == 0b11
    assert HERE.lane_mask == 0b1111100
    assert HERE.outer_mask == 0b110000000
    assert HERE.block_mask == 0b100000000
    assert HERE.with_registers(0) == Hardware(0, 5, 1, 1)


def test_masks_of_nothing() -> None:
    empty = Hardware(0, 0, 0, 0)
    assert empty.register_mask == empty.lane_mask == 0
    assert empty.outer_mask == empty.block_mask == 0


def test_absent_dims_have_size_one() -> None:
    layout = LinearLayout.identity_1d(4, "lane", "dim0")
    whole = distributed(layout, "src")
    assert hardware_of(whole) == Hardware(0, 2, 0, 0)
    shifted = distributed(AffineLayout(layout, {"dim0": 3}), "src")
    assert shifted.offset == {"dim0": 3}


def test_packed_offsets() -> None:
    layout = affine({"x": 1}, {"a": 2, "b": 1}, [5], 6)
    assert layout.offset == {"a": 2, "b": 1}
    source = moved(HERE, HERE, [1 << bit for bit in range(9)], 1)
    assert source.apply({"register": 0, "lane": 3, "warp": 1, "block": 0}) == {
        "register": 1,
        "lane": 3,
        "warp": 1,
        "block": 0,
    }


def test_out_dims_are_put_in_order() -> None:
    bases = {"register": [[0, 1]], "lane": [[1, 0]], "warp": [], "block": []}
    src = AffineLayout(LinearLayout.from_bases(bases, ["dim0", "dim1"]))
    turned = AffineLayout(src.linear.transpose_outs(["dim1", "dim0"]), {"dim0": 1})
    same = check_same_tensor(src, turned)
    assert same.linear == src.linear and same.offset == {"dim0": 1, "dim1": 0}


ENCODING = Blocked(
    size_per_thread=(1,), threads_per_warp=(32,), warps_per_cta=(1,), order=(0,)
)


@pytest.mark.parametrize(
    "given", [ENCODING, None, [[1], [2]]], ids=["encoding", "none", "list"]
)
def test_what_is_no_layout(given: Any) -> None:
    with pytest.raises(
        UnsupportedLayoutError, match=r"got src of type .*to_linear_layout"
    ):
        distributed(given, "src")
