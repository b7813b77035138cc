"""The choice of form."""

from collections.abc import Callable

from compiler.codegen.triton.plan import plan
from compiler.ir.index import digit
from compiler.ir.kernel import Kernel, Reduction, Store
from compiler.ir.scalar import apply, load, local

X, Y = digit("i"), digit("j")
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
