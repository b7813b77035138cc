from collections.abc import Callable
from typing import Any

import pytest
import torch

from verify.checking.aten_views import extents_of, term_of_extent
from verify.checking.traced import NotTracedError
from verify.symbolic.terms import constant, symbol

SQUARE = {"x": ("M", "N")}
FUNCTIONS: dict[str, tuple[dict[str, tuple[Any, ...]], Callable[..., Any]]] = {
    "turned": (SQUARE, lambda x: x.T.contiguous().T + x.mT.transpose(0, 1)),
    "pieces": (SQUARE, lambda x: torch.cat((x[1:, 1:], x[:-1, :-1] * 2), 0)),
    "chosen": (SQUARE, lambda x: x[:, -1] + x[:, 0].unsqueeze(1).squeeze(1)),
    "viewed": (
        {"x": ("M", 6)},
        lambda x: x.view(x.shape[0], 2, 3).sum(1) + x.reshape(-1, 3, 2).amax(2),
    ),
    "expanded": (
        {"x": ("M", "N"), "b": ("N",)},
        lambda x, b: b.expand_as(x) * x + torch.zeros_like(x) + torch.ones(()),
    ),
}


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_each_element_is_what_pytorch_computes(
    name: str, compared: Callable[..., None]
) -> None:
    shapes, function = FUNCTIONS[name]
    compared(shapes, function)


def test_extents_are_terms() -> None:
    n = symbol("n", 0)
    assert extents_of([2, n, -1]) == [constant(2), n, -1]
    assert term_of_extent(n) is n
    with pytest.raises(NotTracedError, match="an extent"):
        term_of_extent(0.5)
