import torch

from manifolds.expm.direct import exponentiate, serves


def test_small_matrices_on_the_cpu() -> None:
    assert serves(torch.zeros(2, 3, 3))
    assert not serves(torch.zeros(0, 3, 3))
    assert not serves(torch.zeros(40, 40))
    zero, direction = torch.zeros(3, 3), torch.randn(3, 3)
    torch.testing.assert_close(exponentiate(zero), torch.eye(3))
    torch.testing.assert_close(exponentiate(zero, direction), direction)
