"""Texts of our own printer: proved as they are, and refuted with a fault planted."""

from dataclasses import replace

import pytest

from algebra.verdict import Proved, Refuted, Unknown
from compiler.codegen.triton.printer import print_kernel
from compiler.frontend.validator import Emitted
from compiler.ir.expression import Expression, make
from compiler.ir.index import (
    Index,
    add,
    contiguous_strides,
    digit,
    index,
    minimum,
    mod,
    symbol,
)
from compiler.ir.kernel import Allocate, Free, Kernel, Reduction, Schedule, Store
from compiler.ir.node import Alias, Axis, Buffer
from compiler.runtime.triton_kernel import TritonKernel
from verify.obligations import worst
from verify.obligations.emitted import (
    certify_emitted,
    dense,
    may_meet,
    may_overlap,
    spelled,
    storages,
)

ROW, COLUMN, SIZE = digit("i"), digit("j"), symbol("N")


def array(name: str, *shape: Index) -> Buffer:
    extents = tuple(index(extent) for extent in shape)
    return Buffer(name, "float32", extents, "cuda:0", contiguous_strides(extents))


def load(name: str, *at: Expression) -> Expression:
    return make("load", at, "float32", name)


def emitted(kernel: Kernel) -> Emitted:
    printed = print_kernel(kernel)
    return Emitted(
        kernel,
        TritonKernel(printed).ttir(),
        printed.arguments,
        printed.parameters,
        printed.symbols,
        printed.types,
        printed.grid,
    )


def transpose(rows: Index, columns: Index) -> Kernel:
    value = load("x", COLUMN, ROW)
    return Kernel(
        "transpose",
        (Axis(ROW, index(rows)), Axis(COLUMN, index(columns))),
        (),
        (Store("y", (ROW, COLUMN), value, False),),
        {"x": array("x", columns, rows), "y": array("y", rows, columns)},
        tile=(ROW, COLUMN),
    )


def normalise(rows: Index, columns: Index) -> Kernel:
    total = Reduction(("s",), "sum", (load("x", ROW, COLUMN),), ("float32",))
    value = make(
        "truediv",
        (load("x", ROW, COLUMN), make("local", (), "float32", "s")),
        "float32",
    )
    return Kernel(
        "normalise",
        (Axis(ROW, index(rows)),),
        (Axis(COLUMN, index(columns)),),
        (total, Store("y", (ROW, COLUMN), value, True)),
        {"x": array("x", rows, columns), "y": array("y", rows, columns)},
    )


def steps(count: int, size: Index, kinds: int = 1) -> Kernel:
    """Return a kernel each of whose programs changes one of several arrays."""
    rate = load("rate", index(0))
    stages = []
    for n in range(count):
        step = make("mul", (load(f"x{n}", ROW), rate), "float32")
        value = make(
            "add" if n % kinds else "sub", (load(f"y{n}", ROW), step), "float32"
        )
        stages.append(Store(f"y{n}", (ROW,), value, False))
    arrays = {
        f"{letter}{n}": array(f"{letter}{n}", size)
        for n in range(count)
        for letter in "xy"
    }
    arrays["rate"] = array("rate", 1)
    return Kernel("steps", (Axis(ROW, index(size)),), (), tuple(stages), arrays)


FILLED = frozenset({"y"})


@pytest.mark.parametrize(
    "kernel",
    [
        transpose(300, 70),
        transpose(SIZE, 64),
        normalise(33, 500),
        normalise(SIZE, 20000),
    ],
    ids=["transpose", "transpose_any_rows", "rows", "any_long_rows"],
)
def test_what_the_printer_emits_is_proved(kernel: Kernel) -> None:
    found = certify_emitted(emitted(kernel), {SIZE: 1}, FILLED)
    assert isinstance(worst(found.verdicts), Proved), found.verdicts


def test_a_launch_with_too_small_an_array_is_refuted() -> None:
    good = emitted(normalise(33, 500))
    small = replace(good.kernel, buffers={**good.kernel.buffers, "x": array("x", 9999)})
    found = certify_emitted(replace(good, kernel=small), writes=FILLED)
    assert isinstance(found.verdicts["ttir_in_bounds"], Refuted)


def test_too_few_programs_leave_a_hole() -> None:
    good = emitted(transpose(100, 70))
    found = certify_emitted(replace(good, grid=add(good.grid, -1)), writes=FILLED)
    assert isinstance(found.verdicts["ttir_coverage"], Refuted)
    assert isinstance(found.verdicts["ttir_in_bounds"], Proved)


def test_arrays_in_one_memory_race_unless_each_element_is_its_own() -> None:
    shared = {"y": ("x", True)}
    rows = emitted(normalise(33, 500))
    found = certify_emitted(rows, writes=frozenset(), shared=shared)
    assert isinstance(worst(found.verdicts), Proved)
    turned = emitted(transpose(64, 64))
    found = certify_emitted(turned, writes=frozenset(), shared=shared)
    assert isinstance(found.verdicts["ttir_no_race"], Refuted)


