"""Nodes as loop nests."""

import pytest

from compiler.ir.expression import make
from compiler.ir.index import digit, index
from compiler.ir.kernel import Prefix, Reduction, Stage, Store
from compiler.ir.node import Assign, Axis, Buffer, Map, Reduce, Scan, Scatter
from compiler.ir.scalar import apply, load
from compiler.schedule.nest import (
    is_inner,
    loads_of,
    nest_of,
    scatter_nest,
    stage_loads,
    stage_values,
    value_loads,
    with_stage,
)

A, B, R = digit("i0"), digit("i1"), digit("r0")
TYPE = "float32"
ROWS, COLUMNS = Axis(A, index(3)), Axis(B, index(4))


def array(name: str, *shape: int) -> Buffer:
    return Buffer(name, TYPE, tuple(map(index, shape)), "cpu", origin=f"line of {name}")


def test_a_map_stores_at_its_own_place() -> None:
    single = Axis(digit("i2"), index(1))
    value = load("x", (A, B, index(0)), TYPE)
    nest = nest_of(Map(array("y", 3, 4, 1), (ROWS, COLUMNS, single), value))
    assert nest.outer == (ROWS, COLUMNS) and nest.inner == ()
    assert nest.stores()["y"].target == (A, B, index(0))
    assert nest.origins == ("line of y",)


def test_a_reduction_stores_once_a_row() -> None:
    buffers = (array("m", 3), array("s", 3))
    reduced = (Axis(R, index(4)),)
    node = Reduce(
        buffers, (ROWS,), reduced, "online_softmax", (load("x", (A, R), TYPE),)
    )
    nest = nest_of(node)
    reduction, first, second = nest.stages
    assert isinstance(reduction, Reduction) and reduction.results == ("m", "s")
    assert isinstance(first, Store) and first.value is make("local", (), TYPE, "m")
    assert not is_inner(second) and is_inner(reduction)


def test_a_scan_stores_at_each_point() -> None:
    nest = nest_of(
        Scan((array("c", 3, 4),), (ROWS, COLUMNS), 0, "sum", load("x", (A, B), TYPE))
    )
    scan, store = nest.stages
    assert isinstance(scan, Prefix) and nest.inner == (ROWS,)
    assert isinstance(store, Store) and store.inner and store.target == (A, B)


def test_assignments_and_scatters_store_where_they_say() -> None:
    nest = nest_of(Assign("x", (ROWS,), load("y", (A,), TYPE)))
    assert nest.stores()["x"].injective
    key = make("checked_index", (load("k", (A,), "int64"), index(9)), "index", False)
    node = Scatter(array("z", 9), "z", (ROWS,), (key,), load("y", (A,), TYPE), "add")
    (store,) = scatter_nest(node).stages
    assert isinstance(store, Store)
    assert (store.mode, store.injective) == ("add", False)
    assert [load.data for load in loads_of(store)] == ["k", "y"]


@pytest.mark.parametrize("kind", ["reduction", "scan", "store"])
def test_stages_are_changed_expression_by_expression(kind: str) -> None:
    value = load("x", (A, R), TYPE)
    truth = load("t", (A,), "bool")
    stages: dict[str, Stage] = {
        "reduction": Reduction(("s",), "sum", (value,), (TYPE,)),
        "scan": Prefix(("s",), "sum", value, (TYPE,)),
        "store": Store("y", (A,), value, True, "set", truth),
    }
    stage = stages[kind]
    changed = with_stage(stage, lambda v: apply("neg", v) if v is value else v)
    assert apply("neg", value) in stage_values(changed)
    assert [load for _, load in stage_loads([stage])][-1] in (value, truth)


def test_loads_are_remembered() -> None:
    value = apply("exp", load("x", (A,), TYPE))
    assert value_loads(value) is value_loads(value)
