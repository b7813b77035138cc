"""Kernels over their arrays' own coordinates; contents before and after a change."""

from dataclasses import replace

from compiler.ir.expression import Expression, make
from compiler.ir.index import digit, floordiv, index, mod
from compiler.ir.kernel import Kernel, Schedule, Store
from compiler.ir.node import Axis, Buffer, Extern
from verify.obligations.prepared import Prepared, prepared

X = digit("x0")


def array(name: str, shape: tuple[int, ...], strides: tuple[int, ...]) -> Buffer:
    extents = tuple(map(index, shape))
    return Buffer(name, "float32", extents, "cpu", tuple(map(index, strides)))


FULL = array("a", (3, 4), (4, 1))
OUT = array("o", (12,), (1,))


def copy(name: str, source: str, target: str) -> Kernel:
    seen = {n: array(n, (12,), (1,)) for n in (source, target)}
    value = make("load", (X,), "float32", source)
    store = Store(target, (X,), value, False)
    return Kernel(name, (Axis(X, index(12)),), (), (store,), seen)


def stored(made: "Prepared | str") -> tuple[Store, str]:
    assert isinstance(made, Prepared)
    (stage,) = made.stages
    assert isinstance(stage, Store)
    return stage, made.written[0]


def test_merged_dims_are_the_arrays_own_again() -> None:
    schedule = Schedule((FULL,), (copy("k", "a", "o"),), ("o",))
    found = prepared(schedule, {"a": FULL, "o": OUT}, {"a"})
    stage, name = stored(found["k"])
    assert stage.value.args == (floordiv(X, 4), mod(X, 4)) and name == "o"
    assert stage.target == (X,)


def test_what_is_read_after_a_change_has_its_number() -> None:
    steps = (
        copy("before", "a", "o"),
        copy("change", "o", "a"),
        copy("after", "a", "p"),
        Extern((), None, (), {}, mutates=("a",)),
        copy("late", "a", "q"),
    )
    arrays = {"a": FULL, **{n: replace(OUT, name=n) for n in "opq"}}
    found = prepared(Schedule((FULL,), steps, ("p",)), arrays, {"a"})

    def read(name: str) -> Expression:
        return stored(found[name])[0].value

    assert [read(n).data for n in ("before", "after", "late")] == ["a", "a@1", "a@2"]
    assert stored(found["change"])[1] == "a@0"


def test_an_array_that_is_not_there_is_said() -> None:
    schedule = Schedule((FULL,), (copy("k", "z", "o"),), ("o",))
    assert prepared(schedule, {"a": FULL, "o": OUT}, {"a"}) == {
        "k": "z is no array of the schedule"
    }
