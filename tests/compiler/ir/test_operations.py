"""The one table of operations is whole."""

import ctypes
import ctypes.util
import itertools
import math
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


@pytest.mark.parametrize("name", ["maximum", "minimum"])
@pytest.mark.parametrize("count", [1, 40])
def test_of_two_zeros_the_first_is_the_extreme(name: str, count: int) -> None:
    evaluate = OPERATIONS[name].evaluate
    assert evaluate is not None
    plus = torch.zeros(count)
    assert evaluate(-plus, plus).signbit().all()
    assert not evaluate(plus, -plus).signbit().any()
    assert evaluate(plus, plus / 0).isnan().all()
    assert evaluate(plus / 0, plus).isnan().all()


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


NUMBERS = (0.0, -0.0, 0.25, 0.5, 300.0, -1.0, 1e-3, 3.0, math.inf, math.nan)


@pytest.mark.parametrize("name", [n for n, row in OPERATIONS.items() if row.arity == 3])
def test_numbers_are_combined_as_arrays_are(name: str) -> None:
    """Operands in the order of the table, and the same for constants and arrays."""
    evaluate = OPERATIONS[name].evaluate
    if evaluate is None:
        return
    for triple in itertools.permutations(NUMBERS, 3):
        values = [torch.tensor(number) for number in triple]
        if name == "where":
            values[0] = values[0] > 0
        rows = [value.reshape(1) for value in values]
        torch.testing.assert_close(
            evaluate(*values), evaluate(*rows)[0], rtol=0, atol=0, equal_nan=True
        )


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_a_fused_product_is_rounded_once(kind: str) -> None:
    library = ctypes.CDLL(ctypes.util.find_library("m"))
    number = ctypes.c_float if kind == "float32" else ctypes.c_double
    wanted = library.fmaf if kind == "float32" else library.fma
    wanted.restype, wanted.argtypes = number, [number] * 3
    fused = OPERATIONS["fma"].evaluate
    assert fused is not None
    dtype = getattr(torch, kind)
    generator = torch.Generator().manual_seed(0)
    for _ in range(500):
        x, y = torch.randn(2, generator=generator, dtype=dtype)
        near = -(x * y) * (1 + torch.randint(-2, 3, (), generator=generator) * 2e-7)
        for z in (near, torch.tensor(0.5, dtype=dtype)):
            found = fused(x, y, z).item()
            assert found == wanted(x.item(), y.item(), z.item())
    assert fused(*(torch.tensor(v, dtype=dtype) for v in (0.25, 300, 0.5))) == 75.5
