"""How many chunks of rows, and which."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.ir.index import constant_value, digit, index
from compiler.ir.node import Axis
from compiler.schedule.row_chunks import (
    LEAST_PROGRAMS,
    LEAST_ROWS,
    PROCESSORS,
    cost,
    cut_rows,
)


def axes(*extents: int) -> list[Axis]:
    return [Axis(digit(f"r{n}"), index(e)) for n, e in enumerate(extents)]


def sizes(made: list[Axis]) -> list[int]:
    return [constant_value(axis.extent) or 0 for axis in made]


@pytest.mark.parametrize(
    ("extents", "shared", "rest"),
    [
        ((8192,), [256], [32]),
        ((16, 512), [16, 16], [32]),
        ((64, 197), [2, 197], [32]),
        ((8, 1024), [8, 32], [32]),
    ],
    ids=str,
)
def test_chunks_of_models(
    extents: tuple[int, ...], shared: list[int], rest: list[int]
) -> None:
    made = cut_rows(axes(*extents))
    assert made is not None
    assert (sizes(made[0]), sizes(made[1])) == (shared, rest)


@pytest.mark.parametrize("extents", [(8191,), (512,), (7, 11, 13)], ids=str)
def test_no_number_of_chunks_is_good(extents: tuple[int, ...]) -> None:
    assert cut_rows(axes(*extents)) is None


@given(st.lists(st.integers(1, 64), min_size=1, max_size=3))
def test_chunks_hold_all_rows(extents: list[int]) -> None:
    made = cut_rows(axes(*extents))
    if made is None:
        return
    shared, rest = math.prod(sizes(made[0])), math.prod(sizes(made[1]))
    assert shared * rest == math.prod(extents)
    assert shared >= LEAST_PROGRAMS and rest >= LEAST_ROWS


def test_whole_waves_cost_least() -> None:
    rows = PROCESSORS * 1024
    assert cost(2 * PROCESSORS, rows) < cost(2 * PROCESSORS + 1, rows)
    assert cost(2 * PROCESSORS, rows) < cost(PROCESSORS, rows)
