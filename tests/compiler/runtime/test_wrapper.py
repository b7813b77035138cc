"""Schedules made by hand, run by their generated functions."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch.multiprocessing.reductions import StorageWeakRef

from compiler.errors import CompileError
from compiler.frontend.kernels import Evaluated
from compiler.ir.expression import Expression, make
from compiler.ir.index import digit, floordiv, index, mul, symbol
from compiler.ir.kernel import Allocate, Free, Kernel, Schedule, Store
from compiler.ir.node import Alias, Axis, Buffer, Extern, Reference
from compiler.runtime.wrapper import Wrapper, rewrap, wrap

aten = torch.ops.aten
S = symbol("s0")


def array(
    name: str,
    shape: tuple[Expression | int, ...],
    strides: tuple[Expression | int, ...] | None = None,
    dtype: str = "float32",
    offset: int | None = None,
) -> Buffer:
    if strides is None:
        made: list[Expression] = []
        step = index(1)
        for extent in reversed(shape):
            made.insert(0, step)
            step = mul(step, extent)
        strides = tuple(made)
    return Buffer(
        name,
        dtype,
        tuple(map(index, shape)),
        "cpu",
        tuple(map(index, strides)),
        None if offset is None else index(offset),
    )


def doubling(source: str, target: str, extent: Expression | int) -> Kernel:
    i = digit("i")
    value = make("load", (i,), "float32", source)
    twice = make("add", (value, value), "float32")
    buffers = {name: array(name, (extent,)) for name in (source, target)}
    store = Store(target, (i,), twice, inner=False)
    return Kernel("double", (Axis(i, index(extent)),), (), (store,), buffers)


def wrapped(schedule: Schedule) -> Wrapper:
    kernels = {
        step.name: Evaluated(step)
        for step in schedule.steps
        if isinstance(step, Kernel)
    }
    return wrap(schedule, kernels)


def test_a_kernel_writes_what_was_allocated() -> None:
    steps = (Allocate(array("y", (3,))), doubling("x", "y", 3), Free("x"))
    made = wrapped(Schedule((array("x", (3,)),), steps, ("y",)))
    args = [torch.arange(3.0)]
    assert torch.equal(made.run(args)[0], torch.tensor([0.0, 2.0, 4.0]))
    assert args == [] and made.launches == 1
    assert "empty_strided_cpu((3,), (1,), float32)" in made.source


def test_all_arrays_of_a_device_name_it_once() -> None:
    arrays = [replace(array(f"y{n}", (n + 1,)), device="meta") for n in range(5)]
    steps = tuple(map(Allocate, arrays))
    made = wrapped(Schedule((), steps, tuple(one.name for one in arrays)))
    assert [t.shape[0] for t in made.run([])] == [1, 2, 3, 4, 5]
    assert made.source.count("device=meta)") == 5
    assert [word for word in made.recipes if word.startswith("meta")] == ["meta"]


def test_sizes_follow_from_arguments() -> None:
    x = array("x", (mul(S, 2), 4))
    schedule = Schedule((x,), (), (S, floordiv(S, 2), None))
    assert wrapped(schedule).run([torch.zeros(6, 4)]) == (3, 1, None)
    given = Schedule((S, array("x", (S,))), (), (mul(S, S),))
    assert wrapped(given).run([5, torch.zeros(5)]) == (25,)
    compound = Schedule((mul(S, 2),), (), (S,))
    assert wrapped(compound).run([8]) == (4,)


def test_a_size_that_follows_from_nothing_is_an_error() -> None:
    with pytest.raises(CompileError, match="the size s0 had to follow"):
        wrapped(Schedule((), (), (S,)))


def test_kernels_get_sizes() -> None:
    steps = (Allocate(array("y", (S,))), doubling("x", "y", S))
    made = wrapped(Schedule((array("x", (S,)),), steps, ("y", S)))
    for size in (1, 4, 0):
        y, s = made.run([torch.ones(size)])
        assert torch.equal(y, torch.full((size,), 2.0)) and s == size


def test_aliases_show_storage() -> None:
    view = array("view", (2, 2), (4, 1), offset=1)
    again = array("again", (2,), (1,), offset=5)
    steps = (Alias(view, "x"), Alias(again, "view"))
    x = torch.arange(8.0).view(2, 4)
    made = wrapped(Schedule((array("x", (2, 4)),), steps, ("view", "again")))
    seen, later = made.run([x])
    assert torch.equal(seen, x[:, 1:3]) and seen.data_ptr() == x.data_ptr() + 4
    assert torch.equal(later, torch.tensor([5.0, 6.0]))


def test_aliases_start_at_the_argument_wherever_it_lies() -> None:
    steps = (Alias(array("view", (2,), offset=1), "x"),)
    made = wrapped(Schedule((array("x", (3,)),), steps, ("view",)))
    assert made.run([torch.arange(8.0)[5:]])[0].tolist() == [6.0, 7.0]


def test_aliases_of_another_type() -> None:
    steps = (Alias(array("bits", (3,), dtype="int32"), "x"),)
    made = wrapped(Schedule((array("x", (3,)),), steps, ("bits",)))
    assert made.run([torch.ones(3)])[0].tolist() == [0x3F800000] * 3


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_dead_memory_is_taken_again(dtype: str) -> None:
    steps = (
        Allocate(array("y", (4,))),
        Allocate(array("z", (2, 2), dtype=dtype), reuse="y"),
    )
    y = Extern((array("w", (4,)),), aten.add.Tensor, (Reference("y"), 0), {})
    made = wrapped(Schedule((), (steps[0], y, steps[1]), ("y", "z")))
    first, second = made.run([])
    assert first.data_ptr() == second.data_ptr()
    assert second.shape == (2, 2) and str(second.dtype) == f"torch.{dtype}"


def test_memory_that_was_taken_goes_with_its_last_array() -> None:
    alive: list[bool] = []

    def look(*_: Any) -> torch.Tensor:
        alive.append(not kept.expired())
        return torch.zeros(3)

    x, y, z = array("x", (3,)), array("y", (3,)), array("z", (3,))
    steps = (
        Allocate(y, "x"),
        doubling("x", "y", 3),
        extern(array("seen", (3,)), target=look, args=()),
        Free("y"),
        extern(z, target=look, args=()),
    )
    made = wrapped(Schedule((x,), steps, ("z",), donated=frozenset({"x"})))
    args = [torch.arange(3.0)]
    kept = StorageWeakRef(args[0].untyped_storage())
    made.run(args)
    assert alive == [True, False]


def extern(*outputs: Buffer | None, target: Any, args: Any, **kwargs: Any) -> Extern:
    return Extern(outputs, target, args, kwargs)


def test_extern_calls() -> None:
    x = array("x", (2, 6))
    steps = (
        extern(array("s", (2, 6)), target=aten.sin.default, args=(Reference("x"),)),
        extern(
            array("a", (2, 3), (6, 1)),
            array("b", (2, 3), (6, 1)),
            target=aten.split.Tensor,
            args=(Reference("s"), index(3), 1),
        ),
        extern(
            array("c", (2, 6)),
            target=aten.cat.default,
            args=([Reference("b"), Reference("a")], 1),
        ),
        extern(
            array("m", (2,)),
            None,
            target=aten.max.dim,
            args=(Reference("c"), -1),
        ),
    )
    made = wrapped(Schedule((x,), steps, ("c", "m")))
    given = torch.randn(2, 6)
    c, m = made.run([given])
    first, second = given.sin().split(3, 1)
    assert torch.equal(c, torch.cat([second, first], 1))
    assert torch.equal(m, c.max(-1).values)


def test_extern_arguments_of_all_kinds() -> None:
    def keep(*args: Any, **kwargs: Any) -> torch.Tensor:
        kept.append((args, kwargs))
        return torch.zeros(1)

    kept: list[Any] = []
    marker = object()
    args = (1, float("inf"), [mul(S, 2), 3], (True,), {"k": None}, "it's", marker)
    step = extern(
        array("y", (1,)), target=keep, args=args, dtype=torch.half, size=(1, 2)
    )
    made = wrapped(Schedule((S,), (step,), ("y",)))
    assert made.run([4])[0].tolist() == [0.0]
    expected = (1, float("inf"), [8, 3], (True,), {"k": None}, "it's", marker)
    assert kept == [(expected, {"dtype": torch.half, "size": (1, 2)})]


def test_strides_that_an_operator_did_not_keep_are_made() -> None:
    step = extern(
        array("y", (2, 3), (1, 2)), target=aten.sin.default, args=(Reference("x"),)
    )
    made = wrapped(Schedule((array("x", (2, 3)),), (step,), ("y",)))
    x = torch.randn(2, 3)
    (y,) = made.run([x])
    assert y.stride() == (1, 2) and torch.equal(y, x.sin())


def test_names_that_are_no_identifiers() -> None:
    x, y = array("lambda", (2,)), array("2.y", (2,))
    steps = (
        extern(y, target=aten.sin.default, args=(Reference("lambda"),)),
        extern(array("torch", (2,)), target=aten.cos.default, args=(Reference("2.y"),)),
    )
    made = wrapped(Schedule((x,), steps, ("2.y", "torch")))
    given = torch.randn(2)
    first, second = made.run([given])
    assert torch.equal(first, given.sin()) and torch.equal(second, first.cos())


def test_a_traceback_shows_the_line() -> None:
    def fail(x: torch.Tensor) -> None:
        raise ValueError("no")

    made = wrapped(
        Schedule(
            (array("x", (1,)),), (extern(target=fail, args=(Reference("x"),)),), ()
        )
    )
    with pytest.raises(ValueError) as caught:
        made.run([torch.ones(1)])
    made.explain(caught.value)
    assert not getattr(caught.value, "__notes__", [])
    frame = caught.traceback[1]
    assert "fail(x)" in str(frame.statement) or "tilewright" in str(frame.path)


def test_an_error_names_the_users_line() -> None:
    step = Extern(
        (array("y", (1,)),),
        aten.index_select.default,
        (Reference("x"), 0, Reference("i")),
        {},
        origin="model.py:8 (forward)",
    )
    x, i = array("x", (1,)), array("i", (1,), dtype="int64")
    made = wrapped(Schedule((x, i), (step,), ("y",)))
    with pytest.raises(IndexError) as caught:
        made.run([torch.ones(1), torch.tensor([1])])
    made.explain(caught.value)
    assert caught.value.__notes__ == ["compiled from model.py:8 (forward)"]


def test_a_wrapper_is_made_again_from_its_recipes() -> None:
    call = Extern((array("y", (2,)),), aten.sin.default, (Reference("x"),), {})
    made = wrapped(Schedule((array("x", (2,)),), (call,), ("y",)))
    again = rewrap(made.source, made.launches, made.recipes, made.origins, made.kernels)
    x = torch.randn(2)
    assert torch.equal(again.run([x])[0], x.sin())
    gone = {word: ("extern", "aten.no_such.default") for word in made.recipes}
    with pytest.raises(AttributeError):
        rewrap(made.source, made.launches, gone, made.origins, made.kernels)


def test_a_product_in_parts_is_written_in_place() -> None:
    x, w = array("x", (9, 17)), array("w", (17, 11))
    made = array("y", (9, 11), (16, 1))
    step = Extern((made,), aten.mm.default, (Reference("x"), Reference("w")), {})
    parts = {"y": (8, 8, 16)}
    given = wrapped(Schedule((x, w), (step,), ("y",), parts=parts))
    assert "split_product(aten_mm, y, (8, 8, 16), x, w)" in given.source
    assert given.recipes["split_product"] == ("runtime", "split_product")
    again = rewrap(given.source, 0, given.recipes, {}, {})
    values = torch.arange(153.0).view(9, 17), torch.arange(187.0).view(17, 11)
    for wrapper in (given, again):
        (found,) = wrapper.run([*values])
        assert found.stride() == (16, 1) and torch.equal(found, values[0] @ values[1])
    whole = wrapped(Schedule((x, w), (step,), ("y",)))
    assert "into(aten_mm, y, x, w)" in whole.source
