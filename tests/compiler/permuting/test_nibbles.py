"""Half bytes, in pairs and singly."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from algebra import AffineLayout
from compiler import permutations, permute
from compiler.errors import OutputError, SizeMismatchError
from compiler.permuting.index_map import IndexMap
from compiler.permuting.nibbles import pack, unpack
from verify.strategies.layouts import affine_layouts


@given(affine_layouts(max_bits=7), st.integers(1, 3))
def test_the_law(layout: AffineLayout, batch: int) -> None:
    map = IndexMap.from_layout(layout)
    count = max(batch << map.bits, 2) // 2
    if 2 * count % (1 << map.bits):
        return
    x = torch.arange(count).mul(37).to(torch.uint8)
    there = unpack(permute(x, layout, element_bits=4)).view(-1, 1 << map.bits)
    places = torch.tensor([map(i) for i in range(1 << map.bits)])
    assert torch.equal(there[:, places], unpack(x).view(-1, 1 << map.bits))


def test_awq_order_of_a_word() -> None:
    """The published list is a gather: out[i] = in[list[i]]."""
    x = torch.tensor([0x10, 0x32, 0x54, 0x76], dtype=torch.uint8)
    moved = unpack(permute(x, permutations.awq_order(), element_bits=4))
    assert moved.tolist() == [0, 2, 4, 6, 1, 3, 5, 7]


def test_packing_undoes_unpacking_and_out_is_filled() -> None:
    x = torch.arange(256).to(torch.uint8)
    assert torch.equal(pack(unpack(x)), x)
    out = torch.empty_like(x)
    layout = permutations.bit_reversal(9)
    assert permute(x, layout, out, element_bits=4) is out
    assert torch.equal(permute(out, layout, element_bits=4), x)


def test_errors() -> None:
    layout = permutations.transpose(2, 2)
    with pytest.raises(SizeMismatchError, match=r"dtype=torch\.float32"):
        permute(torch.zeros(4), layout, element_bits=4)
    with pytest.raises(SizeMismatchError, match="numel=1 bytes"):
        permute(torch.zeros(1, dtype=torch.uint8), layout, element_bits=4)
    with pytest.raises(SizeMismatchError, match="element_bits=3"):
        permute(torch.zeros(4, dtype=torch.uint8), layout, element_bits=3)
    bytes_ = torch.zeros(4, dtype=torch.uint8)
    with pytest.raises(OutputError):
        permute(bytes_, layout, bytes_, element_bits=4)
