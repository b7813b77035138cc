from collections.abc import Callable

import pytest

from algebra.errors import ArgumentError
from verify.checking.arguments import Buffer, Scalar
from verify.checking.setting import (
    Setting,
    assumed,
    memory_of,
    multiple_of,
    placed,
    renamed,
    scalar_names,
    solved,
)
from verify.symbolic.terms import add, constant, equal, less, symbol
from verify.symbolic.walk import value_at

NAMES = scalar_names(
    {"M": Scalar("i32", 0), "N": Scalar("i32", 0), "s": Scalar("i32")}, {"B": 8}
)


def test_names_are_scalars_and_constants() -> None:
    assert NAMES["B"] is constant(8) and NAMES["M"].low == 0


def test_sizes_of_memory() -> None:
    dense = memory_of("x", Buffer("fp32", ("M", "N")), NAMES)
    values = {NAMES["M"]: 3, NAMES["N"]: 5, NAMES["s"]: 9}
    assert value_at(dense.size, values) == 15 and dense.dense
    strided = memory_of("x", Buffer("fp32", ("M", "N"), strides=("s", 1)), NAMES)
    assert value_at(strided.size, values) == 1 + 2 * 9 + 4
    assert value_at(strided.size, {**values, NAMES["M"]: 0}) == 0
    with pytest.raises(ArgumentError, match="a stride for each"):
        memory_of("x", Buffer("fp32", ("M", "N"), strides=(1,)), NAMES)


def test_equations_are_put_in() -> None:
    names, promised = solved(NAMES, ("s == N", "M % 16 == 0"))
    assert names["s"] is names["N"]
    assert value_at(names["M"], {symbol("M/16", 0, (2**31 - 1) // 16): 3}) == 48
    assert promised and all(term.sort == "bool" for term in promised)
    assert multiple_of(symbol("k", 3, 70), 16).low == 16


def test_conditions_must_be_conditions() -> None:
    with pytest.raises(ArgumentError, match="write a comparison"):
        assumed(NAMES, {}, ("M + 1",))
    facts, texts = assumed(NAMES, {}, ("M < 9",))
    assert len(facts) == 1 and texts == ["M < 9"]


def test_questions_know_the_launch(
    settings: Callable[..., Setting], copy_text: str
) -> None:
    one = settings(copy_text)
    pid = one.program.pids["x"]
    n = one.names["n"]
    assert one.ask([equal(n, constant(64)), less(constant(0), pid)]) is False
    assert isinstance(one.ask([equal(n, constant(65)), less(constant(0), pid)]), dict)
    assert placed(one.program.accesses[0])[0][0] == "x"
    assert one.line(15) == "line 15" and one.line(999) == ""
    assert one.shared >= {n}


def test_copies_have_new_names_but_for_what_is_shared() -> None:
    pid, size = symbol("pid_x", 0, 9), symbol("n")
    (copy,), to = renamed([add(pid, size)], [size])
    assert to == {pid: symbol("pid_x'", 0, 9)}
    assert copy is add(symbol("pid_x'", 0, 9), size)
