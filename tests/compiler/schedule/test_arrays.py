"""Who reads and writes what, and who shares memory."""

import torch

from compiler.ir.expression import make, substitute
from compiler.ir.index import digit, index
from compiler.ir.node import (
    Alias,
    Assign,
    Axis,
    Buffer,
    Extern,
    Map,
    Product,
    Program,
    Reduce,
    Reference,
    Scatter,
    Tiling,
    written,
)
from compiler.ir.scalar import apply, load
from compiler.schedule.arrays import (
    Storages,
    mutated,
    reads,
    references,
    space_of,
    values_of,
    with_values,
    without_dead,
)

A, R = digit("i0"), digit("r0")
TYPE = "float32"
AXES = (Axis(A, index(4)),)


def array(name: str) -> Buffer:
    return Buffer(name, TYPE, (index(4),), "cpu")


def copy(name: str, base: str) -> Map:
    return Map(array(name), AXES, load(base, (A,), TYPE))


def call(name: str, *args: str, mutates: tuple[str, ...] = ()) -> Extern:
    made = (array(name),) if name else ()
    target = torch.ops.aten.clone.default
    return Extern(made, target, tuple(map(Reference, args)), {}, mutates)


def test_references_are_found_wherever_they_stand() -> None:
    nested = ([Reference("a"), 3], {"k": (Reference("b"), None)})
    assert list(references(nested)) == ["a", "b"]


def test_reads_name_each_array_once() -> None:
    twice = apply("add", load("x", (A,), TYPE), load("x", (index(0),), TYPE))
    assert reads(Map(array("y"), AXES, twice)) == ["x"]
    scatter = Scatter(array("y"), "b", AXES, (A,), load("x", (A,), TYPE))
    assert reads(scatter) == ["x", "b"]
    assert reads(Alias(array("y"), "b")) == ["b"]
    assert reads(call("y", "a", "b")) == ["a", "b"]


def test_values_can_be_changed_and_spaces_listed() -> None:
    value = load("x", (A, R), TYPE)
    reduced = (Axis(R, index(3)),)
    node = Reduce((array("y"),), AXES, reduced, "sum", (value,))
    assert space_of(node) == (*AXES, *reduced)
    negated = with_values(node, lambda v: apply("neg", v))
    assert values_of(negated) == (apply("neg", value),)
    assert with_values(call("y", "a"), lambda v: v).args[0].name == "a"  # type: ignore[union-attr]


def test_a_product_reads_its_factors_and_what_its_epilogue_reads() -> None:
    term = Axis(R, index(8))
    node = Product(
        (array("out"),),
        AXES,
        term,
        load("a", (A, R), "float16"),
        load("b", (R,), "float16"),
        "s",
        ((A,),),
        (apply("add", make("local", (), TYPE, "s"), load("c", (A,), TYPE)),),
        Tiling(16, 16, 16, 4, 2),
    )
    assert reads(node) == ["a", "b", "c"] and written(node) == node.buffers
    assert space_of(node) == (*AXES, term)
    moved = with_values(node, lambda value: substitute(value, {R: index(1)}))
    assert isinstance(moved, Product) and "r0" not in repr(values_of(moved))


def test_dead_nodes_go_and_effects_stay() -> None:
    nodes = (
        copy("a", "x"),
        copy("dead", "a"),
        Assign("x", AXES, load("a", (A,), TYPE)),
        call("", "a"),
        call("unseen", "a"),
        copy("out", "x"),
    )
    left = without_dead(Program((array("x"),), nodes, ("out",))).nodes
    assert [n for n in nodes if n not in left] == [nodes[1], nodes[4]]


def test_results_that_nobody_reads_are_not_kept() -> None:
    made = (array("a"), array("b"))
    pair = Extern(made, len, (Reference("x"),), {}, (), {"a": ("x",), "b": ("x",)})
    (left,) = without_dead(Program((array("x"),), (pair,), ("b",))).nodes
    assert isinstance(left, Extern)
    assert left.outputs == (None, made[1]) and left.aliases == {"b": ("x",)}


def test_aliases_share_a_storage() -> None:
    view = Alias(array("v"), "x")
    passed = Extern((array("w"),), len, (Reference("v"),), {}, (), {"w": ("v",)})
    storages = Storages(Program((array("x"),), (view, passed), ("w",)))
    assert storages.root("w") == storages.root("x") == storages.root("v")
    assert storages.root("y") == "y"
    assert mutated(call("y", "a", mutates=("a",))) == ("a",)
