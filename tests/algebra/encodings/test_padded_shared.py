"""Padding: where elements live, and why that is not linear."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algebra.encodings import Cga, PaddedShared
from algebra.errors import EncodingError, NotPowerOfTwoError, OutOfRangeError

POWER = st.integers(0, 4).map(lambda bits: 1 << bits)


@given(st.dictionaries(POWER, POWER, min_size=1, max_size=3))
def test_addresses_are_those_of_a_walk_that_inserts_padding(
    pads: dict[int, int],
) -> None:
    padded = PaddedShared.with_identity(
        intervals=tuple(pads), paddings=tuple(pads.values()), shape=(64,), order=(0,)
    )
    address = 0
    for offset in range(64):
        assert padded.address(offset) == address
        done = offset + 1
        address += 1 + sum(pad for step, pad in pads.items() if done % step == 0)


def test_example_of_the_gluon_manual() -> None:
    padded = PaddedShared(intervals=(2,), paddings=(2,), offset=((2,), (1,)))
    layout = padded.to_linear_layout([4])
    held = {
        padded.address(offset): layout.apply({"offset": offset, "block": 0})["dim0"]
        for offset in range(4)
    }
    assert held == {0: 0, 1: 2, 4: 1, 5: 3}


def test_addresses_are_not_linear() -> None:
    padded = PaddedShared(intervals=(2,), paddings=(1,), offset=((1,), (2,), (4,)))
    assert padded.address(6) != padded.address(2) ^ padded.address(4)


def test_identity_in_any_order() -> None:
    padded = PaddedShared.with_identity(
        intervals=(4,), paddings=(4,), shape=(2, 4), order=(0, 1)
    )
    assert padded.offset == ((1, 0), (0, 1), (0, 2))
    assert padded.to_linear_layout([2, 4]) == padded.padded_linear_layout
    assert padded.rank == 2


def test_split_over_ctas() -> None:
    padded = PaddedShared(
        intervals=(2,), paddings=(1,), offset=((1,), (2,)), block=((4,),)
    )
    assert padded.cga == Cga(bases=((1,),))
    assert padded.shape == (8,)


def test_text() -> None:
    padded = PaddedShared(intervals=(2,), paddings=(1,), offset=((1,),))
    assert eval(repr(padded)) == padded


@pytest.mark.parametrize("offset", [-1, 2])
def test_offsets_outside(offset: int) -> None:
    padded = PaddedShared(intervals=(2,), paddings=(1,), offset=((1,),))
    with pytest.raises(OutOfRangeError, match="0 <= offset < 2"):
        padded.address(offset)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"intervals": (3,)}, NotPowerOfTwoError, "intervals=3"),
        ({"paddings": (1, 2)}, EncodingError, "paddings to have 1 entries"),
        ({"intervals": (), "paddings": ()}, EncodingError, "one interval or more"),
        (
            {"intervals": (2, 2), "paddings": (1, 1)},
            EncodingError,
            "add the paddings of equal intervals",
        ),
    ],
)
def test_parameters_that_do_not_fit(
    changes: dict[str, Any], error: type[Exception], message: str
) -> None:
    given: dict[str, Any] = {"intervals": (2,), "paddings": (1,), "offset": ((1,),)}
    with pytest.raises(error, match=message):
        PaddedShared(**(given | changes))


def test_another_shape() -> None:
    padded = PaddedShared(intervals=(2,), paddings=(1,), offset=((1,),))
    with pytest.raises(EncodingError, match="the layout of one shape"):
        padded.to_linear_layout([4])
