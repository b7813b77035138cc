import math
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch.nn import functional

from verify.checking.arguments import Buffer, Scalar
from verify.checking.aten import captured
from verify.checking.setting import Memory, memory_of, scalar_names
from verify.checking.traced import NotTracedError
from verify.symbolic.terms import Term, constant, symbol
from verify.symbolic.walk import substitute

NAMES = scalar_names({"M": Scalar("i32", 1), "N": Scalar("i32", 1)}, {})


def memories(**shapes: tuple[Any, ...]) -> dict[str, Memory]:
    return {n: memory_of(n, Buffer("fp32", s), NAMES) for n, s in shapes.items()}


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
    from verify.symbolic.walk import value_at

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

SQUARE = {"x": ("M", "N")}
FUNCTIONS: dict[str, tuple[dict[str, tuple[Any, ...]], Callable[..., Any]]] = {
    "layer_norm": (
        {"x": ("M", "N"), "w": ("N",), "b": ("N",)},
        lambda x, w, b: functional.layer_norm(x, (x.shape[1],), w, b, 1e-5),
    ),
    "rms_norm": (SQUARE, lambda x: functional.rms_norm(x, (x.shape[1],), None, 1e-6)),
    "softmax": (SQUARE, lambda x: functional.softmax(x, 1)),
    "log_softmax": (SQUARE, lambda x: functional.log_softmax(x, -1)),
    "gelu": (SQUARE, lambda x: functional.gelu(x)),
    "silu": (SQUARE, lambda x: functional.silu(x)),
    "leaky": (SQUARE, lambda x: functional.leaky_relu(x, 0.1)),
    "clamp": (SQUARE, lambda x: x.clamp(-0.5, 0.5).abs()),
    "var": (SQUARE, lambda x: x.var(0) + x.var(0, correction=0)),
    "mean": (SQUARE, lambda x: x.sum(0) * x.mean(0)),
    "extremes": (SQUARE, lambda x: x.amax(1) - x.max(1)[0] + x.amin(1)),
    "powers": (SQUARE, lambda x: x**2 + x**3 + (x * x + 1) ** 0.5 + (x * x + 1) ** -1),
    "product": (
        {"x": ("M", "N"), "y": ("N", "K"), "b": ("K",)},
        lambda x, y, b: torch.addmm(b, x, y) + x @ y,
    ),
    "turned": (SQUARE, lambda x: x.T.contiguous().T + x.mT.transpose(0, 1)),
    "masked": (SQUARE, lambda x: x.tril() + torch.where(x > 0, x, 0.5)),
    "pieces": (SQUARE, lambda x: torch.cat((x[1:, 1:], x[:-1, :-1] * 2), 0)),
    "chosen": (SQUARE, lambda x: x[:, -1] + x[:, 0].unsqueeze(1).squeeze(1)),
    "viewed": (
        {"x": ("M", 6)},
        lambda x: x.view(x.shape[0], 2, 3).sum(1) + x.reshape(-1, 3, 2).amax(2),
    ),
    "alpha": (SQUARE, lambda x: torch.add(x, x, alpha=3) - torch.sub(x, x, alpha=2)),
    "expanded": (
        {"x": ("M", "N"), "b": ("N",)},
        lambda x, b: b.expand_as(x) * x + torch.zeros_like(x) + torch.ones(()),
    ),
}


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_each_element_is_what_pytorch_computes(name: str) -> None:
    shapes, function = FUNCTIONS[name]
    names = {**NAMES, "K": symbol("K", 1)}
    held = {n: memory_of(n, Buffer("fp32", s), names) for n, s in shapes.items()}
    results, conditions = captured(function, held, [])
    sizes = {"M": 3, "N": 4, "K": 2}
    torch.manual_seed(0)
    tensors = {
        n: torch.randn([sizes.get(e, e) for e in s], dtype=torch.float64)
        for n, s in shapes.items()
    }
    wanted = function(*tensors.values())
    to = {names[n]: constant(v) for n, v in sizes.items()}
    assert not conditions
    assert [substitute(e, to).args[0] for e in results[0].shape] == list(wanted.shape)
    for place in torch.cartesian_prod(*(torch.arange(n) for n in wanted.shape)).reshape(
        -1, wanted.dim()
    ):
        where = tuple(int(p) for p in place)
        term = substitute(results[0].at(tuple(map(constant, where))), to)
        assert number_of(term, tensors) == pytest.approx(float(wanted[where]))


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda x: torch.cumsum(x, 1), "aten.cumsum"),
        (lambda x: x.T + x, "may differ|a graph"),
        (lambda x: x + torch.ones(3, 4).double() if x.shape[0] == 3 else x, "graph"),
        (lambda x: 3, "."),
        (lambda x: (x > 0).sum(1), "conversion|reduction"),
        (lambda x: torch.pow(x, 2.5), "pow"),
    ],
)
def test_what_has_no_meaning_is_named(function: Any, said: str) -> None:
    with pytest.raises(NotTracedError, match=said):
        results, conditions = captured(function, memories(x=("M", "N")), [])
        results[0].at((symbol("i", 0), symbol("j", 0))[: results[0].ndim])
        assert not conditions, conditions
        raise AssertionError(results)
