"""Kernels with one fault each, and the setting that a check works in."""

import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch

from verify.checking.arguments import Argument, Buffer, Scalar
from verify.checking.aten import captured
from verify.checking.check import setting_of
from verify.checking.setting import Setting, memory_of, scalar_names
from verify.symbolic.terms import Term, constant
from verify.symbolic.walk import substitute, value_at

ARGS: dict[str, Argument] = {
    "x": Buffer("fp32", "n"),
    "y": Buffer("fp32", "n", writes=True),
    "n": Scalar("i32", 0, 2**31 - 1),
}


def setting(
    text: str,
    args: dict[str, Argument] | None = None,
    grid: tuple[int | str, ...] = ("cdiv(n, 64)",),
    assume: tuple[str, ...] = (),
) -> Setting:
    """Return the setting of a kernel; by default of a copy of n elements."""
    deadline = time.perf_counter() + 20
    return setting_of(
        text, ARGS if args is None else args, {}, grid, assume, None, 2.0, deadline
    )


@pytest.fixture
def settings() -> Callable[..., Setting]:
    """A function from a kernel's text to its setting."""
    return setting


SIZES = {"M": 3, "N": 4, "K": 2}

_JOIN: dict[str, Callable[[list[float]], float]] = {
    "addf": math.fsum,
    "maxnumf": max,
    "minnumf": min,
}


def number_of(term: Term, tensors: dict[str, torch.Tensor]) -> float:
    """Return the value of an element, by brute force over its folds."""
    if term.kind == "ite":
        return number_of(term.args[1 if truth(term.args[0], tensors) else 2], tensors)
    if term.kind == "read":
        offset = substitute(term.args[2], {})
        assert offset.kind == "const", offset
        return float(tensors[term.args[0]].flatten()[offset.args[0]])
    assert term.kind == "opaque", term
    name, parts = term.args[0], [a for a in term.args if isinstance(a, Term)]
    if name == "constant":
        return float(term.args[1])
    if name == "sitofp":
        return float(parts[0].args[0])
    if name == "fold":
        _, join, bounds, condition, body = term.args
        values = []
        for places in torch.cartesian_prod(*[torch.arange(5)] * len(bounds)).reshape(
            -1, len(bounds)
        ):
            to = dict(zip(bounds, map(constant, places.tolist()), strict=True))
            if truth(substitute(condition, to), tensors):
                values.append(number_of(substitute(body, to), tensors))
        return _JOIN[join](values)
    numbers = [number_of(part, tensors) for part in parts]
    return _PYTHON[name](*numbers)


def truth(term: Term, tensors: dict[str, torch.Tensor]) -> bool:
    def other(node: Term, _: Any) -> bool:
        a, b = (number_of(part, tensors) for part in node.args[2:])
        return {"ogt": a > b, "oge": a >= b, "olt": a < b, "ole": a <= b}[node.args[1]]

    return bool(value_at(term, {}, other))


def _of_torch(function: Callable[..., torch.Tensor], a: float) -> float:
    return float(function(torch.tensor(a, dtype=torch.float64)))


_PYTHON: dict[str, Callable[..., float]] = {
    "addf": lambda a, b: a + b,
    "subf": lambda a, b: a - b,
    "mulf": lambda a, b: a * b,
    "divf": lambda a, b: a / b,
    "negf": lambda a: -a,
    "maxnumf": max,
    "minnumf": min,
    **{
        name: partial(_of_torch, f)
        for name, f in {
            "exp": torch.exp, "log": torch.log, "sqrt": torch.sqrt,
            "rsqrt": torch.rsqrt, "erf": torch.erf, "tanh": torch.tanh,
            "absf": torch.abs, "floor": torch.floor,
        }.items()
    },
}  # fmt: skip


def compared_with_pytorch(
    shapes: dict[str, tuple[Any, ...]], function: Callable[..., Any]
) -> None:
    """Compare each element of a captured function with what PyTorch computes."""
    names = scalar_names({name: Scalar("i32", 1) for name in SIZES}, {})
    held = {n: memory_of(n, Buffer("fp32", s), names) for n, s in shapes.items()}
    results, conditions = captured(function, held, [])
    torch.manual_seed(0)
    tensors = {
        n: torch.randn([SIZES.get(e, e) for e in s], dtype=torch.float64)
        for n, s in shapes.items()
    }
    wanted = function(*tensors.values())
    to = {names[n]: constant(v) for n, v in SIZES.items()}
    assert not conditions
    assert [substitute(e, to).args[0] for e in results[0].shape] == list(wanted.shape)
    for place in torch.cartesian_prod(*(torch.arange(n) for n in wanted.shape)).reshape(
        -1, wanted.dim()
    ):
        where = tuple(int(p) for p in place)
        term = substitute(results[0].at(tuple(map(constant, where))), to)
        assert number_of(term, tensors) == pytest.approx(float(wanted[where]))


@pytest.fixture
def compared() -> Callable[..., None]:
    """A function that compares a captured function with PyTorch, by brute force."""
    return compared_with_pytorch
