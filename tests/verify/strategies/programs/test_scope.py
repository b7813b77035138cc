"""Holes are filled with what fits."""

from typing import Any

import torch
from hypothesis import given
from hypothesis import strategies as st

from verify.strategies.programs.scope import BESIDE, HOLES, TENSORS, Scope, tensor_holes


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
        "split_sizes": "torch.split(x, {split_sizes})[-1]",
        "as_strided": "x.as_strided({as_strided})",
    }
    assert forms.keys() == HOLES.keys()
    for form in forms.values():
        text = scope.fill(data.draw, "({t}, " + form + ")[1]")
        assert text is not None
        result = eval(text, {"torch": torch, "x": x})
        assert isinstance(result, torch.Tensor)


def test_operands_that_eager_mode_reads_beyond_are_not_chosen() -> None:
    image = torch.zeros(2, 2, 3, 4)
    windows = torch.zeros(64).as_strided((2, 2, 3, 4), (0, 1, 2, 1))
    repeated = image[:, :, :1].expand(2, 2, 3, 4)
    values = (image, image.mT, windows, repeated)
    assert [TENSORS["apart"](value) for value in values] == [True, True, False, False]
    assert [TENSORS["rows4"](value) for value in values] == [True, True, False, True]


def test_nothing_fits_is_told() -> None:
    scope = Scope({"x": torch.ones(2)})
    assert scope.pick(lambda strategy: None, lambda value: value.dim() == 5) is None


def test_the_latest_value_that_fits_is_half_of_what_is_picked() -> None:
    scope = Scope({name: torch.ones(2) for name in "abc"} | {"d": torch.ones(())})
    offered: list[str] = []

    def draw(strategy: Any) -> Any:
        offered.extend(strategy.elements)
        return offered[0]

    assert scope.pick(draw, lambda value: value.dim() == 1) == "c"
    assert sorted(offered) == ["a", "b", "c", "c", "c"]


def test_a_template_is_offered_where_its_tensors_are() -> None:
    scope = Scope({"x": torch.ones(2)})
    kinds = {"a": tensor_holes("{f} + {k}"), "b": tensor_holes("{m} @ {right}")}
    assert scope.fitting(["a", "b"], kinds) == ["a"]


@given(st.data())
def test_it_is_the_first_tensor_and_modules_become_objects(
    data: st.DataObject,
) -> None:
    scope = Scope({"x": torch.ones(2, 3)})
    assert scope.fill(data.draw, "{f1} * {it}.shape[0]") == "x * x.shape[0]"
    assert scope.fill(data.draw, "{linear}({f1full})") == "m0(x)"
    assert scope.objects["m0"].startswith("filled(torch.nn.Linear(3, ")


def test_that_is_the_last_tensor_before_and_another_one() -> None:
    scope = Scope({"x": torch.ones(2), "y": torch.ones(2), "z": torch.ones(3)})

    def first(strategy: Any) -> Any:
        return strategy.elements[0]

    text = scope.fill(first, "{t}.copy_({into}); {that}.zero_()")
    assert text == "z.copy_(z); z.zero_()"
    x = scope.values["x"]
    assert not BESIDE["other"](x, x) and BESIDE["other"](x, scope.values["y"])
    scope = Scope({"x": torch.ones(2), "y": torch.ones(2)})
    assert scope.fill(first, "{t} + {other} + {that}") == "y + x + x"


def test_a_long_dim_is_half_of_what_is_drawn() -> None:
    offered: list[list[int]] = []

    def first(strategy: Any) -> Any:
        offered.append(list(strategy.elements))
        return offered[-1][0]

    assert HOLES["dim"](first, torch.ones(3, 4)) == "0"
    assert HOLES["dim"](first, torch.ones(3, 40)) == "0"
    assert offered[0] == [0, 1, -2, -1]
    assert offered[1] == [0, 1, -2, -1, 1, -1, 1, -1]
