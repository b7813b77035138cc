"""Every operation of the table, in every type that it takes, on special values."""

import math
from typing import Any

import pytest
import torch

from compiler.codegen.cpp import spelling
from compiler.ir.expression import VALUE_TYPES, Expression
from compiler.ir.index import digit
from compiler.ir.kernel import Store
from compiler.ir.operations import OPERATIONS, type_class
from compiler.ir.scalar import apply, bitcast, bits, cast, load, torch_type


def supported(op: str, dtype: str) -> bool:
    row = OPERATIONS[op]
    if row.result == "given" or op == "guard":
        return False
    one = load("x", (digit("i"),), dtype)
    condition = load("c", (digit("i"),), "bool")
    try:
        apply(op, *([condition, one, one] if op == "where" else [one] * row.arity))
    except TypeError:
        return False
    return True


def operands(op: str, dtype: str) -> list[Expression]:
    i = digit("i")
    x, y, z = (load(name, (i,), dtype) for name in "xyz")
    condition = load("c", (i,), "bool")
    if op == "where":
        return [condition, x, y]
    return [x, y, z][: OPERATIONS[op].arity]


@pytest.mark.parametrize("dtype", VALUE_TYPES)
def test_operations_are_those_of_the_evaluator(
    dtype: str, same: Any, kernel: Any, special: Any
) -> None:
    wanted = [op for op in OPERATIONS if supported(op, dtype)]
    if dtype == "float64":
        wanted.remove("fma")  # the evaluator rounds twice there
    assert "where" in wanted
    count = 77
    kind = torch_type(dtype)
    inputs = {
        "x": special(kind, count),
        "y": special(kind, count, 1).roll(7),
        "z": special(kind, count, 2).roll(3),
        "c": special(torch.bool, count),
    }
    zero_free = {**inputs}
    if type_class(dtype) in ("int", "unsigned"):
        zero_free["y"] = torch.where(inputs["y"] == 0, 3, inputs["y"])
        zero_free["y"] = torch.where(
            zero_free["y"] == -1, 5, zero_free["y"]
        )  # eager mode traps on least // -1
    else:
        # eager mode's own vectors give NaN for a quotient too large for a float
        small = zero_free["y"].abs() < 1e-3 if dtype != "bool" else zero_free["y"]
        zero_free["y"] = torch.where(small, inputs["x"], zero_free["y"])
    runs = []
    for op in wanted:
        value = apply(op, *operands(op, dtype))
        made = torch.zeros(count, dtype=torch_type(value.dtype))
        divides = op in spelling.DIVISIONS
        tensors = {**(zero_free if divides else inputs), "o": made}
        stages = [Store("o", (digit("i"),), value, inner=False)]
        runs.append((kernel(f"{op}_{dtype}", tensors, stages, {"i": count}), tensors))
    same(runs, ulps=8)


@pytest.mark.parametrize("source", VALUE_TYPES)
def test_casts_are_those_of_the_evaluator(
    source: str, same: Any, kernel: Any, special: Any
) -> None:
    count = 77
    x = load("x", (digit("i"),), source)
    runs = []
    for dtype in VALUE_TYPES:
        given = special(torch_type(source), count)
        if type_class(source) == "float" and type_class(dtype) != "float":
            given = given.nan_to_num(1, 2, 3).clamp(0, 100)
        pairs = {"cast": cast(x, dtype)}
        if bits(source) == bits(dtype) and "bool" not in (source, dtype):
            pairs["bits"] = bitcast(x, dtype)
        if type_class(dtype) == "float":
            pairs["back"] = cast(cast(x, dtype), source)
            if type_class(source) not in ("float", "bool"):
                del pairs["back"]  # out of range: undefined
        for name, value in pairs.items():
            made = torch.zeros(count, dtype=torch_type(value.dtype))
            tensors = {"x": given, "o": made}
            stages = [Store("o", (digit("i"),), value, inner=False)]
            runs.append(
                (
                    kernel(f"{name}_{source}_{dtype}", tensors, stages, {"i": count}),
                    tensors,
                )
            )
    same(runs, ulps=0)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_every_half_survives_a_round_trip(dtype: str, same: Any, kernel: Any) -> None:
    every = torch.arange(-(2**15), 2**15, dtype=torch.int16).view(torch_type(dtype))
    x = load("x", (digit("i"),), dtype)
    tensors = {"x": every, "o": torch.zeros(2**16, dtype=torch_type(dtype))}
    stages = [Store("o", (digit("i"),), cast(cast(x, "float32"), dtype), inner=False)]
    same([(kernel("trip", tensors, stages, {"i": 2**16}), tensors)], ulps=0)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_rounding_is_to_the_nearest_even(dtype: str, same: Any, kernel: Any) -> None:
    every = torch.arange(-(2**15), 2**15, dtype=torch.int16).view(torch_type(dtype))
    halves = every.float() * (1 + 2.0**-11) + every.float().abs() * 2.0**-12
    ties = torch.nextafter(every.float(), torch.tensor(math.inf))
    values = torch.cat([halves, ties, every.float() * 1.001])
    x = load("x", (digit("i"),), "float32")
    count = values.numel()
    tensors = {"x": values, "o": torch.zeros(count, dtype=torch_type(dtype))}
    stages = [Store("o", (digit("i"),), cast(x, dtype), inner=False)]
    same([(kernel("rounded", tensors, stages, {"i": count}), tensors)], ulps=0)


def test_constants_are_exact() -> None:
    assert spelling.constant(0.1, "float64") == "0x1.999999999999ap-4"
    assert spelling.constant(-0.0, "float32") == "-0x0p0f"
    assert spelling.constant(float("nan"), "float32") == '__builtin_nanf("")'
    assert spelling.constant(-(2**63), "int64") == "(-9223372036854775807LL - 1)"
    assert spelling.constant(200, "uint8") == "(u8)200"
