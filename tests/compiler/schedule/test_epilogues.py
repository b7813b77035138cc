"""Calls and the maps that read them as one product: where, and where not."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from benchmarks.product_epilogue_cases import (
    Case,
    arrays_of,
    exact,
    on_cpu,
    program_of,
)
from compiler.cost.product import TEMPLATE, ShapeClass
from compiler.ir.check import program_faults
from compiler.ir.check_schedule import schedule_faults
from compiler.ir.evaluate import run_schedule
from compiler.ir.expression import Expression, make
from compiler.ir.index import (
    add,
    contiguous_strides,
    digit,
    floordiv,
    index,
    mod,
    symbol,
)
from compiler.ir.kernel import Kernel
from compiler.ir.node import (
    Alias,
    Assign,
    Axis,
    Buffer,
    Extern,
    Map,
    Node,
    Product,
    Program,
    Reduce,
    Reference,
    Tiling,
)
from compiler.ir.scalar import apply, cast, checked_index, constant, load
from compiler.options import Options
from compiler.schedule import schedule
from compiler.schedule.epilogues import is_light, with_epilogues

ALWAYS = Options(product_epilogues="always")
CASE = Case("case", (64, 48, 40), "gelu")
M, N, T = CASE.shape
ROW, COLUMN = digit("i"), digit("j")
aten = torch.ops.aten


def array(name: str, *shape: int, dtype: str = "bfloat16") -> Buffer:
    extents = tuple(map(index, shape))
    return Buffer(name, dtype, extents, "cuda:0", contiguous_strides(extents))


def axes(*extents: int) -> tuple[Axis, ...]:
    return tuple(
        Axis(d, index(e)) for d, e in zip((ROW, COLUMN), extents, strict=False)
    )


def mapped(name: str, *at: Expression, shape: tuple[int, ...] = (M, N)) -> Map:
    """A map that adds one to elements of the product."""
    value = cast(load("made", at, "bfloat16"), "float32")
    more = apply("add", value, constant(1.0, "float32"))
    return Map(array(name, *shape), axes(*shape), cast(more, "bfloat16"))


CALL = Extern(
    (array("made", M, N),),
    aten.mm.default,
    (Reference("left"), Reference("right")),
    {},
)


def program(*nodes: Node, outputs: tuple[str, ...] = ("out",)) -> Program:
    inputs = array("left", M, T), array("right", T, N)
    return Program(inputs, (CALL, *nodes), outputs)


def joined(given: Program, notes: list[str] | None = None) -> list[Node]:
    return list(with_epilogues(given, ALWAYS, [] if notes is None else notes).nodes)


@pytest.mark.parametrize(
    "case",
    [
        CASE,
        replace(CASE, epilogue="residual", normed=True, dtype="float32"),
        replace(CASE, epilogue="gated", bias=False, weight_rows=True),
        replace(CASE, epilogue="residual", batch=4, turned=True),
    ],
    ids=lambda case: f"{case.epilogue} {case.batch}",
)
def test_one_kernel_computes_what_the_call_and_the_map_do(case: Case) -> None:
    given = program_of(case)
    seen: dict[str, Program] = {}
    made = schedule(given, ALWAYS, observer=seen.__setitem__)
    assert not list(program_faults(seen["epilogues"]))
    assert not list(schedule_faults(made))
    assert not any(isinstance(step, Extern) for step in made.steps)
    assert [s.product is not None for s in made.steps if isinstance(s, Kernel)] == [
        True,
        *[False] * case.normed,
    ]
    arrays = arrays_of(case, "cpu")
    separate = schedule(given, Options(product_epilogues="off"))
    fused, apart = (run_schedule(on_cpu(chosen), arrays) for chosen in (made, separate))
    for one, other, right in zip(fused, apart, exact(case, arrays), strict=True):
        assert isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor)
        assert one.stride() == other.stride() and one.dtype == other.dtype
        error, before = ((t.double() - right).norm() for t in (one, other))
        assert error <= 1.2 * before


@pytest.mark.parametrize(
    "options",
    [
        Options(product_epilogues="off"),
        Options(product_epilogues="always", deterministic=True),
        Options(),
    ],
    ids=["off", "deterministic", "nothing measured"],
)
def test_otherwise_nothing_changes(options: Options) -> None:
    template = replace(TEMPLATE, faster={})
    given = program_of(CASE)
    assert with_epilogues(given, options, [], template) is given


def test_what_was_measured_decides() -> None:
    tiling = Tiling(16, 16, 32, 4, 2)
    key = ShapeClass.of(CASE.shape, (True, True), costly=True)
    template = replace(TEMPLATE, faster={key: tiling})
    notes: list[str] = []
    (node,) = with_epilogues(program_of(CASE), Options(), notes, template).nodes
    assert isinstance(node, Product) and node.tiling is tiling
    other = program_of(replace(CASE, weight_rows=True))
    assert with_epilogues(other, Options(), notes, template).nodes == other.nodes
    assert notes == [
        "made is multiplied by the kernel that makes out",
        "made is multiplied by the library: "
        "no measurement says that the kernel is faster",
    ]


def test_a_measurement_says_nothing_of_other_gpus(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    key = ShapeClass.of(CASE.shape, (True, True), costly=True)
    template = replace(TEMPLATE, faster={key: Tiling(16, 16, 32, 4, 2)})
    found = {"cuda:0": (9, 0), "cuda:1": (8, 9)}
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", found.__getitem__)
    for device, changes in (("cuda:0", True), ("cuda:1", False)):
        given = program_of(CASE, device)
        made = with_epilogues(given, Options(), [], template)
        assert (made is not given) is changes


def test_a_class_says_nothing_of_other_alignments_and_of_tiles_that_are_empty() -> None:
    key = ShapeClass.of(CASE.shape, (True, True), costly=True)
    template = replace(TEMPLATE, faster={key: Tiling(16, 16, 32, 4, 2)})
    wide = replace(template, faster={key: Tiling(128, 16, 32, 4, 2)})
    for case, among, ours in (
        (CASE, template, True),
        (replace(CASE, gap=8), template, True),
        (replace(CASE, gap=4), template, False),
        (replace(CASE, shape=(64, 48, 44)), template, False),
        (CASE, wide, False),
    ):
        nodes = with_epilogues(program_of(case), Options(), [], among).nodes
        assert isinstance(nodes[0], Product) is ours
    given = program_of(CASE)
    left, *others = given.inputs
    assert isinstance(left, Buffer)
    fresh = replace(left, strides=None)  # as what a kernel makes
    given = replace(given, inputs=(fresh, *others))
    (node,) = with_epilogues(given, Options(), [], template).nodes
    assert isinstance(node, Product)


def test_a_class_says_nothing_of_epilogues_that_need_more_room() -> None:
    made = cast(load("made", (ROW, COLUMN), "bfloat16"), "float32")

    def read(name: str, *at: Expression) -> Expression:
        return load(name, at, "float32")

    bias, one, other = read("b", COLUMN), read("o", COLUMN, ROW), read("p", ROW, COLUMN)
    light = apply("add", apply("add", made, bias), apply("mul", one, one))
    assert is_light(light, "made")
    assert not is_light(apply("add", light, other), "made")
    assert not is_light(cast(made, "float64"), "made")
    row = checked_index(load("i", (ROW,), "int32"), 100)
    assert not is_light(apply("add", made, read("table", row, COLUMN)), "made")
    given = program_of(CASE)
    call, out = given.nodes
    assert isinstance(out, Map)
    key = ShapeClass.of(CASE.shape, (True, True), costly=True)
    template = replace(TEMPLATE, faster={key: Tiling(16, 16, 32, 4, 2)})
    long = cast(apply("exp", cast(out.value, "float64")), out.value.dtype)
    wide = replace(given, nodes=(call, replace(out, value=long)))
    assert with_epilogues(wide, Options(), [], template).nodes == wide.nodes
    (node,) = with_epilogues(wide, ALWAYS, [], template).nodes
    assert isinstance(node, Product)


def test_a_class_says_who_else_reads_the_result() -> None:
    turned = True, True

    def classes(case: Case, kept: bool = False) -> set[ShapeClass]:
        asked: set[ShapeClass] = set()

        class Asked(dict[ShapeClass, Tiling]):
            def get(self, key: Any, default: Any = None) -> Any:
                asked.add(key)

        some = ShapeClass.of((1, 1, 1), turned, costly=False)
        template = replace(TEMPLATE, faster=Asked({some: Tiling(16, 16, 16, 4, 2)}))
        given = program_of(case)
        if kept:
            given = replace(given, outputs=(*given.outputs, "made"))
        with_epilogues(given, Options(), [], template)
        return asked

    of = ShapeClass.of
    assert classes(CASE) == {of(CASE.shape, turned, True)}
    assert classes(CASE, kept=True) == {of(CASE.shape, turned, True, kept=True)}
    normed = replace(CASE, epilogue="residual", normed=True)
    assert classes(normed) == {of(CASE.shape, turned, False, read=True)}
    alone = replace(normed, stays=False)
    assert classes(alone) == {of(CASE.shape, turned, False, read=True, stays=False)}


def test_a_product_that_others_read_is_stored_as_well() -> None:
    given = program(mapped("out", ROW, COLUMN), outputs=("out", "made"))
    (node,) = joined(given)
    assert isinstance(node, Product)
    assert [b.name for b in node.buffers] == ["made", "out"]
    later = program(
        mapped("out", ROW, COLUMN), mapped("more", ROW, COLUMN), outputs=("out", "more")
    )
    node, rest = joined(later)
    assert isinstance(node, Product) and len(node.buffers) == 2
    assert rest is later.nodes[2]


def refusal(*nodes: Node, outputs: tuple[str, ...] = ("out",)) -> str:
    given, notes = program(*nodes, outputs=outputs), list[str]()
    assert joined(given, notes) == list(given.nodes)
    (note,) = notes
    return note.partition("by the library: ")[2]


def test_a_map_must_read_each_element_once() -> None:
    several = mapped("out", ROW, COLUMN)
    places = (ROW, COLUMN), (COLUMN, ROW)
    both = (cast(load("made", at, "bfloat16"), "float32") for at in places)
    several = replace(several, value=cast(apply("add", *both), "bfloat16"))
    assert "several elements" in refusal(several)
    once = "what reads it does not read each element once"
    assert refusal(mapped("out", index(3), COLUMN)) == once
    assert refusal(mapped("out", mod(ROW, 8), COLUMN)) == once
    assert refusal(mapped("out", add(ROW, 1), COLUMN, shape=(M - 1, N))) == once
    one = floordiv(ROW, N), mod(ROW, N)
    assert "rows and columns" in refusal(mapped("out", *one, shape=(M * N,)))


def test_who_reads_first_decides() -> None:
    summed = Reduce(
        (array("out", M, dtype="float32"),),
        axes(M),
        (Axis(COLUMN, index(N)),),
        "sum",
        (cast(load("made", (ROW, COLUMN), "bfloat16"), "float32"),),
    )
    assert refusal(summed) == "no map reads it first"
    view = Alias(array("view", M, N), "made")
    assert refusal(view, mapped("out", ROW, COLUMN)) == "a view reads it first"
    assert refusal(outputs=("made",)) == "nothing else reads it"


def test_what_is_multiplied_must_not_change_before_the_map() -> None:
    write = Assign("left", axes(M, T), constant(0.0, "bfloat16"))
    assert (
        refusal(write, mapped("out", ROW, COLUMN))
        == "left is changed before it is read"
    )
    (after,) = (
        n for n in joined(program(mapped("out", ROW, COLUMN), write)) if n is not write
    )
    assert isinstance(after, Product)


@pytest.mark.parametrize(
    ("strides", "right", "ours"),
    [
        ((index(T), index(0)), False, False),
        ((index(0), index(1)), False, False),
        ((symbol("s"), index(1)), False, True),
        ((index(1), symbol("s")), False, False),
        ((index(0), index(1)), True, False),
        ((symbol("s"), index(1)), True, False),
        ((index(1), symbol("s")), True, True),
    ],
)
def test_factors_have_known_steps_from_term_to_term(
    strides: tuple[Expression, Expression], right: bool, ours: bool
) -> None:
    given = program(mapped("out", ROW, COLUMN))
    inputs = list(given.inputs)
    factor = inputs[right]
    assert isinstance(factor, Buffer)
    inputs[right] = replace(factor, strides=strides)
    notes: list[str] = []
    nodes = with_epilogues(replace(given, inputs=tuple(inputs)), ALWAYS, notes).nodes
    assert isinstance(nodes[0], Product) is ours
    assert ours or "is repeated or has steps that only the run knows" in notes[0]


def test_small_and_unknown_products_are_the_librarys() -> None:
    small = replace(CASE, shape=(16, 48, 40))
    notes: list[str] = []
    given = program_of(small)
    assert with_epilogues(given, ALWAYS, notes).nodes == given.nodes
    assert notes == ["made is multiplied by the library: an extent is below 32"]
    scaled = replace(CALL, kwargs={"alpha": 2})
    changed = program(mapped("out", ROW, COLUMN))
    changed = replace(changed, nodes=(scaled, *changed.nodes[1:]))
    assert with_epilogues(changed, ALWAYS, []).nodes == changed.nodes
    cpu = program_of(CASE, "cpu")
    assert with_epilogues(cpu, ALWAYS, []).nodes == cpu.nodes


def test_axes_of_one_element_vanish() -> None:
    out = replace(
        mapped("out", ROW, COLUMN),
        buffer=array("out", 1, M, N),
        axes=(Axis(digit("u"), index(1)), *axes(M, N)),
    )
    value = out.value
    read = make("load", (add(digit("u"), ROW), COLUMN), "bfloat16", "made")
    out = replace(out, value=cast(apply("neg", cast(read, "float32")), value.dtype))
    (node,) = joined(program(out))
    assert isinstance(node, Product)
    assert node.targets == ((index(0), ROW, COLUMN),)
    assert node.left.args[0] is ROW
