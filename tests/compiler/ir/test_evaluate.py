from typing import Any

import pytest
import torch

from compiler.ir import index
from compiler.ir.evaluate import run_kernel, run_program, run_schedule
from compiler.ir.expression import Expression
from compiler.ir.kernel import (
    Allocate,
    Free,
    Kernel,
    Prefix,
    Reduction,
    Schedule,
    Store,
)
from compiler.ir.node import (
    Alias,
    Assign,
    Axis,
    Buffer,
    Extern,
    Map,
    Program,
    Reduce,
    Reference,
    Scan,
    Scatter,
)
from compiler.ir.points import EvaluationError, Points
from compiler.ir.scalar import apply, cast, checked_index, constant, load, local

i, j = index.digit("i"), index.digit("j")


def buffer(name: str, *shape: Any, dtype: str = "float32", **more: Any) -> Buffer:
    return Buffer(name, dtype, tuple(map(index.index, shape)), "cpu", **more)


def axis(digit: Expression, extent: Any) -> Axis:
    return Axis(digit, index.index(extent))


def softmax(rows: Any, columns: Any) -> Program:
    x, outer, inner = load("x", (i, j), "float32"), axis(i, rows), axis(j, columns)
    top = load("top", (i,), "float32")
    exps = apply("exp", apply("sub", x, top))
    total = load("total", (i,), "float32")
    return Program(
        (index.symbol("s"), buffer("x", rows, columns)),
        (
            Reduce((buffer("top", rows),), (outer,), (inner,), "maximum", (x,)),
            Reduce((buffer("total", rows),), (outer,), (inner,), "sum", (exps,)),
            Map(
                buffer("y", rows, columns),
                (outer, inner),
                apply("truediv", exps, total),
            ),
        ),
        ("y", index.mul(index.symbol("s"), 2)),
    )


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_a_program_with_a_symbolic_size(rows: int) -> None:
    x = torch.randn(rows, 7)
    y, size = run_program(softmax(index.symbol("s"), 7), [rows, x])
    assert isinstance(y, torch.Tensor)
    assert size == 2 * rows
    torch.testing.assert_close(y, x.softmax(-1))


def test_the_same_in_one_kernel() -> None:
    x = torch.randn(4, 7)
    load_x = load("x", (i, j), "float32")
    exps = apply("exp", apply("sub", load_x, local("m", "float32")))
    kernel = Kernel(
        "softmax",
        (axis(i, 4),),
        (axis(j, 7),),
        (
            Reduction(("m", "s"), "online_softmax", (load_x,), ("float32", "float32")),
            Store("y", (i, j), apply("truediv", exps, local("s", "float32")), True),
            Store("top", (i,), local("m", "float32"), False),
        ),
        {b.name: b for b in (buffer("x", 4, 7), buffer("y", 4, 7), buffer("top", 4))},
    )
    tensors = {"x": x, "y": torch.full((4, 7), torch.nan), "top": torch.zeros(4)}
    run_kernel(kernel, tensors, {})
    torch.testing.assert_close(tensors["y"], x.softmax(-1))
    assert tensors["top"].equal(x.amax(-1))
    steps = (
        Allocate(buffer("y", 4, 7, strides=(index.index(1), index.index(4)))),
        Allocate(buffer("top", 4)),
        kernel,
        Free("top"),
    )
    (out,) = run_schedule(Schedule((buffer("x", 4, 7),), steps, ("y",)), [x])
    assert isinstance(out, torch.Tensor)
    assert out.stride() == (1, 4)
    torch.testing.assert_close(out, x.softmax(-1))


def test_a_prefix_is_read_at_its_point() -> None:
    x = torch.arange(6).reshape(2, 3)
    kernel = Kernel(
        "cumsum_squared",
        (axis(i, 2),),
        (axis(j, 3),),
        (
            Prefix(("p",), "sum", load("x", (i, j), "int64"), ("int64",)),
            Store(
                "y",
                (i, j),
                apply("mul", local("p", "int64"), local("p", "int64")),
                True,
            ),
        ),
        {"x": buffer("x", 2, 3, dtype="int64"), "y": buffer("y", 2, 3, dtype="int64")},
    )
    tensors = {"x": x, "y": torch.zeros(2, 3, dtype=torch.int64)}
    run_kernel(kernel, tensors, {})
    assert tensors["y"].equal(x.cumsum(-1) ** 2)


