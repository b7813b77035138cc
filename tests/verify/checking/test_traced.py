import pytest
import torch

from verify.checking.arguments import Buffer, Scalar
from verify.checking.folds import folded
from verify.checking.reals import number, operation
from verify.checking.setting import memory_of, scalar_names
from verify.checking.traced import (
    NotTracedError,
    float_scalar,
    pointwise,
    stand_for,
    stands_for,
    traced,
)
from verify.symbolic.terms import add, mul, read, symbol

NAMES = scalar_names({"M": Scalar("i32", 1), "N": Scalar("i32", 1)}, {})
MEMORIES = {
    "x": memory_of("x", Buffer("fp32", ("M", "N")), NAMES),
    "b": memory_of("b", Buffer("fp32", ("N",)), NAMES),
}
ROW, COLUMN = symbol("row", 0), symbol("column", 0)
CELL = read("value", "x", 0, add(mul(ROW, NAMES["N"]), COLUMN), None, None)


def element(function: object) -> object:
    (result,) = traced(function, MEMORIES, [])  # type: ignore[arg-type]
    return result.at((ROW, COLUMN)[: result.ndim])


def test_elements_are_terms() -> None:
    assert element(lambda x: x * 2) is operation("mulf", CELL, number(2))
    assert element(lambda x: 1 - torch.exp(x)) is operation(
        "subf", number(1), operation("exp", CELL)
    )
    bias = read("value", "b", 0, COLUMN, None, None)
    assert element(lambda x, b: x + b) is operation("addf", CELL, bias)
    turned = read("value", "x", 0, add(mul(COLUMN, NAMES["N"]), ROW), None, None)
    assert element(lambda x: x.T) is element(lambda x: x.transpose(0, 1)) is turned
    assert "cmpf" in repr(element(lambda x: torch.where(x > 0, x, x * 0.1)))
    assert element(lambda x: torch.relu(x)) is operation("maxnumf", CELL, number(0))


def test_reductions_are_folds() -> None:
    (found,) = traced(lambda x: x.sum(1), MEMORIES, [])
    assert found.shape == (NAMES["M"],)
    term = found.at((ROW,))
    assert term.args[:2] == ("fold", "addf")
    bound = term.args[2]
    assert term is folded("addf", bound, term.args[3], term.args[4])
    (kept,) = traced(lambda x: torch.softmax(x, -1), MEMORIES, [])
    assert kept.shape == (NAMES["M"], NAMES["N"])


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda x: torch.cumsum(x, 1), "cumsum"),
        (lambda x: x.sum(), "dim=None"),
        (lambda x, b: x.T + b, "may differ"),
        (lambda x: 3, "no tensor"),
        (lambda y: y, "does not have"),
        (lambda x: x + "a", "an argument"),
        (lambda x: x.median(), "Tensor.median"),
        (lambda x: torch.add(x, x, alpha=2), "alpha"),
    ],
)
def test_what_has_no_meaning_ends_the_attempt(function: object, said: str) -> None:
    with pytest.raises(NotTracedError, match=said):
        traced(function, MEMORIES, [])  # type: ignore[arg-type]


def test_a_stand_in_reads_its_buffer() -> None:
    assert stand_for(MEMORIES["x"]).at((ROW, COLUMN)) is CELL


def test_extents_that_may_differ_are_not_combined() -> None:
    x, b = (stand_for(MEMORIES[name]) for name in "xb")
    assert pointwise(lambda p, q: operation("addf", p, q), [x, b]).shape == x.shape
    with pytest.raises(NotTracedError, match="may differ"):
        pointwise(lambda p, q: operation("addf", p, q), [x.T, b])


def test_parameters_that_are_floats_are_numbers() -> None:
    (found,) = traced(lambda x, eps: x + eps, MEMORIES, ["eps"])
    eps = float_scalar("eps").at(())
    assert found.at((ROW, COLUMN)) is operation("addf", CELL, eps)
    assert [stand.ndim for stand in stands_for(["b", "eps"], MEMORIES)] == [1, 0]
