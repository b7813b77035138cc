"""Holes are filled with what fits."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from verify.strategies.programs.scope import HOLES, Scope


@given(st.data())
def test_every_hole_beside_a_tensor_makes_a_valid_expression(
    data: st.DataObject,
) -> None:
    x = torch.arange(24.0).reshape(2, 3, 4)
    scope = Scope({"x": x})
    forms = {
        "dim": "x.sum({dim})",
        "dims": "x.sum({dims})",
        "perm": "x.permute({perm})",
        "reshape": "x.reshape({reshape})",
        "expand": "x.expand({expand})",
        "slices": "x[{slices}]",
        "indices": "x[{indices}]",
        "positions": "torch.index_select(x, 0, {positions})",
        "rows": "torch.gather(x, 0, {rows})",
        "repeats": "x.repeat({repeats})",
        "pads": "torch.nn.functional.pad(x, {pads})",
        "last": "torch.nn.functional.layer_norm(x, ({last},))",
    }
    assert forms.keys() == HOLES.keys()
    for form in forms.values():
        text = scope.fill(data.draw, "({t}, " + form + ")[1]")
        assert text is not None
        result = eval(text, {"torch": torch, "x": x})
        assert isinstance(result, torch.Tensor)


def test_nothing_fits_is_told() -> None:
    scope = Scope({"x": torch.ones(2)})
    assert scope.pick(lambda strategy: None, lambda value: value.dim() == 5) is None
