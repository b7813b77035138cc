"""Maps are taken into their readers where that costs nothing."""

from dataclasses import replace

from compiler.ir.expression import Expression, loads
from compiler.ir.index import add, contiguous_strides, digit, floordiv, index, mod, mul
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
from compiler.ir.scalar import apply, cast, constant, from_index, load
from compiler.schedule.arrays import values_of
from compiler.schedule.inline import Readers, effort, inlined, pinned, with_taken

A, B = digit("i0"), digit("i1")
TYPE = "float32"
ROWS, COLUMNS = Axis(A, index(64)), Axis(B, index(32))


def array(name: str, *shape: int) -> Buffer:
    return Buffer(
        name, TYPE, tuple(map(index, shape)), "cpu", contiguous_strides(shape)
    )


def x(name: str = "x", *place: Expression) -> Expression:
    return load(name, place or (A, B), TYPE)


def costly(value: Expression) -> Expression:
    return apply("exp", apply("sin", value))


def row_map(name: str, value: Expression) -> Map:
    return Map(array(name, 64, 32), (ROWS, COLUMNS), value)


def program(*nodes: Node, outputs: tuple[str, ...] = ("z",)) -> Program:
    return Program((array("x", 64, 32), array("w", 64, 32)), nodes, outputs)


def names(result: Program) -> list[str]:
    return [n.buffer.name for n in result.nodes if isinstance(n, Map)]


def test_a_single_reader_takes_what_it_reads() -> None:
    notes: list[str] = []
    out = inlined(
        program(row_map("y", costly(x())), row_map("z", apply("neg", x("y")))), notes
    )
    assert names(out) == ["z"]
    assert values_of(out.nodes[0]) == (apply("neg", costly(x())),)
    assert notes == [
        "z is an array: it is an output, an extern call's argument or "
        "another array's base"
    ]


def test_views_vanish_into_any_number_of_readers() -> None:
    turned = Map(
        array("t", 32, 64), (Axis(A, index(32)), Axis(B, index(64))), x("x", B, A)
    )
    readers = [row_map(n, apply("neg", x("t", B, A))) for n in ("y", "z")]
    out = inlined(program(turned, *readers, outputs=("y", "z")), [])
    assert names(out) == ["y", "z"]
    assert loads(*values_of(out.nodes[0])) == [x()]


def test_a_reshape_and_back_is_nothing() -> None:
    flat = Map(
        array("f", 2048), (Axis(A, index(2048)),), x("x", floordiv(A, 32), mod(A, 32))
    )
    back = row_map("z", apply("neg", x("f", add(mul(A, 32), B))))
    out = inlined(program(flat, back), [])
    assert values_of(out.nodes[0]) == (apply("neg", x()),)


def test_costly_maps_with_two_readers_stay() -> None:
    both = apply("add", costly(x()), costly(x("w")))
    first = row_map("y", both)
    readers = [row_map(n, apply("neg", x("y"))) for n in ("u", "z")]
    notes: list[str] = []
    out = inlined(program(first, *readers, outputs=("u", "z")), notes)
    assert names(out) == ["y", "u", "z"]
    assert any("2 places read it" in note for note in notes)


def test_what_a_reader_would_repeat_stays() -> None:
    column = Map(
        array("c", 64),
        (ROWS,),
        apply("pow", costly(x("x", A, index(0))), costly(x("w", A, index(0)))),
    )
    reader = row_map("z", apply("add", x(), x("c", A)))
    notes: list[str] = []
    assert names(inlined(program(column, reader), notes)) == ["c", "z"]
    assert any("32 times" in note for note in notes)


def test_numbers_of_columns_are_no_array_however_often_they_are_read() -> None:
    numbers = Map(array("n", 32), (Axis(A, index(32)),), from_index(A, "int64"))
    readers = [
        row_map(name, cast(load("n", (B,), "int64"), TYPE)) for name in ("y", "z")
    ]
    wide = [replace(r, axes=(Axis(A, index(1 << 16)), COLUMNS)) for r in readers]
    out = inlined(program(numbers, *wide, outputs=("y", "z")), [])
    assert names(out) == ["y", "z"]