@pytest.mark.parametrize("kinds", [1, 2])
@pytest.mark.parametrize("count", [2, 3, 20])
def test_programs_of_parts_are_proved(count: int, kinds: int) -> None:
    good = emitted(steps(count, 40001, kinds))
    found = certify_emitted(good)
    assert isinstance(worst(found.verdicts), Proved), found.verdicts
    last = f"y{count - 1}"
    arrays = {**good.kernel.buffers, last: array(last, 40000)}
    small = replace(good, kernel=replace(good.kernel, buffers=arrays))
    assert isinstance(certify_emitted(small).verdicts["ttir_in_bounds"], Refuted)
    both = certify_emitted(good, shared={last: ("y0", True)})
    assert isinstance(both.verdicts["ttir_no_race"], Refuted)


def test_programs_of_parts_of_any_size_are_not_refuted() -> None:
    good = emitted(steps(3, SIZE))
    found = certify_emitted(good, {SIZE: 1}, frozenset({"y0", "y1", "y2"}))
    assert not isinstance(worst(found.verdicts), Refuted), found.verdicts


def test_sizes_are_spelled_as_the_checker_reads_them() -> None:
    value = minimum(mod(add(SIZE, 1), 4), SIZE)
    assert spelled(value, {SIZE: "n"}) == "min(((n + 1) % 4), n)"
    with pytest.raises(ValueError, match="no index over sizes"):
        spelled(ROW, {SIZE: "n"})


def test_dims_are_put_in_the_order_of_memory() -> None:
    shape, strides = (index(4), index(5), index(1)), (index(1), index(4), index(7))
    turned = Buffer("t", "float32", shape, "cuda:0", strides)
    assert dense(turned) == ([index(5), index(4)], [index(4), index(1)])
    assert dense(replace(turned, strides=(index(1), index(5), index(7)))) is None


def test_memory_is_followed_through_reuse_and_views() -> None:
    x, y, view = array("x", 4), array("y", 4), array("view", 4)
    steps = (Alias(view, "x"), Allocate(y, reuse="x"), Free("y"))
    found = storages(Schedule((x,), steps, ()))
    assert found == {"view": ("x", False), "y": ("x", True)}


@pytest.mark.parametrize("injective", [False, True])
def test_equal_places_that_are_read_refute_only_what_should_not_meet(
    injective: bool,
) -> None:
    place = make("load", (ROW,), "int64", "at")
    at = make("checked_index", (place, index(64)), "index")
    places = replace(array("at", 64), dtype="int64")
    kernel = Kernel(
        "put",
        (Axis(ROW, index(64)),),
        (),
        (Store("y", (at,), load("x", ROW), False, injective=injective),),
        {"at": places, "x": array("x", 64), "y": array("y", 64)},
    )
    assert may_meet(kernel) is not injective
    verdict = certify_emitted(emitted(kernel)).verdicts["ttir_write_once"]
    assert isinstance(verdict, Refuted if injective else Unknown)


def test_an_empty_launch_does_nothing_wrong_but_leaves_what_it_had_to_fill() -> None:
    good = emitted(transpose(64, 64))
    none = replace(good, grid=index(0))
    assert not isinstance(worst(certify_emitted(none, writes=FILLED).verdicts), Proved)
    empty = {"x": array("x", 64, 0), "y": array("y", 0, 64)}
    none = replace(none, kernel=replace(none.kernel, buffers=empty))
    assert isinstance(worst(certify_emitted(none, writes=FILLED).verdicts), Proved)


def windows(step: Index, rows: int = 5) -> Kernel:
    """Rows of three, each ``step`` behind the one before."""
    out = replace(array("y", rows, 3), strides=(index(step), index(1)))
    return Kernel(
        "windows",
        (Axis(ROW, index(rows)), Axis(COLUMN, index(3))),
        (),
        (Store("y", (ROW, COLUMN), load("x", add(ROW, COLUMN)), False),),
        {"x": array("x", rows + 2), "y": out},
    )


def test_windows_that_overlap_are_written_as_they_lie() -> None:
    assert may_overlap(windows(1), {}) == "y" and may_overlap(windows(3), {}) is None
    verdicts = certify_emitted(emitted(windows(1))).verdicts
    assert isinstance(verdicts["ttir_write_once"], Unknown)
    verdicts = certify_emitted(emitted(windows(3))).verdicts
    assert isinstance(verdicts["ttir_write_once"], Proved)


def test_no_stride_reaches_further_than_memory() -> None:
    step = symbol("S")
    rows = replace(array("x", SIZE, 5), strides=(step, index(1)))
    kernel = Kernel(
        "rows",
        (Axis(ROW, SIZE), Axis(COLUMN, index(5))),
        (),
        (Store("y", (ROW, COLUMN), load("x", ROW, COLUMN), False),),
        {"x": rows, "y": array("y", SIZE, 5)},
    )
    found = certify_emitted(emitted(kernel), {SIZE: 2, step: 5})
    assert not isinstance(found.verdicts["ttir_no_wrap"], Refuted), found.verdicts


@pytest.mark.parametrize("step", [1, 3, symbol("step")], ids=["1", "3", "step"])
def test_programs_that_write_windows_in_place_meet_as_they_lie(step: Index) -> None:
    kernel = windows(step, 3000)
    twice = make("mul", (load("y", ROW, COLUMN), load("x", ROW)), "float32")
    stores = (Store("y", (ROW, COLUMN), twice, False),)
    verdict = certify_emitted(emitted(replace(kernel, stages=stores))).verdicts
    found = verdict["ttir_no_race"]
    if step == 3:
        assert isinstance(found, Proved)
    else:
        assert isinstance(found, Unknown) and "laid out" in found.reason
