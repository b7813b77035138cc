from dataclasses import replace

import numpy as np
import pytest
import torch

from algebra import LinearLayout
from algebra.encodings import DotOperand, NvidiaMma
from algebra.errors import DimMismatchError, NotInvertibleError, OutOfRangeError
from algebra.verdict import Proved, Refuted
from compiler import permutations, permute
from compiler.mixed.memory_order import derive

MMA = NvidiaMma(version=(2, 0), warps_per_cta=(1, 1), instr_shape=(16, 8))
WIDE = NvidiaMma(version=(2, 0), warps_per_cta=(2, 2), instr_shape=(16, 8))
WGMMA = NvidiaMma(version=(3, 0), warps_per_cta=(4, 1), instr_shape=(16, 64, 16))
OPERANDS = {
    "mma a": (DotOperand(op_idx=0, parent=MMA, k_width=2), [16, 128]),
    "mma b": (DotOperand(op_idx=1, parent=MMA, k_width=2), [16, 64]),
    "mma a, k_width 8": (DotOperand(op_idx=0, parent=MMA, k_width=8), [32, 64]),
    "mma a, four warps": (DotOperand(op_idx=0, parent=WIDE, k_width=4), [64, 64]),
    "mma b, four warps": (DotOperand(op_idx=1, parent=WIDE, k_width=2), [64, 64]),
    "wgmma a": (DotOperand(op_idx=0, parent=WGMMA, k_width=2), [64, 64]),
    "wgmma a, k_width 4": (DotOperand(op_idx=0, parent=WGMMA, k_width=4), [128, 32]),
}


def operand(name: str) -> LinearLayout:
    encoding, shape = OPERANDS[name]
    return encoding.to_linear_layout(shape)


def test_marlins_order_is_an_instance() -> None:
    """4-bit weights as B operand of m16n8k16, four 16 x 16 tiles side by side."""
    order = derive(operand("mma b"), 4)
    rows_to_tiles = permutations.permute_axes((16, 4, 16), (1, 0, 2))
    assert order.index_map == rows_to_tiles.compose(permutations.marlin_tile())


def test_a_whole_weight_in_marlins_order() -> None:
    weight = torch.randint(0, 16, (64, 256), dtype=torch.uint8)
    units = weight.view(4, 16, 4, 64).permute(0, 2, 1, 3).contiguous()
    ours = permute(units, derive(operand("mma b"), 4).index_map)
    theirs = permute(weight, permutations.marlin_weight(64, 256))
    assert torch.equal(ours.flatten(), theirs.flatten())


@pytest.mark.parametrize("load_bits", [32, 64, 128])
@pytest.mark.parametrize(
    ("bits", "target"), [(4, 16), (4, 8), (8, 16), (8, 32), (16, 16)]
)
@pytest.mark.parametrize("name", OPERANDS)
def test_every_register_gets_its_element(
    name: str, bits: int, target: int, load_bits: int
) -> None:
    order = derive(operand(name), bits, target_bits=target, load_bits=load_bits)
    verdict = order.prove()
    assert isinstance(verdict, Proved)
    assert dict(verdict.facts)["elements"] == np.prod(OPERANDS[name][1])


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("name", OPERANDS)
def test_by_moving_numbers(name: str, bits: int) -> None:
    """Pack element numbers, let lanes read vectors and take words apart."""
    encoding, shape = OPERANDS[name]
    layout = encoding.to_linear_layout(shape)
    order = derive(layout, bits)
    memory = permute(torch.arange(int(np.prod(shape))), order.index_map).numpy()
    each, per_word = 128 // bits, 32 // bits
    registers = layout.get_in_dim_size("register")
    lanes = np.arange(32)
    held = layout.in_columns("warp")
    for warp in range(layout.get_in_dim_size("warp")):
        # warps that hold the same elements read the same memory
        number = sum(
            1 << sum(1 for c in held[:bit] if c)
            for bit in range(len(held))
            if warp >> bit & 1 and held[bit]
        )
        mine = memory.reshape(-1, registers // each, 32, each)[number]
        words = mine.transpose(1, 0, 2).reshape(32, -1, per_word)
        # target word i: positions i and i + n
        pairs = words.reshape(32, -1, 2, per_word // 2).transpose(0, 1, 3, 2)
        got = pairs.reshape(32, registers)
        for register in range(registers):
            for lane in lanes:
                place = layout.apply(
                    {"register": register, "lane": int(lane), "warp": warp, "block": 0}
                )
                assert got[lane, register] == place["dim0"] * shape[1] + place["dim1"]


def test_a_wrong_order_is_refuted() -> None:
    order = derive(operand("mma a"), 4)
    columns = list(order.layout.columns)
    columns[0], columns[5] = columns[5], columns[0]
    wrong = LinearLayout.from_columns(
        {"offset": len(columns)},
        dict(zip(order.layout.out_names, order.layout.out_bits, strict=True)),
        columns,
    )
    verdict = replace(order, layout=wrong).prove()
    assert isinstance(verdict, Refuted)
    assert verdict.counterexample["delivered"] != verdict.counterexample["wanted"]


def test_lanes_read_neighbouring_vectors() -> None:
    order = derive(operand("mma a"), 4)
    assert order.reads.in_columns("lane") == (32, 64, 128, 256, 512)


def test_too_small_a_tile() -> None:
    small = DotOperand(op_idx=0, parent=MMA, k_width=2).to_linear_layout([16, 16])
    with pytest.raises(DimMismatchError, match="register=8"):
        derive(small, 4)


@pytest.mark.parametrize(
    ("widths", "name"),
    [
        ({"element_bits": 3}, "element_bits"),
        ({"element_bits": 64}, "element_bits"),
        ({"element_bits": 8, "target_bits": 4}, "target_bits"),
        ({"element_bits": 4, "load_bits": 256}, "load_bits"),
        ({"element_bits": 4.0}, "element_bits"),
    ],
)
def test_widths_that_there_are_not(widths: dict[str, int], name: str) -> None:
    with pytest.raises(OutOfRangeError, match=name):
        derive(operand("mma a"), **widths)


def test_an_element_in_two_places() -> None:
    twice = LinearLayout.from_bases(
        {"register": [[1], [2], [4], [1]], "lane": [[8]]}, {"dim0": 16}
    )
    with pytest.raises(NotInvertibleError, match="drop the doubled"):
        derive(twice, 8, load_bits=32)


def test_an_element_that_is_nowhere() -> None:
    part = LinearLayout.from_bases(
        {"register": [[1], [2]], "lane": [[8]]}, {"dim0": 16}, require_surjective=False
    )
    with pytest.raises(NotInvertibleError, match="whole tile"):
        derive(part, 8, load_bits=32)
