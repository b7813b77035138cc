"""The one table of operations is whole."""

import string

import pytest
import torch

from compiler.ir.operations import OPERATIONS, Operation, type_class


@pytest.mark.parametrize("row", OPERATIONS.values(), ids=lambda row: row.name)
def test_a_row_is_consistent(row: Operation) -> None:
    assert row.arity in (1, 2, 3) and row.cost >= 1
    assert row.result in ("same", "second", "bool", "given")
    for template in (row.cpp, row.triton):
        texts = [] if template is None else [template]
        if template is not None and not isinstance(template, str):
            texts = list(template.values())
        for text in texts:
            assert isinstance(text, str)
            names = {name for _, name, _, _ in string.Formatter().parse(text) if name}
            assert names <= {"0", "1", "2", "t", "f"}
            assert {str(n) for n in range(row.arity)} <= names | {"f", "t"}


@pytest.mark.parametrize("name", ["exp", "sqrt", "floor", "erf", "lgamma"])
def test_functions_of_one_float_are_torch_s(name: str) -> None:
    evaluate = OPERATIONS[name].evaluate
    x = torch.tensor([0.5, 2.25, 7.0])
    assert evaluate is not None
    assert torch.equal(evaluate(x), getattr(torch, name)(x))


def test_floor_division_and_remainder_follow_torch() -> None:
    floor, rest = OPERATIONS["floordiv"].evaluate, OPERATIONS["remainder"].evaluate
    assert floor is not None and rest is not None
    a, b = torch.tensor([7, -7, 7, -7]), torch.tensor([2, 2, -2, -2])
    assert floor(a, b).tolist() == [3, -4, -4, 3]
    assert rest(a, b).tolist() == [1, 1, -1, -1]
    truncated = OPERATIONS["truncdiv"].evaluate
    assert truncated is not None and truncated(a, b).tolist() == [3, -3, -3, 3]


def test_classes_of_types() -> None:
    kinds = {"float16": "float", "int64": "int", "uint8": "unsigned", "bool": "bool"}
    assert {name: type_class(name) for name in kinds} == kinds
    assert type_class("index") == "index"
