import pytest
import torch

from compiler.mixed.pairs import OPERANDS
from verify.mixed import random_operand


@pytest.mark.parametrize("order", ["k", "mn"])
@pytest.mark.parametrize("name", OPERANDS)
def test_data_has_the_type_and_order(name: str, order: str) -> None:
    operand = random_operand(name, 16, 64, order)
    bits = OPERANDS[name].bits
    assert operand.data.nbytes == 16 * 64 * bits // 8
    assert operand.values.shape == (16, 64)
    rows = operand.data if order == "k" else operand.data.T
    if bits >= 16:
        assert torch.equal(rows.double(), operand.values)


def test_low_half_first() -> None:
    operand = random_operand("int4", 4, 8, "k")
    low = (operand.data.int() & 15).where(operand.data.int() & 8 == 0, 0)
    positive = operand.values[:, ::2] >= 0
    assert torch.equal(low[positive].double(), operand.values[:, ::2][positive])
