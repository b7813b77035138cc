import pytest

from algebra.errors import OutOfRangeError
from algebra.verdict import Proved
from compiler.mixed.fragments import (
    activation_fragment,
    k_order,
    scale_groups,
    scale_order,
    slab,
    unit_depth,
    weight_fragment,
    weight_order,
)
from compiler.mixed.memory_order import derive

BLOCKS = [16, 32, 64, 128, 4096]


@pytest.mark.parametrize("block", BLOCKS)
def test_k_order_is_a_permutation(block: int) -> None:
    assert sorted(k_order(block, 8)) == list(range(8))


@pytest.mark.parametrize("block", BLOCKS)
def test_both_operands_agree_on_k(block: int) -> None:
    """The instruction pairs register (pair, half, number) and lane % 4 of both."""
    a, b = weight_fragment(128, block), activation_fragment(128, block)
    for number in range(8):
        for pair in (0, 1):
            for half in (0, 1):
                for lane in range(4):
                    # registers of A: pair, row + 8, half, number; of B: without rows
                    left = a.apply(
                        {
                            "register": pair | half << 2 | number << 3,
                            "lane": lane,
                            "warp": 0,
                            "block": 0,
                        }
                    )
                    right = b.apply(
                        {
                            "register": pair | half << 1 | number << 2,
                            "lane": lane,
                            "warp": 0,
                            "block": 0,
                        }
                    )
                    assert left["dim1"] == right["dim0"]


@pytest.mark.parametrize("block", BLOCKS)
def test_an_instruction_stays_in_one_block(block: int) -> None:
    a = weight_fragment(128, block)
    for number in range(8):
        ks = {
            a.apply({"register": r | number << 3, "lane": lane, "warp": 0, "block": 0})[
                "dim1"
            ]
            for r in range(8)
            for lane in range(32)
        }
        assert len(ks) == 16
        assert len({k // block for k in ks}) == 1


@pytest.mark.parametrize(("block", "vector"), [(16, 4), (32, 8), (128, 8)])
def test_a_lane_reads_neighbouring_activations(block: int, vector: int) -> None:
    """The lowest bits of k are registers, the next two lanes."""
    b = activation_fragment(64, block)
    registers = set(b.in_columns("register"))
    assert {1 << i for i in range(vector.bit_length() - 1)} <= registers
    assert b.bases["lane"][:2] == ((vector, 0), (2 * vector, 0))


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("bits", [4, 8])
def test_orders_are_proved(bits: int, block: int) -> None:
    order = weight_order(bits, block)
    assert isinstance(order.prove(), Proved)
    assert order.layout.out_dims == {"dim0": 16, "dim1": unit_depth(bits)}


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("bits", [4, 8])
def test_one_packing_serves_mma_and_wgmma(bits: int, block: int) -> None:
    """The units of four warps follow each other."""
    unit = weight_order(bits, block)
    four = derive(weight_fragment(unit_depth(bits), block, wgmma=True), bits)
    assert isinstance(four.prove(), Proved)
    size = len(unit.layout.columns)
    assert four.layout.bases["offset"][:size] == unit.layout.bases["offset"]
    assert four.layout.bases["offset"][size:] == ((16, 0), (32, 0))


@pytest.mark.parametrize("groups", [1, 2, 4, 8])
@pytest.mark.parametrize("bits", [8, 16])
def test_scales_are_proved(bits: int, groups: int) -> None:
    if 2 * groups * bits <= 128:
        order = scale_order(bits, groups)
        assert isinstance(order.prove(), Proved)
        # a lane's rows first, then its groups
        assert order.layout.bases["offset"][0] == (8, 0)


def test_scales_of_128_features_lie_together() -> None:
    assert [scale_groups(16, group) for group in (32, 64, 128, 256)] == [4, 2, 1, 1]
    assert [scale_groups(8, group) for group in (16, 32)] == [8, 4]


@pytest.mark.parametrize("block", [8, 24, 0])
def test_blocks_that_divide_an_instruction(block: int) -> None:
    with pytest.raises(OutOfRangeError, match=f"block={block}"):
        slab(block)