def test_scatter_assign_alias_scan_and_extern() -> None:
    row = checked_index(load("rows", (i,), "int64"), 4)
    program = Program(
        (buffer("x", 4), buffer("rows", 3, dtype="int64"), buffer("v", 3)),
        (
            Scatter(
                buffer("added", 4),
                "x",
                (axis(i, 3),),
                (row,),
                load("v", (i,), "float32"),
                "add",
            ),
            Assign("x", (axis(i, 4),), load("x", (index.sub(3, i),), "float32")),
            Alias(
                buffer("odd", 2, strides=(index.index(2),), offset=index.index(1)), "x"
            ),
            Scan(
                (buffer("run", 2),),
                (axis(i, 2),),
                0,
                "sum",
                load("odd", (i,), "float32"),
            ),
            Extern((buffer("e", 4),), torch.sin, (Reference("added"),), {}),
        ),
        ("added", "odd", "run", "e"),
    )
    x, v = torch.randn(4), torch.randn(3)
    rows = torch.tensor([-1, 0, 0])
    old = x.clone()
    added, odd, run, e = run_program(program, [x, rows, v])
    wanted = old.clone().index_add_(0, rows % 4, v)
    assert isinstance(added, torch.Tensor) and added.equal(wanted)
    assert x.equal(old.flip(0))
    assert isinstance(odd, torch.Tensor) and odd.equal(x[1::2])
    assert odd.data_ptr() == x[1:].data_ptr()
    assert isinstance(run, torch.Tensor) and run.equal(x[1::2].cumsum(0))
    assert isinstance(e, torch.Tensor) and e.equal(wanted.sin())
    with pytest.raises(IndexError):
        run_program(program, [x, rows + 4, v])


def test_the_last_of_repeated_targets_wins() -> None:
    program = Program(
        (buffer("x", 2), buffer("v", 3)),
        (
            Scatter(
                buffer("y", 2),
                "x",
                (axis(i, 3),),
                (index.floordiv(i, 2),),
                load("v", (i,), "float32"),
            ),
        ),
        ("y",),
    )
    (y,) = run_program(program, [torch.zeros(2), torch.tensor([1.0, 2, 3])])
    assert isinstance(y, torch.Tensor) and y.tolist() == [2, 3]


def test_a_guarded_load_may_leave_its_buffer() -> None:
    inside = apply(
        "lt", load("n", (i,), "int32"), constant(2, "int32")
    )  # true for the first two
    program = Program(
        (buffer("x", 2), buffer("n", 3, dtype="int32")),
        (
            Map(
                buffer("y", 3),
                (axis(i, 3),),
                apply(
                    "guard", inside, load("x", (i,), "float32"), constant(7, "float32")
                ),
            ),
        ),
        ("y",),
    )
    n = torch.arange(3, dtype=torch.int32)
    (y,) = run_program(program, [torch.tensor([1.0, 2]), n])
    assert isinstance(y, torch.Tensor) and y.tolist() == [1, 2, 7]
    with pytest.raises(EvaluationError, match="leaves its buffer"):
        run_program(program, [torch.tensor([1.0, 2]), n * 0])


def store(target: Expression, injective: bool = True) -> Kernel:
    return Kernel(
        "fault",
        (axis(i, 4),),
        (),
        (Store("y", (target,), constant(1, "float32"), False, injective=injective),),
        {"y": buffer("y", 4)},
    )


def test_faults_are_found() -> None:
    tensors = {"y": torch.zeros(4)}
    with pytest.raises(EvaluationError, match="twice"):
        run_kernel(store(index.floordiv(i, 2)), tensors, {})
    run_kernel(store(index.floordiv(i, 2), injective=False), tensors, {})
    assert tensors["y"].tolist() == [1, 1, 0, 0]
    with pytest.raises(EvaluationError, match="leaves its buffer"):
        run_kernel(store(index.add(i, 1)), tensors, {})
    points = Points([i], [4], {}, {})
    for value, words in (
        (load("x", (i,), "float32"), "before it is written"),
        (local("m", "float32"), "before its stage"),
        (index.symbol("s"), "no value"),
        (j, "not one of this nest"),
    ):
        with pytest.raises(EvaluationError, match=words):
            points(value)
    with pytest.raises(EvaluationError, match="of type"):
        Points([i], [4], {"x": torch.zeros(4)}, {})(load("x", (i,), "int32"))


def test_half_types_round_where_they_are_cast() -> None:
    x = torch.tensor([1 / 3])
    value = cast(cast(load("x", (i,), "float32"), "bfloat16"), "float32")
    found = Points([i], [1], {"x": x}, {}).tensor(value)
    assert found.equal(x.bfloat16().float())


def test_a_call_s_result_has_the_strides_that_were_asked_for() -> None:
    a, b = torch.randn(3, 4), torch.randn(4, 5)
    inputs = tuple(
        Buffer(name, "float32", tuple(map(index.index, t.shape)), "cpu")
        for name, t in (("a", a), ("b", b))
    )
    three, five, eight, one = map(index.index, (3, 5, 8, 1))
    result = Buffer("c", "float32", (three, five), "cpu", (eight, one))
    call = Extern(
        (result,), torch.ops.aten.mm.default, (Reference("a"), Reference("b")), {}
    )
    (found,) = run_program(Program(inputs, (call,), ("c",)), [a, b])
    assert isinstance(found, torch.Tensor) and found.stride() == (8, 1)
    assert torch.equal(found, a @ b)
