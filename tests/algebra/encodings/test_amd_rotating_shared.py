"""Rotating shared memory against the pointwise xor formula."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from algebra.encodings import AmdRotatingShared, Cga

POWER = st.integers(0, 2).map(lambda bits: 1 << bits)


@given(POWER, POWER, POWER)
def test_is_the_pointwise_formula(vec: int, per_phase: int, max_phase: int) -> None:
    rows, columns = 32, 16
    shared = AmdRotatingShared(
        vec=vec, per_phase=per_phase, max_phase=max_phase, order=(1, 0)
    )
    layout = shared.to_linear_layout([rows, columns])
    for row, column in product(range(rows), range(columns)):
        turn = row // per_phase
        phase = turn % max_phase ^ turn // max_phase % max_phase
        expected = (column // vec ^ phase) * vec + column % vec
        got = layout.apply({"offset": row * columns + column, "block": 0})
        assert got == {"dim0": row, "dim1": expected}


def test_ranks_one_and_three() -> None:
    for order, shape in (((0,), [8]), ((2, 1, 0), [4, 8, 2])):
        shared = AmdRotatingShared(vec=1, per_phase=1, max_phase=2, order=order)
        assert shared.rank == len(order)
        assert shared.to_linear_layout(shape).is_invertible


def test_offsets_beyond_the_part_of_a_cta_remain() -> None:
    shared = AmdRotatingShared(
        vec=1, per_phase=1, max_phase=2, order=(1, 0), cga=Cga(bases=((1, 0),))
    )
    layout = shared.to_linear_layout([4, 2])
    assert layout.bases["offset"] == ((0, 1), (1, 1), (0, 1))
    assert layout.bases["block"] == ((2, 0),)
