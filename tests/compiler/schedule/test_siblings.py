"""Small independent kernels of one shape become one."""

from dataclasses import replace

import pytest

from compiler.ir.expression import Expression
from compiler.ir.index import contiguous_strides, digit, index
from compiler.ir.node import Assign, Axis, Buffer, Extern, Map, Node, Program, Reference
from compiler.ir.scalar import apply, cast, load
from compiler.schedule.groups import grouped
from compiler.schedule.nest import nest_of
from compiler.schedule.siblings import shape_of, with_siblings

A, B = digit("i0"), digit("i1")
SHAPE = (256, 128)


def array(
    name: str, dtype: str, shape: tuple[int, ...] = SHAPE, turned: bool = False
) -> Buffer:
    strides = contiguous_strides(shape)
    if turned:
        strides = (index(1), index(shape[0]))
    return Buffer(name, dtype, tuple(map(index, shape)), "cpu", strides)


def half(name: str, base: str, shape: tuple[int, ...] = SHAPE) -> Map:
    axes = tuple(Axis(d, index(e)) for d, e in zip((A, B), shape, strict=True))
    value: Expression = cast(load(base, (A, B), "float32"), "bfloat16")
    return Map(array(name, "bfloat16", shape), axes, value)


def call(name: str, *args: str) -> Extern:
    made = array(name, "float32")
    return Extern((made,), len, tuple(map(Reference, args)), {})


def groups(*nodes: Node, inputs: tuple[Buffer, ...] = ()) -> list[list[str]]:
    weights = tuple(array(name, "float32") for name in ("u", "v", "w"))
    program = Program((*weights, *inputs), nodes, ())
    graph = grouped(program)
    with_siblings(graph, program.buffers())
    return [sorted(group.writes) for group in graph.groups.values()]


def test_casts_of_weights_are_one_kernel() -> None:
    nodes = (half("a", "u"), call("e", "a"), half("b", "v"), call("f", "b", "e"))
    assert groups(*nodes) == [["a", "b"], ["e"], ["f"]]


def test_what_needs_the_other_stays() -> None:
    nodes = (half("a", "u"), call("e", "a"), half("b", "e"))
    assert groups(*nodes) == [["a"], ["e"], ["b"]]


def test_other_loops_and_other_strides_stay() -> None:
    other = array("t", "float32", turned=True)
    assert groups(half("a", "u"), half("b", "t"), inputs=(other,)) == [["a"], ["b"]]
    tall = array("t", "float32", (512, 64))
    nodes = (half("a", "u"), half("b", "t", (512, 64)))
    assert groups(*nodes, inputs=(tall,)) == [["a"], ["b"]]


def test_far_nodes_stay() -> None:
    calls = [call(f"e{n}", "w") for n in range(60)]
    assert len(groups(half("a", "u"), *calls, half("b", "v"))) == 62


def test_large_nests_have_no_shape() -> None:
    most = 1 << 20
    rows = most // 256
    node = half("a", "u", (rows, 128))
    buffers = {
        "a": array("a", "bfloat16", (rows, 128)),
        "u": array("u", "float32", (rows, 128)),
    }
    assert shape_of(nest_of(node), buffers, most) is None
    small = {"a": array("a", "bfloat16"), "u": array("u", "float32")}
    assert shape_of(nest_of(half("a", "u")), small, most) is not None


@pytest.mark.parametrize(
    ("device", "into", "kernels"),
    [("cpu", True, 2), ("cuda", True, 1), ("cuda", False, 2)],
)
def test_a_gpu_changes_more_arrays_of_the_caller(
    device: str, into: bool, kernels: int
) -> None:
    inputs: list[Buffer] = []
    nodes: list[Node] = []
    for n in range(30):
        made = half(f"a{n}", f"w{n}")
        inputs += [
            replace(array(f"w{n}", "float32"), device=device),
            replace(array(f"t{n}", "bfloat16"), device=device),
        ]
        if into:
            nodes.append(Assign(f"t{n}", made.axes, made.value))
        else:
            nodes.append(replace(made, buffer=replace(made.buffer, device=device)))
    outputs = () if into else tuple(f"a{n}" for n in range(30))
    program = Program(tuple(inputs), tuple(nodes), outputs)
    graph = grouped(program)
    with_siblings(graph, program.buffers())
    assert len(graph.groups) == kernels


@pytest.mark.parametrize(
    ("shape", "shared", "kernels"),
    [((256, 128), "", 1), ((256, 64), "", 3), ((256, 128), "w", 2)],
)
def test_a_gpu_changes_many_large_arrays_that_share_nothing(
    shape: tuple[int, int], shared: str, kernels: int
) -> None:
    """Each program changes one array; of small ones it changes all in turn."""
    inputs = [array("w", "float32", shape)] if shared else []
    nodes: list[Node] = []
    axes = tuple(Axis(d, index(e)) for d, e in zip((A, B), shape, strict=True))
    for n in range(200):
        names = [f"t{n}", shared or f"g{n}"]
        inputs += [array(name, "float32", shape) for name in names if name != "w"]
        values = [load(name, (A, B), "float32") for name in names]
        nodes.append(Assign(names[0], axes, apply("add", *values)))
    on_gpu = tuple(replace(one, device="cuda") for one in inputs)
    program = Program(on_gpu, tuple(nodes), ())
    graph = grouped(program)
    with_siblings(graph, program.buffers())
    assert len(graph.groups) == kernels
