"""Layouts given by their bases."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algebra.encodings import Blocked, Cga, Linear, SharedLinear
from algebra.encodings.linear import block_split, clip, reach
from algebra.errors import EncodingError, NotPowerOfTwoError, NotSurjectiveError

POWER = st.sampled_from([1, 2, 4])


@given(POWER, POWER, POWER, POWER)
def test_bases_of_a_blocked_layout_say_the_same(
    thread: int, lanes: int, rows: int, columns: int
) -> None:
    blocked = Blocked(
        size_per_thread=(1, thread),
        threads_per_warp=(lanes, 2),
        warps_per_cta=(2, 1),
        order=(1, 0),
    )
    layout = blocked.to_linear_layout([rows, columns])
    linear = Linear(**layout.bases, shape=(rows, columns))
    assert linear.to_linear_layout([rows, columns]) == layout


def linear() -> Linear:
    return Linear(
        register=((0, 1), (0, 0)),
        lane=((1, 0), (2, 0), (4, 0), (0, 2), (0, 0)),
        warp=((0, 0),),
    )


def test_a_larger_shape_takes_registers() -> None:
    bases = linear().to_linear_layout([16, 16]).bases
    assert bases["register"] == ((0, 1), (0, 0), (0, 4), (0, 8), (8, 0))
    assert bases["lane"] == linear().lane


def test_a_smaller_shape_drops_registers_that_become_zero() -> None:
    bases = linear().to_linear_layout([4, 1]).bases
    assert bases["register"] == ((0, 0),)
    assert bases["lane"] == ((1, 0), (2, 0), (0, 0), (0, 0), (0, 0))


def test_shape_and_split_are_what_the_bases_reach() -> None:
    split = Linear(register=(), lane=((1,), (2,)), warp=(), block=((4,), (0,)))
    assert split.shape == (8,)
    assert split.cga == Cga(bases=((1,), (0,)))
    shared = SharedLinear(offset=((1,),), block=((2,),))
    assert shared.shape == (4,)
    assert shared.cga == Cga(bases=((1,),))
    assert block_split(((1,),), (), 1) == Cga(bases=((1,),))


def test_shared_may_swizzle() -> None:
    shared = SharedLinear(offset=((0, 1), (1, 1)), alignment=128)
    layout = shared.to_linear_layout([2, 2])
    assert layout.is_invertible
    assert shared.to_linear_layout([1, 1], alloc_shape=[2, 2]) == layout
    assert shared.rank == 2


def test_shared_has_one_shape() -> None:
    with pytest.raises(EncodingError, match=r"the layout of one shape, \[2\]"):
        SharedLinear(offset=((1,),)).to_linear_layout([4])


def test_text() -> None:
    shared = SharedLinear(offset=((1,),))
    assert eval(repr(linear())) == linear()
    assert eval(repr(shared)) == shared


def test_pieces() -> None:
    assert reach(((1, 0), (2, 4))) == (4, 8)
    assert clip((1, 4), (4, 4)) == (1, 0)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"register": ((0, 4),)}, NotSurjectiveError, "dim0|dim1"),
        ({"register": ((1,),)}, EncodingError, "lane to have 1 entries"),
        ({"register": ((0, -1),)}, EncodingError, "register=-1"),
        ({"register": 3}, EncodingError, "a list of vectors"),
        ({"shape": (8, 3)}, NotPowerOfTwoError, "shape=3"),
    ],
)
def test_bases_that_do_not_fit(
    changes: dict[str, Any], error: type[Exception], message: str
) -> None:
    given: dict[str, Any] = {
        "register": linear().register,
        "lane": linear().lane,
        "warp": linear().warp,
    }
    with pytest.raises(error, match=message):
        Linear(**(given | changes))


def test_no_basis_needs_a_shape() -> None:
    with pytest.raises(EncodingError, match="give the shape"):
        Linear(register=(), lane=(), warp=())
    one = Linear(register=(), lane=(), warp=(), shape=(1,))
    assert one.to_linear_layout([2]).bases["register"] == ((1,),)
    with pytest.raises(EncodingError, match="rank"):
        Linear(register=((),), lane=(), warp=())


def test_alignment_of_shared_memory() -> None:
    with pytest.raises(NotPowerOfTwoError, match="alignment=12"):
        SharedLinear(offset=((1,),), alignment=12)
