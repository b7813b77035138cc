"""Two nests become one, or there is a reason why not."""

from compiler.ir.expression import Expression, make
from compiler.ir.index import add, digit, index, mul
from compiler.ir.kernel import Prefix, Reduction, Store
from compiler.ir.node import Axis
from compiler.ir.scalar import apply, constant, load
from compiler.schedule.merge import Refusal, merged
from compiler.schedule.nest import Nest

A, B, C, R = digit("i0"), digit("i1"), digit("i2"), digit("r0")
TYPE = "float32"


def axis(leaf: Expression, extent: int) -> Axis:
    return Axis(leaf, index(extent))


def pointwise(name: str, value: Expression, *axes: Axis) -> Nest:
    place = tuple(a.digit for a in axes)
    return Nest(axes, (), (Store(name, place, value, False),))


def row_sum(name: str, value: Expression, rows: int, columns: int) -> Nest:
    local = make("local", (), TYPE, name)
    return Nest(
        (axis(A, rows),),
        (axis(R, columns),),
        (
            Reduction((name,), "sum", (value,), (TYPE,)),
            Store(name, (A,), local, False),
        ),
    )


def nest_of(found: Nest | Refusal) -> Nest:
    assert isinstance(found, Nest), found
    return found


def reason_of(found: Nest | Refusal) -> str:
    assert isinstance(found, Refusal), found
    return found.reason


def test_a_reader_at_the_same_point_gets_the_value() -> None:
    first = pointwise(
        "y", apply("neg", load("x", (A, B), TYPE)), axis(A, 4), axis(B, 8)
    )
    second = pointwise(
        "z", apply("exp", load("y", (B, A), TYPE)), axis(A, 8), axis(B, 4)
    )
    joined = nest_of(merged(first, second, {}, {}))
    y, z = joined.stages
    assert isinstance(y, Store) and isinstance(z, Store)
    assert z.value is apply("exp", y.value)
    assert z.target == (B, A)


def test_a_reader_at_another_point_stays_apart() -> None:
    first = pointwise("y", load("x", (A,), TYPE), axis(A, 4))
    shifted = pointwise("z", load("y", (add(mul(A, -1), 3),), TYPE), axis(A, 4))
    assert "other places" in reason_of(merged(first, shifted, {}, {}))
    twice = apply("add", load("y", (A,), TYPE), load("y", (index(0),), TYPE))
    assert "place" in reason_of(
        merged(first, pointwise("z", twice, axis(A, 4)), {}, {})
    )


def test_a_normalisation_is_one_nest() -> None:
    x = load("x", (A, R), TYPE)
    total = row_sum("s", x, 4, 8)
    scaled = pointwise(
        "y",
        apply("truediv", load("x", (A, B), TYPE), load("s", (A,), TYPE)),
        axis(A, 4),
        axis(B, 8),
    )
    joined = nest_of(merged(total, scaled, {"x": 128}, {}))
    last = joined.stages[-1]
    assert isinstance(last, Store) and last.inner
    assert last.value is apply("truediv", x, make("local", (), TYPE, "s"))
    assert [a.digit for a in joined.inner] == [R]


def test_a_producer_is_stored_on_the_way_to_a_reduction() -> None:
    double = apply("mul", load("x", (A, B), TYPE), constant(2.0, TYPE))
    first = pointwise("y", double, axis(A, 4), axis(B, 8))
    joined = nest_of(merged(first, row_sum("s", load("y", (A, R), TYPE), 4, 8), {}, {}))
    stored, reduction, _ = joined.stages
    assert isinstance(stored, Store) and stored.inner
    assert isinstance(reduction, Reduction)
    assert reduction.values == (stored.value,)


def test_two_reductions_over_one_row_share_a_loop() -> None:
    x = load("x", (A, R), TYPE)
    first = row_sum("s", x, 4, 8)
    second = row_sum("q", apply("mul", x, x), 4, 8)
    joined = nest_of(merged(first, second, {"x": 128}, {}))
    assert len(joined.inner) == 1 and len(joined.stages) == 4
    across = row_sum("c", load("x", (R, A), TYPE), 8, 4)
    assert "extents" in reason_of(merged(first, across, {}, {}))


def test_an_epilogue_runs_once_a_row() -> None:
    first = row_sum("s", load("x", (A, R), TYPE), 4, 8)
    root = pointwise("y", apply("sqrt", load("s", (A,), TYPE)), axis(A, 4))
    joined = nest_of(merged(first, root, {}, {}))
    last = joined.stages[-1]
    assert isinstance(last, Store) and not last.inner
    assert last.value is apply("sqrt", make("local", (), TYPE, "s"))


def test_a_value_for_each_element_is_not_read_once_a_row() -> None:
    first = pointwise("y", load("x", (A, B), TYPE), axis(A, 4), axis(B, 8))
    row = row_sum("s", load("y", (A, R), TYPE), 4, 8)
    joined = nest_of(merged(first, row, {}, {}))
    corner = pointwise("z", load("y", (A, index(0)), TYPE), axis(A, 4))
    assert isinstance(merged(joined, corner, {}, {}), Refusal)


