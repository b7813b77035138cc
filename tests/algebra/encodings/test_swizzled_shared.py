"""Swizzled shared memory against the pointwise xor formula."""

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algebra.encodings import Cga, SwizzledShared
from algebra.errors import EncodingError, NotPowerOfTwoError

POWER = st.integers(0, 3).map(lambda bits: 1 << bits)


def place(vec: int, per_phase: int, max_phase: int, row: int, column: int) -> int:
    """Return the column whose element is stored at ``column`` of ``row``."""
    phase = row // per_phase % max_phase
    return ((column // vec) ^ phase) * vec + column % vec


@given(POWER, POWER, POWER, st.permutations(range(2)))
def test_is_the_pointwise_formula(
    vec: int, per_phase: int, max_phase: int, order: list[int]
) -> None:
    rows, columns = 16, 64
    shape = [0, 0]
    shape[order[0]], shape[order[1]] = columns, rows
    shared = SwizzledShared(
        vec=vec, per_phase=per_phase, max_phase=max_phase, order=tuple(order)
    )
    layout = shared.to_linear_layout(shape)
    for row, column in product(range(rows), range(columns)):
        got = layout.apply({"offset": row * columns + column, "block": 0})
        assert got[f"dim{order[1]}"] == row
        expected = place(vec, per_phase, max_phase, row, column)
        assert got[f"dim{order[0]}"] == expected


def shared(**changes: Any) -> SwizzledShared:
    parameters: dict[str, Any] = {
        "vec": 1,
        "per_phase": 1,
        "max_phase": 4,
        "order": (1, 0),
    }
    return SwizzledShared(**(parameters | changes))


@given(
    st.integers(1, 5).flatmap(
        lambda rank: st.tuples(
            st.permutations(range(rank)),
            st.lists(POWER, min_size=rank, max_size=rank),
        )
    )
)
def test_is_a_bijection_for_every_rank(case: tuple[list[int], list[int]]) -> None:
    order, shape = case
    layout = shared(order=tuple(order)).to_linear_layout(shape)
    assert layout.is_invertible


def test_ctas_swizzle_their_own_part() -> None:
    layout = shared(cga=Cga(bases=((0, 1),))).to_linear_layout([4, 8])
    assert layout.bases["offset"] == ((0, 1), (0, 2), (1, 1), (2, 2))
    assert layout.bases["block"] == ((0, 4),)


def test_a_view_has_the_map_of_its_allocation() -> None:
    layout = shared().to_linear_layout([4, 4], alloc_shape=[8, 4])
    assert layout.out_dims == {"dim0": 8, "dim1": 4}


def test_text() -> None:
    assert eval(repr(shared())) == shared()


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"vec": 3}, NotPowerOfTwoError, "vec=3"),
        ({"per_phase": 0}, NotPowerOfTwoError, "per_phase=0"),
        ({"max_phase": "4"}, EncodingError, "max_phase='4'"),
        ({"order": ()}, EncodingError, "order to have 1 entries"),
        ({"order": (1, 1)}, EncodingError, "permutation"),
    ],
)
def test_parameters_that_do_not_fit(
    changes: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        shared(**changes)
