"""Kernels are proved, and each planted fault is refuted at a point that shows it."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from algebra.verdict import Proved, Refuted, Unknown
from compiler.ir.expression import Expression, make, substitute
from compiler.ir.index import (
    add,
    contiguous_strides,
    digit,
    floordiv,
    index,
    mod,
    mul,
    sub,
    symbol,
)
from compiler.ir.kernel import (
    Allocate,
    Free,
    Kernel,
    Reduction,
    Schedule,
    Stage,
    Store,
    folded_axes,
)
from compiler.ir.node import Axis, Buffer, Map, Program, Reduce
from compiler.schedule import schedule
from verify.obligations import (
    Obligations,
    certify_kernel,
    certify_schedule,
    validate,
    worst,
)

ROW, COLUMN, SIZE = digit("i"), digit("j"), symbol("N")


def array(name: str, *shape: Expression | int) -> Buffer:
    extents = tuple(index(extent) for extent in shape)
    return Buffer(name, "float32", extents, "cpu", contiguous_strides(extents))


def load(name: str, *at: Expression | int) -> Expression:
    return make("load", tuple(index(i) for i in at), "float32", name)


def compare(op: str, left: Expression, right: Expression | int) -> Expression:
    one = make("from_index", (left,), "int64")
    two = make("from_index", (index(right),), "int64")
    return make(op, (one, two), "bool")


def pointwise(
    value: Expression,
    target: tuple[Expression | int, ...] = (ROW, COLUMN),
    rows: int = 5,
    columns: int = 7,
    shape: tuple[int, ...] | None = None,
) -> Kernel:
    """One store over rows x columns into ``y``; ``x`` and ``y`` are 5 x 7."""
    buffers = [array("x", 5, 7), array("y", *(shape or (5, 7)))]
    return Kernel(
        "k",
        (Axis(ROW, index(rows)), Axis(COLUMN, index(columns))),
        (),
        (Store("y", tuple(index(t) for t in target), value, inner=False),),
        {buffer.name: buffer for buffer in buffers},
    )


GOOD = pointwise(load("x", ROW, COLUMN))
FLAT = add(mul(ROW, 7), COLUMN)


def test_a_pointwise_kernel_is_proved() -> None:
    made = certify_kernel(GOOD)
    assert {k: type(v) for k, v in made.verdicts.items()} == dict.fromkeys(
        made.verdicts, Proved
    )


def test_a_transposed_read_and_a_reshaped_write_are_proved() -> None:
    kernel = pointwise(
        load("x", floordiv(FLAT, 7), mod(FLAT, 7)), target=(FLAT,), shape=(35,)
    )
    assert isinstance(worst(certify_kernel(kernel).verdicts), Proved)


@pytest.mark.parametrize(
    ("kernel", "obligation"),
    [
        (pointwise(load("x", add(ROW, 1), COLUMN)), "in_bounds"),
        (pointwise(load("x", ROW, add(COLUMN, -1))), "in_bounds"),
        (pointwise(load("x", ROW, COLUMN), rows=6), "in_bounds"),
        (pointwise(load("x", ROW, COLUMN), target=(ROW, 0)), "write_once"),
        (
            pointwise(load("x", ROW, COLUMN), target=(add(ROW, COLUMN),), shape=(11,)),
            "write_once",
        ),
        (pointwise(load("x", ROW, COLUMN), rows=4), "coverage"),
        (pointwise(load("y", ROW, add(mul(COLUMN, -1), 6))), "no_race"),
    ],
)
def test_a_fault_is_refuted(kernel: Kernel, obligation: str) -> None:
    verdict = certify_kernel(kernel).verdicts[obligation]
    assert isinstance(verdict, Refuted), verdict


def test_the_counterexample_is_a_point_outside() -> None:
    kernel = pointwise(load("x", add(ROW, 1), COLUMN))
    verdict = certify_kernel(kernel).verdicts["in_bounds"]
    assert isinstance(verdict, Refuted)
    case = verdict.counterexample
    assert case["array"] == "x" and case["dim"] == 0 and case["i"] == 4


def test_a_guard_makes_a_padded_read_safe() -> None:
    inside = compare("ge", COLUMN, 1)
    padded = make(
        "guard",
        (
            inside,
            load("x", ROW, add(COLUMN, -1)),
            make("constant", (), "float32", 0.0),
        ),
        "float32",
    )
    assert isinstance(worst(certify_kernel(pointwise(padded)).verdicts), Proved)
    wrong = make("guard", (compare("ge", COLUMN, 0), *padded.args[1:]), "float32")
    verdict = certify_kernel(pointwise(wrong)).verdicts["in_bounds"]
    assert isinstance(verdict, Refuted)


def test_a_guard_on_values_leaves_it_unknown() -> None:
    seen = make("gt", (load("x", ROW, COLUMN), load("x", ROW, COLUMN)), "bool")
    value = make(
        "guard", (seen, load("x", add(ROW, 1), COLUMN), load("x", 0, 0)), "float32"
    )
    verdict = certify_kernel(pointwise(value)).verdicts["in_bounds"]
    assert isinstance(verdict, Unknown) and "guard" in verdict.reason


def test_a_symbolic_size_is_proved_and_its_fault_refuted() -> None:
    def kernel(at: Expression) -> Kernel:
        return Kernel(
            "k",
            (Axis(ROW, SIZE), Axis(COLUMN, index(8))),
            (),
            (Store("y", (at,), load("x", ROW, COLUMN), inner=False),),
            {"x": array("x", SIZE, 8), "y": array("y", mul(SIZE, 8))},
        )

    good = certify_kernel(kernel(add(mul(ROW, 8), COLUMN)), {SIZE: 1}).verdicts
    assert all(isinstance(good[k], Proved) for k in good if k != "no_wrap")
    assert isinstance(good["no_wrap"], Unknown)
    bad = certify_kernel(kernel(add(mul(ROW, 7), COLUMN)), {SIZE: 1}).verdicts
    assert isinstance(bad["write_once"], Refuted)
    stretched = certify_kernel(kernel(add(mul(ROW, 9), COLUMN)), {SIZE: 1}).verdicts
    assert isinstance(stretched["in_bounds"], Refuted)


def test_no_sizes_that_guards_exclude_refute(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = array("x", SIZE), array("y", SIZE)
    store = Store("y", (ROW,), load("x", add(ROW, 1)), inner=False)
    kernel = Kernel("k", (Axis(ROW, SIZE),), (), (store,), {"x": x, "y": y})
    plan = Schedule((x,), (Allocate(y), kernel, Free("x")), ("y",))
    made, _ = Obligations().scheduled(plan, None)
    assert isinstance(made.verdicts["in_bounds"], Refuted)
    monkeypatch.setattr("compiler.torch_api.contradicts_guards", lambda sizes: True)
    made, _ = Obligations().scheduled(plan, None)
    verdict = made.verdicts["in_bounds"]
    assert isinstance(verdict, Unknown) and "guards exclude" in verdict.reason


def test_a_row_reduction_with_its_second_pass_is_proved() -> None:
    total = Reduction(("s",), "sum", (load("x", ROW, COLUMN),), ("float32",))
    scaled = make(
        "truediv",
        (load("x", ROW, COLUMN), make("local", (), "float32", "s")),
        "float32",
    )
    kernel = replace(
        GOOD,
        outer=GOOD.outer[:1],
        inner=GOOD.outer[1:],
        stages=(total, Store("y", (ROW, COLUMN), scaled, inner=True)),
    )
    assert isinstance(worst(certify_kernel(kernel).verdicts), Proved)
    once = replace(
        kernel, stages=(total, Store("y", (ROW, index(0)), scaled, inner=True))
    )
    assert isinstance(certify_kernel(once).verdicts["write_once"], Refuted)


def test_two_stores_into_one_array_must_not_meet() -> None:
    """A concatenation: rows 0..4 and 5..9 of ten; then with an overlap."""

    def kernel(second: Expression) -> Kernel:
        stores = [
            Store("y", (at, COLUMN), load("x", ROW, COLUMN), inner=False)
            for at in (ROW, second)
        ]
        base = pointwise(load("x", ROW, COLUMN), shape=(10, 7))
        return replace(base, stages=tuple(stores))

    assert isinstance(worst(certify_kernel(kernel(add(ROW, 5))).verdicts), Proved)
    verdicts = certify_kernel(kernel(add(ROW, 4))).verdicts
    assert isinstance(verdicts["write_once"], Refuted)


def test_an_index_beyond_64_bits_is_refuted() -> None:
    big = 1 << 62
    kernel = Kernel(
        "k",
        (Axis(ROW, index(4)),),
        (),
        (Store("y", (ROW,), load("x", mul(ROW, big)), inner=False),),
        {"x": array("x", 4 * big), "y": array("y", 4)},
    )
    assert isinstance(certify_kernel(kernel).verdicts["no_wrap"], Refuted)


def test_the_validator_reports_what_breaks_it_as_unknown() -> None:
    broken = replace(GOOD, outer=GOOD.outer[:1])
    [made] = validate([broken])
    assert all(isinstance(v, Unknown) for v in made.verdicts.values())


def test_memory_plans() -> None:
    x, y, z = array("x", 5, 7), array("y", 5, 7), array("z", 5, 7)
    good = Schedule((x,), (Allocate(y), GOOD, Free("x")), ("y",))
    assert isinstance(certify_schedule(good)[-1].verdicts["memory_plan"], Proved)
    for steps in (
        (GOOD,),
        (Allocate(y), Free("x"), GOOD),
        (Allocate(y), Free("x"), Free("x")),
        (Allocate(y), Allocate(z, reuse="x"), GOOD),
        (Allocate(y), GOOD, Free("y")),
        (Allocate(y),),
    ):
        bad = Schedule((x,), steps, ("y",))
        verdict = certify_schedule(bad)[-1].verdicts["memory_plan"]
        assert isinstance(verdict, Refuted), steps


def sums_of_columns(batch: int, tokens: int, length: int) -> tuple[Program, Schedule]:
    """``y = x * sum(z * w)`` by rows, and sums of columns; ``z``'s rows are flat."""
    b, t, r, s = (digit(name) for name in ("i0", "i1", "r0", "r1"))

    def gpu(name: str, *shape: int) -> Buffer:
        return replace(array(name, *shape), device="cuda:0")

    def times(left: Expression, right: Expression) -> Expression:
        return make("mul", (left, right), "float32")

    def free(name: str, *shape: int) -> Buffer:
        return replace(gpu(name, *shape), strides=None)

    def axes(**extents: int) -> tuple[Axis, ...]:
        return tuple(Axis(digit(d), index(n)) for d, n in extents.items())

    z = load("z", add(mul(b, tokens), t), r)
    column = digit("i2")
    here, across = (b, t, column), (r, s, b)
    value = times(load("x", *here), load("a", b, t))
    turned = load("z", add(mul(r, tokens), s), b)
    return planned_by_hand(
        (gpu("x", batch, tokens, length), gpu("z", batch * tokens, length)),
        (
            Reduce(
                (free("a", batch, tokens),),
                axes(i0=batch, i1=tokens),
                axes(r0=length),
                "sum",
                (times(z, load("x", b, t, r)),),
            ),
            Map(
                free("y", batch, tokens, length),
                axes(i0=batch, i1=tokens, i2=length),
                value,
            ),
            Reduce(
                (free("p", length),),
                axes(i0=length),
                axes(r0=batch, r1=tokens),
                "sum",
                (times(turned, load("x", *across)),),
            ),
            Reduce(
                (free("q", length),),
                axes(i0=length),
                axes(r0=batch, r1=tokens),
                "sum",
                (turned,),
            ),
        ),
    )


