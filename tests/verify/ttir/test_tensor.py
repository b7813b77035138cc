import pytest

from verify.mlir import PointerType, ScalarType, TensorType
from verify.symbolic.terms import ZERO, add, constant, symbol
from verify.ttir import tensor as module
from verify.ttir.tensor import (
    Tensor,
    TooDeepError,
    lanes_of,
    pointwise,
    range_of,
    scalar,
    sort_of,
    start_counting,
    typed,
)

I32 = ScalarType("i32")


def test_elements_are_computed_once() -> None:
    asked = []

    def at(coordinates: object) -> object:
        asked.append(coordinates)
        return ZERO

    one = Tensor((4,), I32, at)  # type: ignore[arg-type]
    assert one.term() is one.at(lanes_of((4,))) is ZERO
    assert len(asked) == 1


def test_lanes_of_size_one_are_zero() -> None:
    assert lanes_of((1, 8)) == (ZERO, symbol("lane1:8", 0, 7))
    assert lanes_of(()) == ()


def test_sorts_and_ranges() -> None:
    assert sort_of(PointerType(I32)) == "pointer" and sort_of(I32) == "int"
    assert sort_of(TensorType((2,), ScalarType("i1"))) == "bool"
    assert range_of(ScalarType("f32")) == (None, None)
    assert range_of(I32) == (-(2**31), 2**31 - 1)


def test_scalars_spread() -> None:
    one = typed(TensorType((4,), I32), lambda at: at[0])
    total = pointwise(TensorType((4,), I32), add, one, scalar(I32, constant(3)))
    assert total.term() is add(lanes_of((4,))[0], constant(3))


def test_a_definition_that_is_too_large_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MAX_ELEMENTS", 3)
    start_counting()
    one = Tensor((8,), I32, lambda at: at[0])
    with pytest.raises(TooDeepError):
        for index in range(8):
            one.at((constant(index),))
