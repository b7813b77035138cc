"""Memory is taken over only from what is dead."""

from dataclasses import replace

import torch

from compiler.ir.expression import Expression, loads
from compiler.ir.index import add, digit, index, mul
from compiler.ir.kernel import Allocate, Free, Kernel, Step, Store
from compiler.ir.node import Alias, Axis, Buffer, Extern, Reference
from compiler.ir.scalar import apply, load
from compiler.schedule.memory import Plan, in_place, planned, touched

A = digit("x0")
TYPE = "float32"


def array(name: str, extent: int = 8) -> Buffer:
    return Buffer(name, TYPE, (index(extent),), "cpu", (index(1),), index(0))


def kernel(name: str, value: Expression, *stores: Store) -> Kernel:
    stages = (Store(name, (A,), value, False), *stores)
    names = {name, *(s.buffer for s in stores)}
    for stage in stages:
        names |= {str(load.data) for load in loads(stage.value)}
    return Kernel(
        f"make_{name}",
        (Axis(A, index(8)),),
        (),
        stages,
        {n: array(n) for n in sorted(names)},
    )


def plan(
    *steps: Kernel | Extern | Alias,
    outputs: tuple[str, ...],
    donated: bool = False,
    device: str = "cpu",
) -> Plan:
    buffers = {}
    for step in steps:
        made = {name: replace(array(name), device=device) for name in touched(step)}
        buffers.update(made)
    given = ["in"] if donated else []
    return planned(steps, buffers, ["in"], outputs, given, given)


def spelt(steps: tuple[Step, ...]) -> list[str]:
    out = []
    for step in steps:
        if isinstance(step, Allocate):
            reused = f" in {step.reuse}" if step.reuse else ""
            out.append(f"take {step.buffer.name}{reused}")
        elif isinstance(step, Free):
            out.append(f"free {step.name}")
        else:
            out.append("run")
    return out


def neg(name: str, *place: Expression) -> Expression:
    return apply("neg", load(name, place or (A,), TYPE))


def reversed_of(name: str) -> Expression:
    return neg(name, add(mul(A, -1), 7))


def test_a_dead_array_is_written_over_at_its_own_points() -> None:
    found = plan(
        kernel("a", neg("in")),
        kernel("b", neg("a")),
        kernel("c", neg("b")),
        outputs=("c",),
    )
    assert spelt(found.steps) == [
        "take a",
        "run",
        "free in",
        "take b in a",
        "run",
        "take c in b",
        "run",
    ]
    assert found.peak == found.total == 32


def test_an_array_read_elsewhere_is_not_written_over() -> None:
    backwards = reversed_of("a")
    found = plan(kernel("a", neg("in")), kernel("b", backwards), outputs=("b",))
    assert spelt(found.steps) == [
        "take a",
        "run",
        "free in",
        "take b",
        "run",
        "free a",
    ]
    assert found.peak == 64


def test_dead_memory_goes_to_a_later_array_of_its_size() -> None:
    backwards = reversed_of("a")
    more = reversed_of("b")
    found = plan(
        kernel("a", neg("in")),
        kernel("b", backwards),
        kernel("c", more),
        outputs=("c",),
    )
    assert spelt(found.steps) == [
        "take a",
        "run",
        "free in",
        "take b",
        "run",
        "take c in a",
        "run",
        "free b",
    ]


def test_what_leaves_the_graph_keeps_its_memory() -> None:
    found = plan(kernel("a", neg("in")), kernel("b", neg("a")), outputs=("a", "b"))
    assert spelt(found.steps) == ["take a", "run", "free in", "take b", "run"]


def test_memory_of_inputs_is_not_taken_but_let_go_after_the_last_use() -> None:
    found = plan(
        kernel("a", neg("in")),
        kernel("b", neg("in")),
        kernel("c", neg("b")),
        outputs=("a", "c"),
    )
    assert spelt(found.steps) == [
        "take a",
        "run",
        "take b",
        "run",
        "free in",
        "take c in b",
        "run",
    ]
    view = Alias(array("v"), "in")
    viewed = plan(view, kernel("a", neg("v")), outputs=("a", "in"))
    assert spelt(viewed.steps) == ["run", "take a", "run", "free v"]
    viewed = plan(view, kernel("a", neg("v")), outputs=("a", "v"))
    assert spelt(viewed.steps) == ["run", "take a", "run", "free in"]


