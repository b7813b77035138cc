"""Groups become kernels in order, without what nobody reads."""

from compiler.ir.expression import make
from compiler.ir.index import constant_value, contiguous_strides, digit, index
from compiler.ir.kernel import Kernel, Reduction, Store
from compiler.ir.node import (
    Assign,
    Axis,
    Buffer,
    Extern,
    Map,
    Node,
    Program,
    Reduce,
    Reference,
)
from compiler.ir.scalar import apply, load
from compiler.schedule.assemble import (
    assembled,
    kernel_of,
    needed_arrays,
    ordered,
    with_default_strides,
    without_unused,
)
from compiler.schedule.groups import grouped
from compiler.schedule.nest import Nest

A, B, R = digit("i0"), digit("i1"), digit("r0")
TYPE = "float32"
AXES = (Axis(A, index(4)), Axis(B, index(8)))


def array(name: str, *, free: bool = False) -> Buffer:
    strides = None if free else contiguous_strides((4, 8))
    return Buffer(name, TYPE, (index(4), index(8)), "cpu", strides)


def exp(name: str, base: str) -> Map:
    return Map(array(name, free=True), AXES, apply("exp", load(base, (A, B), TYPE)))


def steps(*nodes: Node, outputs: tuple[str, ...]) -> list[Kernel | Extern | object]:
    program = Program((array("x"),), nodes, outputs)
    return list(assembled(grouped(program), program.buffers(), []))


def test_stores_that_nobody_reads_are_dropped() -> None:
    (kernel,) = steps(exp("a", "x"), exp("b", "a"), outputs=("b",))
    assert isinstance(kernel, Kernel)
    assert [s.buffer for s in kernel.stages if isinstance(s, Store)] == ["b"]
    assert set(kernel.buffers) == {"x", "b"}


def test_calls_stand_where_they_are_needed() -> None:
    call = Extern((array("e"),), len, (Reference("a"),), {})
    found = steps(exp("a", "x"), call, exp("b", "e"), outputs=("b",))
    assert [type(step).__name__ for step in found] == ["Kernel", "Extern", "Kernel"]


def test_changes_of_inputs_are_kept() -> None:
    (kernel,) = steps(Assign("x", AXES, load("x", (A, B), TYPE)), outputs=())
    assert isinstance(kernel, Kernel) and list(kernel.buffers) == ["x"]


def test_unused_reductions_go() -> None:
    x = load("x", (A, R), TYPE)
    local = make("local", (), TYPE, "s")
    stages = (
        Reduction(("s",), "sum", (x,), (TYPE,)),
        Store("s", (A,), local, False),
        Reduction(("m",), "maximum", (x,), (TYPE,)),
        Store("y", (A,), apply("neg", local), False),
    )
    nest = Nest(AXES[:1], (Axis(R, index(8)),), stages)
    assert without_unused(nest, {"y"}).stages == (stages[0], stages[3])
    assert without_unused(nest, {"s"}).stages == stages[:2]


def test_a_nest_that_lost_its_reductions_is_pointwise() -> None:
    store = Store("y", (A, R), load("x", (A, R), TYPE), True)
    nest = Nest(AXES[:1], (Axis(R, index(8)),), (store,))
    kernel = kernel_of(nest, 0, {"x": array("x"), "y": array("y", free=True)}, ["why"])
    assert kernel.inner == () and kernel.reasons == ("why",)
    assert [constant_value(axis.extent) for axis in kernel.outer] == [32]


def test_needed_is_what_others_touch() -> None:
    total = Reduce(
        (Buffer("s", TYPE, (index(8),), "cpu"),),
        AXES[1:],
        AXES[:1],
        "sum",
        (load("a", (A, B), TYPE),),
    )
    program = Program((array("x"),), (exp("a", "x"), total), ("s",))
    graph = grouped(program)
    groups = ordered(graph)
    needed = needed_arrays(program, groups)
    assert set().union(*needed.values()) >= {"s"}


def test_row_major_where_nobody_chose() -> None:
    buffers = {"a": array("a", free=True), "b": array("b", free=True)}
    with_default_strides(buffers, {"a"})
    assert buffers["a"].strides == contiguous_strides((4, 8))
    assert buffers["b"].strides is None
