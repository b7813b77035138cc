"""A measure of errors."""

from collections.abc import Callable

import pytest
import torch


@pytest.fixture
def excess() -> Callable[[torch.Tensor, torch.Tensor], float]:
    """Error of a result, in errors of the rounded exact result."""

    def ratio(got: torch.Tensor, exact: torch.Tensor) -> float:
        rounding = (exact.to(got.dtype).double() - exact).norm()
        return float((got.double() - exact).norm() / rounding)

    return ratio