def planned_by_hand(
    inputs: tuple[Buffer, ...], nodes: tuple[Map | Reduce, ...]
) -> tuple[Program, Schedule]:
    program = Program(inputs, nodes, ("y", "p", "q"))
    return program, schedule(program)


@pytest.mark.parametrize(("batch", "tokens"), [(16, 512), (64, 197), (64, 49)], ids=str)
def test_sums_on_the_way_over_rows_are_proved(batch: int, tokens: int) -> None:
    program, made = sums_of_columns(batch, tokens, 96)
    rows, *_ = [step for step in made.steps if isinstance(step, Kernel)]
    assert folded_axes(rows.outer, rows.stages)
    for one in certify_schedule(made, program):
        assert isinstance(worst(one.verdicts), Proved), (one.kernel, one.verdicts)


def folded_faults(rows: Kernel) -> dict[str, Kernel]:
    """Return kernels that sum columns wrongly."""
    gone = folded_axes(rows.outer, rows.stages)[0]
    last = next(s for s in rows.stages if isinstance(s, Store) and s.folded)

    def each(change: Callable[[Stage], Stage]) -> Kernel:
        return replace(rows, stages=tuple(map(change, rows.stages)))

    def shifted(value: Expression) -> Expression:
        return substitute(value, {gone.digit: floordiv(gone.digit, 2)})

    return {
        "each row stores": each(
            lambda s: replace(s, folded=False) if isinstance(s, Store) else s
        ),
        "a row is summed twice": each(
            lambda s: (
                replace(s, values=tuple(map(shifted, s.values)))
                if isinstance(s, Reduction) and s.folded
                else s
            )
        ),
        "the last row is left out": replace(
            rows,
            outer=tuple(
                replace(a, extent=sub(a.extent, 1)) if a is gone else a
                for a in rows.outer
            ),
        ),
        "one chunk is stored": each(
            lambda s: (
                replace(
                    s,
                    target=tuple(
                        substitute(t, {a.digit: index(0) for a in rows.outer})
                        for t in s.target
                    ),
                )
                if s is last
                else s
            )
        ),
    }


@pytest.mark.parametrize(
    "fault",
    (
        "each row stores",
        "a row is summed twice",
        "the last row is left out",
        "one chunk is stored",
    ),
)
@pytest.mark.parametrize(("batch", "tokens"), [(16, 512), (64, 197)], ids=str)
def test_faults_of_sums_on_the_way_are_found(
    batch: int, tokens: int, fault: str
) -> None:
    program, made = sums_of_columns(batch, tokens, 96)
    rows = next(step for step in made.steps if isinstance(step, Kernel))
    broken = folded_faults(rows)[fault]
    steps = tuple(broken if step is rows else step for step in made.steps)
    found = certify_schedule(replace(made, steps=steps), program)
    assert any(not isinstance(worst(one.verdicts), Proved) for one in found)
