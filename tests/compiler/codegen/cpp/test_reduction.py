"""Each reducer in each form: rows, columns, parts shared out, mixed axes."""

from typing import Any

import pytest
import torch

from compiler.codegen.cpp.reduction import lanes_of
from compiler.ir.index import digit, index
from compiler.ir.kernel import Reduction, Store
from compiler.ir.node import REDUCERS, Axis
from compiler.ir.scalar import load, local, type_name

_FLOATS = (torch.float32, torch.float64)
_TYPES = {
    "any": (torch.bool,),
    "all": (torch.bool,),
    "xor": (torch.int32,),
    "welford": (torch.float32,),
    "online_softmax": (torch.float32,),
    "sum": (*_FLOATS, torch.int64),
    "product": (torch.float32,),
}
_ORDERED = (torch.float32, torch.int64, torch.uint8)


def reducing(
    kernel: Any,
    name: str,
    reducer: str,
    given: torch.Tensor,
    outer: dict[str, int],
    inner: dict[str, int],
    order: str,
) -> tuple[Any, dict[str, torch.Tensor]]:
    """Return a reduction of a tensor whose dims are the digits of ``order``."""
    dtype = type_name(given.dtype)
    x = load("x", tuple(digit(d) for d in order), dtype)
    count = REDUCERS[reducer][1]
    results = [f"r{n}" for n in range(count)]
    kind = "int64" if reducer.startswith("arg") else dtype
    shape = list(outer.values())
    made = torch.zeros(shape, dtype=torch.int64 if kind == "int64" else given.dtype)
    tensors = {"x": given, **{f"o{n}": made.clone() for n in range(count)}}
    target = tuple(digit(d) for d in outer)
    stages = [
        Reduction(tuple(results), reducer, (x,), (kind,) * count),
        *(
            Store(f"o{n}", target, local(r, kind), inner=False)
            for n, r in enumerate(results)
        ),
    ]
    return kernel(name, tensors, stages, outer, inner), tensors


def given(special: Any, dtype: torch.dtype, shape: tuple[int, ...], kind: str) -> Any:
    count = 1
    for n in shape:
        count *= n
    if kind == "special":
        return special(dtype, count).roll(5).reshape(shape)
    generator = torch.Generator().manual_seed(count)
    if dtype == torch.bool:
        return torch.randint(0, 2, shape, generator=generator).bool()
    if dtype.is_floating_point:
        return torch.rand(shape, generator=generator, dtype=torch.float64).to(dtype)
    return torch.randint(0, 5, shape, generator=generator).to(dtype)


_FORMS = {
    "rows": ({"i": 3}, {"r": 333}, "ir"),
    "short_rows": ({"i": 5}, {"r": 7}, "ir"),
    "one": ({"i": 4}, {"r": 1}, "ir"),
    "columns": ({"i": 2, "c": 70}, {"r": 300}, "irc"),
    "few_columns": ({"c": 9}, {"r": 4000}, "rc"),
    "parts": ({}, {"r": 70_001}, "r"),
    "two_axes": ({"c": 5}, {"n": 6, "r": 130}, "ncr"),
    "outer_rows": ({"c": 24}, {"n": 40, "h": 35}, "nhc"),
}


_CORE = ("sum", "argmax", "welford", "online_softmax")


@pytest.mark.parametrize(
    ("form", "reducers"),
    [
        *((form, _CORE) for form in ("parts", "outer_rows", "two_axes")),
        ("rows", tuple(REDUCERS)),
        *(
            pytest.param(form, tuple(REDUCERS), marks=pytest.mark.slow)
            for form in _FORMS
            if form != "rows"
        ),
    ],
)
def test_reducers_are_those_of_the_evaluator(
    form: str, reducers: tuple[str, ...], same: Any, kernel: Any, special: Any
) -> None:
    outer, inner, order = _FORMS[form]
    extents = {**outer, **inner}
    shape = tuple(extents[d] for d in order)
    runs = []
    for reducer in reducers:
        for dtype in _TYPES.get(reducer, _ORDERED):
            for kind in ("special", "plain"):
                if kind == "special" and reducer in ("welford", "product", "sum"):
                    continue
                data = given(special, dtype, shape, kind)
                if reducer == "product":
                    data = torch.where(data < 0.001, 2, 1).to(dtype)  # exact
                if reducer == "online_softmax" and kind == "special":
                    data = data.nan_to_num(0, 4, float("-inf"))
                    data = data.clamp(max=20)
                name = f"{reducer}_{type_name(dtype)}_{kind}"
                runs.append(reducing(kernel, name, reducer, data, outer, inner, order))
    same(runs, ulps=64)


@pytest.mark.parametrize("extents", [({"i": 3}, {"r": 0}), ({"i": 0}, {"r": 3})])
def test_empty_axes(extents: Any, same: Any, kernel: Any) -> None:
    outer, inner = extents
    runs = []
    for reducer in REDUCERS:
        if reducer.startswith("arg") or reducer == "online_softmax":
            continue
        dtype = torch.bool if reducer in ("any", "all") else torch.float32
        if reducer == "xor":
            dtype = torch.int32
        data = torch.zeros((outer["i"], inner["r"]), dtype=dtype)
        runs.append(reducing(kernel, reducer, reducer, data, outer, inner, "ir"))
    same(runs)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("shape", [(3, 0), (0, 3), (5, 4)])
def test_an_empty_axis_beside_one_of_any_size(shape: tuple[int, ...]) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return x.logsumexp((0, 1))

    torch.compiler.reset()
    x = torch.randn(shape)
    compiled = torch.compile(function, backend="tilewright", dynamic=True)
    torch.testing.assert_close(compiled(x), function(x))


@pytest.mark.parametrize("values", ["nan", "equal", "infinite"])
def test_arguments_of_extremes_are_the_first(
    values: str, same: Any, kernel: Any
) -> None:
    data = torch.zeros(4, 200)
    if values == "nan":
        data[:, 77] = data[:, 150] = float("nan")
        data[:, 3] = float("inf")
    if values == "infinite":
        data = torch.full((4, 200), float("-inf"))
    runs = [
        reducing(kernel, f"{r}_{o}", r, x, {"i": 4}, {"r": 200}, o)
        for r in ("argmax", "argmin")
        for o, x in (("ir", data), ("ri", data.t().contiguous()))
    ]
    same(runs)


def test_a_long_sum_is_as_accurate_as_eager_mode(kernel: Any) -> None:
    from compiler.codegen.cpp import build

    count = 1 << 22
    data = torch.rand(count)
    made, tensors = reducing(kernel, "long", "sum", data, {}, {"r": count}, "r")
    build([made])["long"](tensors["x"], tensors["o0"])
    right = data.double().sum()
    eager = abs(data.sum().double() - right)
    assert abs(tensors["o0"].double() - right) <= eager + right * 2.0**-24


@pytest.mark.parametrize("extent", [1, 5, 16, 100, 10**6])
def test_lanes_are_a_power_of_two_that_fits(extent: int) -> None:
    stage = Reduction(("s",), "sum", (load("x", (0,), "float32"),), ("float32",))
    lanes = lanes_of(stage, Axis(digit("r"), index(extent)))
    assert lanes & (lanes - 1) == 0
    assert lanes <= min(extent, 64)