def test_a_value_from_before_a_change_stays() -> None:
    changed = Assign("x", (ROWS, COLUMNS), constant(0.0, TYPE))
    nodes = (
        row_map("y", apply("neg", x())),
        changed,
        row_map("z", apply("neg", x("y"))),
    )
    notes: list[str] = []
    assert names(inlined(program(*nodes), notes)) == ["y", "z"]
    assert any("x changes before" in note for note in notes)
    # the assignment itself reads the old content
    own = Assign("x", (ROWS, COLUMNS), x("y"))
    out = inlined(program(nodes[0], own), [])
    assert values_of(out.nodes[0]) == (apply("neg", x()),)


def test_calls_need_memory() -> None:
    call = Extern((array("e", 64, 32),), len, (Reference("y"),), {})
    made = program(row_map("y", apply("neg", x())), call, outputs=("e",))
    assert pinned(made) == {"y", "e"}
    assert names(inlined(made, [])) == ["y"]


def test_what_two_outputs_show_needs_memory() -> None:
    half = Axis(B, index(16))
    parts = [
        Map(array(name, 64, 16), (ROWS, half), x("y", A, place), shares="y")
        for name, place in (("left", B), ("right", add(B, 16)))
    ]
    whole = row_map("y", apply("neg", x()))
    both = program(whole, *parts, outputs=("left", "right"))
    assert pinned(both) == {"y", "left", "right"}
    assert names(inlined(both, [])) == ["y", "left", "right"]
    one = program(whole, *parts, outputs=("left",))
    assert pinned(one) == {"left"}


def test_the_end_of_a_reduction_stays_before_another() -> None:
    inner, rows = (COLUMNS,), (ROWS,)
    total = Reduce((array("s", 64),), rows, inner, "sum", (x(),))
    more = Reduce((array("m", 64),), rows, inner, "maximum", (x(),))
    loss = Map(array("l", 64), rows, apply("sub", x("m", A), apply("log", x("s", A))))
    mean = Reduce((array("z"),), (), rows, "sum", (x("l", A),))
    notes: list[str] = []
    assert "l" in names(inlined(program(total, more, loss, mean), notes))
    assert any("ends the kernel" in note for note in notes)


def test_effort_counts_operations_and_large_loads() -> None:
    value = apply("add", costly(x()), apply("mul", x("w"), x("b", B)))
    found = effort(row_map("y", value))
    assert (found.loads, found.large) == (3, 2)
    assert found.instructions == 8 + 12 + 1 + 1
    readers = Readers(program(row_map("y", value), row_map("z", x("y"))))
    assert readers.repeats(row_map("y", value)) == 1


def test_taking_in_nothing_changes_nothing() -> None:
    node = row_map("y", costly(x()))
    assert with_taken(node, {}, {}) is node


def test_a_gpu_computes_a_number_of_numbers_in_each_program() -> None:
    """A CPU computes it once: there a loop for it alone costs nothing."""
    for device, kept in (("cpu", ["s", "z"]), ("cuda", ["z"])):
        number = replace(array("s"), device=device)
        rate = replace(array("r"), device=device)
        scaled = apply("mul", x(), load("s", (), TYPE))
        out = inlined(
            Program(
                (replace(array("x", 64, 32), device=device), rate),
                (
                    Map(number, (), costly(costly(load("r", (), TYPE)))),
                    Map(
                        replace(array("z", 64, 32), device=device),
                        (ROWS, COLUMNS),
                        scaled,
                    ),
                ),
                ("z",),
            ),
            [],
        )
        assert names(out) == kept


def test_a_number_that_ends_a_reduction_stays_there() -> None:
    total = replace(array("t"), device="cuda")
    both = Axis(A, index(64)), Axis(B, index(32))
    reduce = Reduce((total,), (), both, "sum", (x(),))
    mean = Map(
        replace(array("s"), device="cuda"), (), costly(costly(load("t", (), TYPE)))
    )
    scaled = Map(
        replace(array("z", 64, 32), device="cuda"),
        (ROWS, COLUMNS),
        apply("mul", x(), load("s", (), TYPE)),
    )
    out = inlined(program(reduce, mean, scaled), [])
    assert names(out) == ["s", "z"]
