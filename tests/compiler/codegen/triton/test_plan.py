"""Forms and tiles, chosen from strides and sizes."""

from collections.abc import Callable

from compiler.codegen.triton.plan import PERSISTENT, Plan, plan, tiles_apart
from compiler.ir.expression import nodes
from compiler.ir.index import constant_value, digit, floordiv, mod
from compiler.ir.kernel import Kernel, Reduction, Store
from compiler.ir.scalar import load, local

X, Y, Z = digit("i"), digit("j"), digit("k")
Make = Callable[..., Kernel]


def summed(make_kernel: Make, rows: int, length: int, columns: bool = False) -> Plan:
    place = (Y, X) if columns else (X, Y)
    shape = (length, rows) if columns else (rows, length)
    stages = [
        Reduction(("s",), "sum", (load("a", place, "float32"),), ("float32",)),
        Store("out", (X,), local("s", "float32"), False),
    ]
    arrays = {"a": ("float32", shape), "out": ("float32", (rows,))}
    return plan(make_kernel(stages, arrays, {X: rows}, {Y: length}))


def test_rows_are_persistent_up_to_a_length(make_kernel: Make) -> None:
    assert summed(make_kernel, 4096, PERSISTENT).persistent
    long = summed(make_kernel, 4096, PERSISTENT + 1)
    assert not long.persistent and long.reduced is not None
    assert constant_value(long.grid) == 4096


def test_short_rows_share_a_program(make_kernel: Make) -> None:
    chosen = summed(make_kernel, 1 << 16, 64)
    assert [axis.name for axis in chosen.tile] == ["x", "r"]
    assert chosen.tile[0].block > 1 and chosen.tile[1].block == 64


def test_columns_are_read_in_lines(make_kernel: Make) -> None:
    chosen = summed(make_kernel, 8192, 4096, columns=True)
    x, r = chosen.tile
    assert x.block * 4 >= 64 and not chosen.persistent
    assert chosen.reduced is r


def test_a_transpose_gets_square_tiles(make_kernel: Make) -> None:
    store = Store("out", (X, Y), load("a", (Y, X), "float32"), False)
    arrays = {"a": ("float32", (512, 256)), "out": ("float32", (256, 512))}
    chosen = plan(make_kernel([store], arrays, {X: 256, Y: 512}))
    assert [axis.name for axis in chosen.tile] == ["y", "x"]


def test_quotients_of_tiles_are_scalars(make_kernel: Make) -> None:
    """A weight for 4096 elements each: no lane divides."""
    value = load("a", (floordiv(X, 4096),), "float32")
    value2 = load("b", (X,), "float32")
    from compiler.ir.scalar import apply

    store = Store("out", (X,), apply("add", value, value2), False)
    arrays = {name: ("float32", (1 << 20,)) for name in ("b", "out")}
    arrays["a"] = ("float32", (256,))
    chosen = tiles_apart(plan(make_kernel([store], arrays, {X: 1 << 20})))
    roots = [stage.value for stage in chosen.kernel.stages if isinstance(stage, Store)]
    divided = [n for n in nodes(*roots) if n.op == "floordiv"]
    assert divided and all(n.args[0].data == "x_block" for n in divided)


def test_a_remainder_of_a_long_axis_keeps_tiles_inside_its_period(
    make_kernel: Make,
) -> None:
    stages = [
        Reduction(
            ("s",), "sum", (load("a", (X, mod(Y, 2048)), "float32"),), ("float32",)
        ),
        Store("out", (X,), local("s", "float32"), False),
    ]
    arrays = {"a": ("float32", (64, 2048)), "out": ("float32", (64,))}
    chosen = plan(make_kernel(stages, arrays, {X: 64}, {Y: 40960}))
    assert chosen.reduced is not None and chosen.reduced.block == 2048


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
