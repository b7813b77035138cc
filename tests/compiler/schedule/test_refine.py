"""Digits are split where reshapes divide them."""

from compiler.ir.index import (
    add,
    constant_value,
    digit,
    floordiv,
    index,
    mod,
    mul,
    symbol,
)
from compiler.ir.kernel import Prefix, Store
from compiler.ir.node import Axis
from compiler.ir.scalar import load
from compiler.schedule.nest import Nest
from compiler.schedule.refine import refined, split_axis

D = digit("i0")


def nest(extent: int, *args: object) -> Nest:
    value = load("x", args, "float32")  # type: ignore[arg-type]
    store = Store("y", (D,), value, False)
    return Nest((Axis(D, index(extent)),), (), (store,))


def test_a_reshaped_digit_is_two() -> None:
    out = refined(nest(24, floordiv(D, 4), mod(D, 4)), {})
    assert [constant_value(axis.extent) for axis in out.outer] == [6, 4]
    (store,) = out.stages
    assert isinstance(store, Store)
    high, low = (axis.digit for axis in out.outer)
    assert store.value.args == (high, low)
    assert store.target == (add(mul(high, 4), low),)


def test_a_chain_of_divisors_is_cut_at_each() -> None:
    out = refined(nest(24, floordiv(D, 12), mod(floordiv(D, 3), 4), mod(D, 3)), {})
    assert [constant_value(axis.extent) for axis in out.outer] == [2, 4, 3]
    (store,) = out.stages
    assert isinstance(store, Store)
    assert all(arg.op == "digit" for arg in store.value.args)


def test_what_does_not_divide_the_extent_stays() -> None:
    assert len(refined(nest(10, floordiv(D, 4), mod(D, 4)), {}).outer) == 1


def test_a_symbolic_extent_is_cut_where_the_division_is_exact() -> None:
    n = symbol("n")
    axis = Axis(D, mul(n, 4))
    value = load("x", (floordiv(D, 4), mod(D, 4)), "float32")
    out = refined(Nest((axis,), (), (Store("y", (D,), value, False),)), {})
    assert [a.extent for a in out.outer] == [n, index(4)]


def test_the_axis_of_a_scan_is_whole() -> None:
    value = load("x", (floordiv(D, 4), mod(D, 4)), "float32")
    scan = Prefix(("s",), "sum", value, ("float32",))
    assert len(refined(Nest((), (Axis(D, index(8)),), (scan,)), {}).inner) == 1


def test_parts_of_extent_one_are_dropped() -> None:
    axes, value = split_axis(Axis(D, index(4)), [4])
    assert len(axes) == 1 and value is axes[0].digit
