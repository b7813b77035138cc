import math
from collections.abc import Callable

import pytest
import torch


def _rounding(exact: torch.Tensor) -> float:
    """Return what single precision may lose on skew matrices, relative.

    A product of n x n matrices is off by a random walk of n steps; the exponential of
    a normal matrix is conditioned as its norm (Higham, Functions of Matrices, 10.2);
    four such errors in a row.
    """
    unit = torch.finfo(torch.float32).eps / 2
    norm = max(1.0, float(torch.linalg.matrix_norm(exact, 2).max()))
    return 4 * unit * norm * max(2.0, math.sqrt(exact.shape[-1]))


@pytest.fixture
def rounding() -> Callable[[torch.Tensor], float]:
    """What single precision may lose on skew matrices."""
    return _rounding
