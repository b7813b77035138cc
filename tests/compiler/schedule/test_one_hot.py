"""Sums of one term need no loop."""

import pytest
import torch

from compiler.ir.evaluate import run_program
from compiler.ir.expression import Expression
from compiler.ir.index import digit, index
from compiler.ir.node import Axis, Buffer, Map, Program, Reduce
from compiler.ir.scalar import apply, cast, constant, from_index, load
from compiler.schedule.one_hot import one_hot

ROW, COLUMN = digit("i0"), digit("r0")
ROWS, COLUMNS = 6, 5
FLOAT = "float32"


def array(name: str, dtype: str, *shape: int) -> Buffer:
    return Buffer(name, dtype, tuple(map(index, shape)), "cpu")


def total(value: Expression, reducer: str = "sum") -> Reduce:
    return Reduce(
        (array("out", value.dtype, ROWS),),
        (Axis(ROW, index(ROWS)),),
        (Axis(COLUMN, index(COLUMNS)),),
        reducer,
        (value,),
    )


CLASS = load("classes", (ROW,), "int64")
HERE = apply("eq", from_index(COLUMN, "int64"), CLASS)
COUNTS = apply("ne", CLASS, constant(-100, "int64"))
ZERO = constant(0.0, FLOAT)
WEIGHT = load("weights", (ROW,), FLOAT)


def results(node: Map | Reduce) -> torch.Tensor:
    classes = torch.tensor([0, 4, -100, 5, -1, 2])
    weights = torch.tensor([1.5, torch.nan, 7.0, 8.0, 9.0, -0.0])
    inputs = array("classes", "int64", ROWS), array("weights", FLOAT, ROWS)
    (found,) = run_program(Program(inputs, (node,), ("out",)), [classes, weights])
    assert isinstance(found, torch.Tensor)
    return found


@pytest.mark.parametrize(
    "condition",
    [HERE, apply("bitwise_and", HERE, COUNTS), apply("bitwise_and", COUNTS, HERE)],
    ids=["class", "class_that_counts", "counting_class"],
)
def test_the_sum_is_its_one_term(condition: Expression) -> None:
    node = total(apply("where", condition, WEIGHT, ZERO))
    made = one_hot(node)
    assert isinstance(made, Map)
    found = results(made)
    assert torch.equal(found.nan_to_num(3.0), results(node).nan_to_num(3.0))
    assert found.tolist()[2:5] == [0.0, 0.0, 0.0]  # no column is their class
    assert not torch.signbit(found[5])


def test_zeros_of_the_other_sign_sum_to_zero() -> None:
    node = total(apply("where", HERE, WEIGHT, constant(-0.0, FLOAT)))
    made = one_hot(node)
    assert isinstance(made, Map)
    for found in (results(node), results(made)):
        assert found[5] == 0 and not torch.signbit(found[2:]).any()


COLUMN_VALUE = load("values", (COLUMN,), FLOAT)


@pytest.mark.parametrize(
    "node",
    [
        total(apply("where", HERE, COLUMN_VALUE, ZERO)),
        total(apply("where", HERE, WEIGHT, constant(1.0, FLOAT))),
        total(apply("where", HERE, WEIGHT, WEIGHT)),
        total(apply("where", COUNTS, WEIGHT, ZERO)),
        total(apply("where", apply("bitwise_or", HERE, COUNTS), WEIGHT, ZERO)),
        total(apply("where", HERE, WEIGHT, ZERO), "maximum"),
        total(WEIGHT),
        total(
            apply(
                "where",
                apply(
                    "eq",
                    cast(from_index(COLUMN, "int64"), "int32"),
                    constant(1, "int32"),
                ),
                WEIGHT,
                ZERO,
            )
        ),
    ],
    ids=[
        "each_column_its_value",
        "others_are_1",
        "others_are_no_constant",
        "all_columns",
        "class_or_all",
        "maximum",
        "no_choice",
        "other_type",
    ],
)
def test_other_sums_stay(node: Reduce) -> None:
    assert one_hot(node) is None
