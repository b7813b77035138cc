"""The choice of form."""

from collections.abc import Callable

import pytest
import torch

from compiler.codegen.triton import print_kernel
from compiler.codegen.triton.plan import plan
from compiler.ir.index import constant_value, digit
from compiler.ir.kernel import Kernel, Prefix, Reduction, Store
from compiler.ir.scalar import apply, load, local
from compiler.runtime.triton_kernel import TritonKernel

X, Y = digit("i"), digit("j")
W = load("w", (X,), "float32")
Make = Callable[..., Kernel]


def test_an_invariant_tile_does_not_depend_on_the_number_of_rows(
    make_kernel: Make,
) -> None:
    """Batches of 1 and of many give an element the same bits: the same tile."""

    def tiles(rows: int, columns: bool, invariant: bool) -> tuple[object, ...]:
        place = (Y, X) if columns else (X, Y)
        shape = (96, rows) if columns else (rows, 96)
        stages = [
            Reduction(("s",), "sum", (load("a", place, "float32"),), ("float32",)),
            Store("out", (X,), local("s", "float32"), False),
        ]
        arrays = {"a": ("float32", shape), "out": ("float32", (rows,))}
        kernel = make_kernel(stages, arrays, {X: rows}, {Y: 96})
        chosen = plan(kernel, invariant=invariant)
        return tuple(axis.block for axis in chosen.tile), chosen.num_warps

    for columns in (False, True):
        found = {tiles(rows, columns, True) for rows in (2, 7, 64, 5000, 1 << 16)}
        assert len(found) == 1
    assert tiles(1, False, True) == tiles(5000, False, True)
    assert len({tiles(rows, False, False) for rows in (7, 1 << 16)}) == 2


def test_the_form_of_an_invariant_kernel_does_not_depend_on_the_number_of_rows(
    make_kernel: Make,
) -> None:
    """Weights count along rows once, however many rows there are."""

    def form(rows: int, invariant: bool) -> tuple[object, ...]:
        a = load("a", (Y, X), "float32")
        weighted = apply("mul", a, load("w", (Y,), "float32"))
        value = apply("mul", weighted, load("b", (Y,), "float32"))
        stages = [
            Reduction(("s",), "sum", (value,), ("float32",)),
            Store("out", (X,), local("s", "float32"), False),
        ]
        shapes = {"w": (96,), "b": (96,), "a": (96, rows), "out": (rows,)}
        arrays = {name: ("float32", shape) for name, shape in shapes.items()}
        kernel = make_kernel(stages, arrays, {X: rows}, {Y: 96})
        chosen = plan(kernel, invariant=invariant)
        return tuple(axis.block for axis in chosen.tile), chosen.num_warps

    assert len({form(rows, True) for rows in (2, 3, 64, 5000, 1 << 16)}) == 1


def test_what_runs_over_an_axis_without_points_reads_nothing(make_kernel: Make) -> None:
    """A load at place 0 of an array without elements is out of it."""
    stages = [
        Prefix(("p",), "sum", load("a", (X, Y), "float32"), ("float32",)),
        Store("scanned", (X, Y), local("p", "float32"), True),
        Reduction(("s",), "sum", (load("a", (X, Y), "float32"),), ("float32",)),
        Store("out", (X,), apply("add", local("s", "float32"), W), False),
    ]
    arrays = {"a": (1, 0), "scanned": (1, 0), "w": (1,), "out": (1,)}
    types = {name: ("float32", shape) for name, shape in arrays.items()}
    printed = print_kernel(make_kernel(stages, types, {X: 1}, {Y: 0}))
    assert printed.source.count("tl.load") == 1  # of w
    given = {name: torch.full(shape, 3.0) for name, shape in arrays.items()}
    run = TritonKernel(printed, interpret=True)
    run(*(given[name] for name in printed.parameters))
    assert given["out"].tolist() == [3.0]


@pytest.mark.parametrize("extents", [(3, 0), (0, 3), (2, 0, 3), (0, 0)])
@pytest.mark.parametrize(("reducer", "wanted"), [("sum", 0.0), ("product", 1.0)])
def test_axes_without_points_have_no_coordinates(
    make_kernel: Make, extents: tuple[int, ...], reducer: str, wanted: float
) -> None:
    """A place among none cannot be divided into them."""
    digits = [digit(f"r{n}") for n in range(len(extents))]
    stages = [
        Reduction(
            ("s",), reducer, (load("a", tuple(digits), "float32"),), ("float32",)
        ),
        Store("out", (), local("s", "float32"), False),
    ]
    arrays = {"a": ("float32", extents), "out": ("float32", ())}
    axes = dict(zip(digits, extents, strict=True))
    printed = print_kernel(make_kernel(stages, arrays, {}, axes))
    out = torch.full((), 3.0)
    run = TritonKernel(printed, interpret=True)
    given = {"a": torch.empty(extents), "out": out}
    run(*(given[name] for name in printed.parameters))
    assert out.item() == wanted


def test_a_kernel_that_only_scans_an_axis_without_points_has_no_program(
    make_kernel: Make,
) -> None:
    stages = [
        Prefix(("p",), "product", load("a", (X, Y), "float32"), ("float32",)),
        Store("out", (X, Y), local("p", "float32"), True),
    ]
    types = {name: ("float32", (4, 0)) for name in ("a", "out")}
    printed = print_kernel(make_kernel(stages, types, {X: 4}, {Y: 0}))
    assert constant_value(printed.grid) == 0
    assert "tl.load" not in printed.source