def test_written_arrays_are_read_before_they_are_written() -> None:
    # y = x; x = 2x at the same point: the copy of the old x comes first
    copy = pointwise("y", load("x", (A,), TYPE), axis(A, 4))
    two = constant(2.0, TYPE)
    grown = pointwise("x", apply("mul", load("x", (A,), TYPE), two), axis(A, 4))
    joined = nest_of(
        merged(grown, pointwise("z", load("w", (A,), TYPE), axis(A, 4)), {}, {})
    )
    assert [s.buffer for s in joined.stages if isinstance(s, Store)] == ["x", "z"]
    late = nest_of(merged(copy, grown, {}, {}))
    assert [s.buffer for s in late.stages if isinstance(s, Store)] == ["y", "x"]
    # the new x, twice: its value loads the old one, so it stands before the store
    again = pointwise("v", load("x", (A,), TYPE), axis(A, 4))
    both = nest_of(merged(grown, again, {}, {}))
    assert [s.buffer for s in both.stages if isinstance(s, Store)] == ["v", "x"]


def test_a_swap_needs_memory() -> None:
    first = pointwise("x", load("y", (A,), TYPE), axis(A, 4))
    other = pointwise("y", load("w", (A,), TYPE), axis(A, 4))
    third = pointwise("z", load("x", (A,), TYPE), axis(A, 4))
    joined = nest_of(merged(first, other, {}, {}))
    assert [s.buffer for s in joined.stages if isinstance(s, Store)] == ["x", "y"]
    # z is the new x, that is the old y: before y is written
    last = nest_of(merged(joined, third, {}, {}))
    names = [s.buffer for s in last.stages if isinstance(s, Store)]
    assert names.index("z") < names.index("y")
    back = pointwise("y", load("x", (A,), TYPE), axis(A, 4))
    swap = pointwise("x", load("y", (A,), TYPE), axis(A, 4))
    assert isinstance(merged(back, swap, {}, {}), Nest | Refusal)


def test_two_arrays_that_each_need_the_other_s_old_content_stay_apart() -> None:
    # x = x - y, then y = the new x: which is x - y of the old ones
    x, y = load("x", (A,), TYPE), load("y", (A,), TYPE)
    first = pointwise("x", apply("sub", x, y), axis(A, 4))
    second = pointwise("y", load("x", (A,), TYPE), axis(A, 4))
    assert "after the other" in reason_of(merged(first, second, {}, {}))


def test_scattered_arrays_are_read_by_another_kernel() -> None:
    key = make("checked_index", (load("k", (A,), "int64"), index(4)), "index", False)
    value = load("x", (A,), TYPE)
    first = Nest(
        (axis(A, 4),), (), (Store("y", (key,), value, False, "add", None, False),)
    )
    reader = pointwise("z", load("y", (A,), TYPE), axis(A, 4))
    assert "computed places" in reason_of(merged(first, reader, {}, {}))


def test_a_scan_has_one_inner_axis() -> None:
    local = make("local", (), TYPE, "p")
    scan = Nest(
        (axis(A, 4),),
        (axis(B, 6),),
        (
            Prefix(("p",), "sum", load("x", (A, B), TYPE), (TYPE,)),
            Store("p", (A, B), local, True),
        ),
    )
    doubled = pointwise(
        "z", apply("exp", load("p", (A, B), TYPE)), axis(A, 4), axis(B, 6)
    )
    joined = nest_of(merged(scan, doubled, {}, {}))
    assert len(joined.inner) == 1
    place = (A, add(mul(B, 3), C))
    halves = pointwise("z", load("p", place, TYPE), axis(A, 4), axis(B, 2), axis(C, 3))
    assert isinstance(merged(scan, halves, {}, {}), Refusal)


def test_positions_keep_their_meaning() -> None:
    local = make("local", (), "int64", "p")
    inner = (axis(R, 3), axis(digit("r1"), 4))

    def argmax(name: str, *args: Expression) -> Nest:
        stage = Reduction((name,), "argmax", (load("x", args, TYPE),), ("int64",))
        store = Store(name, (A,), make("local", (), "int64", name), False)
        return Nest((axis(A, 2),), inner, (stage, store))

    same = merged(
        argmax("p", A, R, digit("r1")), argmax("q", A, R, digit("r1")), {"x": 9}, {}
    )
    assert isinstance(same, Nest)
    turned = Nest(
        (axis(A, 2),),
        (axis(R, 4), axis(digit("r1"), 3)),
        argmax("q", A, digit("r1"), R).stages,
    )
    assert "positions" in reason_of(
        merged(argmax("p", A, R, digit("r1")), turned, {"x": 9}, {})
    )
    assert local.data == "p"


def test_too_many_stages() -> None:
    nests = [pointwise(f"y{n}", load("x", (A,), TYPE), axis(A, 4)) for n in range(65)]
    joined = nests[0]
    for nest in nests[1:64]:
        joined = nest_of(merged(joined, nest, {}, {}))
    assert "stages" in reason_of(merged(joined, nests[64], {}, {}))
