import pytest

from compiler.ir import index
from compiler.ir.node import Map, Reduce, Scan, Scatter
from compiler.ir.scalar import apply, constant
from compiler.lower.builder import Array, Builder, size, static
from compiler.lower.registry import NotLowered

X = Array("x", "float16", (index.index(3), index.index(4)), "cpu")


def test_nodes_have_fresh_names_and_their_types() -> None:
    b = Builder()
    b.prefix = "t"
    first = b.map((3, 4), "float16", X.computed, device="cpu")
    second = b.map((3, 4), "bool", X.at, device="cpu")
    (best,) = b.reduce(
        (3,),
        (4,),
        "argmax",
        lambda i, r: X.computed((*i, *r)),
        device="cpu",
        suffix="r",
    )
    total, place = b.scan((3, 4), 1, "argmax", X.computed, device="cpu")
    changed = b.scatter(X, (2,), lambda i: (i[0], 0), lambda i: constant(1, "float32"))
    names = [a.name for a in (first, second, best, total, place, changed)]
    assert len(set(names)) == 6
    assert [a.dtype for a in (first, second, best, place, changed)] == [
        *("float16", "bool", "int64", "int64", "float16")
    ]
    assert [type(node) for node in b.nodes] == [Map, Map, Reduce, Scan, Scatter]


def test_memory_of_two_devices_is_not_mixed() -> None:
    b = Builder()
    b.devices["x"] = "cuda:0"
    with pytest.raises(NotLowered, match=r"cuda:0 memory on cpu"):
        b.map((3, 4), "float16", X.at, device="cpu")


def test_a_number_made_on_a_cpu_serves_on_any_device() -> None:
    b = Builder()
    half = b.map((), "float32", lambda i: constant(0.5, "float32"), device="cpu")
    assert half.at(()) is constant(0.5, "float32")
    again = b.map((3,), "float64", lambda i: half.at(()), device="cuda:0")
    assert again.at((2,), "float32") is constant(0.5, "float32")


def test_each_seed_is_another() -> None:
    b = Builder()
    assert b.seed("cpu") is not b.seed("cpu")
    assert b.seeds == {"cpu": 2}


def test_sizes() -> None:
    assert size(3) is index.index(3)
    assert static(3, "a size") == 3
    with pytest.raises(NotLowered, match="a size is not known"):
        static(index.symbol("s"), "a size")
    value = apply("add", X.computed((0, 0)), constant(1, "float32"))
    assert value.dtype == "float32"
