"""What programs may use runs, and comes only where it is used."""

import pytest
import torch

from verify.strategies.programs.prelude import SNIPPETS, prelude
from verify.strategies.programs.program import IMPORTS


@pytest.mark.parametrize("name", sorted(SNIPPETS))
def test_each_definition_stands_alone(name: str) -> None:
    text = prelude(f"v0 = {name}")
    room: dict[str, object] = {}
    exec(IMPORTS + text, room)
    assert name in room
    assert prelude("v0 = x0") == ""


def test_a_filled_module_is_the_same_each_time() -> None:
    room: dict[str, object] = {}
    text = "a, b = (filled(torch.nn.BatchNorm2d(3), torch.float64) for _ in range(2))"
    exec(IMPORTS + prelude(text) + text, room)
    a, b = room["a"], room["b"]
    assert isinstance(a, torch.nn.BatchNorm2d) and isinstance(b, torch.nn.BatchNorm2d)
    assert torch.equal(a.weight, b.weight) and a.weight.dtype == torch.float64
    assert isinstance(a.running_var, torch.Tensor)
    assert (a.running_var > 0).all()
