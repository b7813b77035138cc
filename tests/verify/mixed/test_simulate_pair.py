import torch

from verify.mixed import random_operand, simulate_pair


def test_a_wrong_operand_is_seen() -> None:
    a, b = (
        random_operand("int8", 64, 32, "k"),
        random_operand("int8", 64, 32, "k", seed=1),
    )
    done = simulate_pair(("int8", "int8"), ("k", "k"), a, b)
    assert torch.equal(done.out.double(), a.values @ b.values.T)
    mixed = a._replace(data=a.data.flip(0))
    wrong = simulate_pair(("int8", "int8"), ("k", "k"), mixed, b)
    assert not torch.equal(wrong.out, done.out)