def test_storage_lives_as_long_as_its_last_view() -> None:
    view = Alias(array("v"), "a")
    found = plan(
        kernel("a", neg("in")),
        view,
        kernel("b", neg("in")),
        kernel("c", neg("v")),
        outputs=("b", "c"),
    )
    assert spelt(found.steps) == [
        "take a",
        "run",
        "run",
        "take b",
        "run",
        "free in",
        "take c",
        "run",
        "free v",
        "free a",
    ]


def test_fresh_results_of_operators_are_ours_others_are_not() -> None:
    clone = torch.ops.aten.clone.default

    def steps(target: object) -> list[str]:
        call = Extern((array("a"),), target, (Reference("in"),), {})
        return spelt(plan(call, kernel("b", neg("a")), outputs=("b",)).steps)

    assert steps(clone) == ["run", "free in", "take b in a", "run"]
    assert steps(lambda tensor: tensor) == [
        "run",
        "free in",
        "take b",
        "run",
        "free a",
    ]


def test_in_place_needs_the_one_store_at_the_one_point() -> None:
    assert in_place(kernel("b", neg("a")), "a", "b")
    second = Store("c", (A,), neg("a"), False)
    assert not in_place(kernel("b", neg("a"), second), "a", "b")
    assert not in_place(
        kernel("b", apply("add", neg("a"), neg("a", index(0)))), "a", "b"
    )
    atomic = Store("b", (A,), neg("a"), False, "add", None, False)
    added = kernel("c", neg("in"), atomic)
    assert not in_place(added, "a", "b")


def test_donated_memory_is_taken_but_for_outputs() -> None:
    backwards = reversed_of("b")
    steps = kernel("a", neg("in")), kernel("b", neg("a")), kernel("c", backwards)
    found = plan(*steps, outputs=("c",), donated=True)
    assert spelt(found.steps) == [
        "take a in in",
        "run",
        "take b in a",
        "run",
        "take c",
        "run",
        "free b",
    ]
    assert found.peak == 64 and found.total == 32
    found = plan(*steps[:2], outputs=("b",), donated=True)
    assert spelt(found.steps)[2] == "take b", "in memory of an input"


def test_what_an_output_takes_over_in_place_is_no_donated_memory() -> None:
    first = kernel("a", reversed_of("in"))
    second = kernel("b", reversed_of("a"))
    steps = first, second, kernel("c", neg("b"))
    found = plan(*steps, outputs=("c",), donated=True)
    assert spelt(found.steps)[:6] == [
        "take a",
        "run",
        "free in",
        "take b",
        "run",
        "free a",
    ]
    more = plan(*steps, kernel("d", reversed_of("c")), outputs=("d",), donated=True)
    assert "take b in in" in spelt(more.steps)


def test_memory_is_held_on_a_gpu_only_below_the_peak() -> None:
    more = Buffer("more", TYPE, (index(64),), "cuda", (index(1),), index(0))
    large = Extern((more,), torch.ops.aten.mm.default, (Reference("b"),), {})
    steps = (
        kernel("a", reversed_of("in")),
        kernel("b", reversed_of("a")),
        large,
        kernel("c", reversed_of("b")),
    )

    def spelt_on(device: str) -> list[str]:
        buffers = {
            name: replace(array(name), device=device)
            for step in steps
            for name in touched(step)
        }
        buffers["more"] = more
        return spelt(planned(steps, buffers, ["in"], ["c"]).steps)

    assert "take c in a" in spelt_on("cpu")
    assert "take c" in spelt_on("cuda")


def test_outputs_that_are_alone_in_their_memory_are_private() -> None:
    view = Alias(array("v"), "b")
    found = plan(
        kernel("a", neg("in")),
        kernel("b", neg("in")),
        view,
        outputs=("a", "b", "v", "in"),
    )
    assert found.private == {"a"}
