from hypothesis import given
from hypothesis import strategies as st

from algebra.encodings import PaddedShared
from verify.legacy.padded_shared import padded_address

POWERS = st.integers(0, 5).map(lambda bits: 1 << bits)


@given(st.dictionaries(POWERS, POWERS, min_size=1, max_size=3))
def test_the_address_of_the_encoding(pairs: dict[int, int]) -> None:
    encoding = PaddedShared(
        intervals=tuple(pairs),
        paddings=tuple(pairs.values()),
        offset=tuple((1 << bit,) for bit in range(7)),
    )
    addresses = [
        padded_address(offset, list(pairs), list(pairs.values()))
        for offset in range(128)
    ]
    assert addresses == [encoding.address(offset) for offset in range(128)]
    assert addresses == sorted(set(addresses))


def test_no_padding() -> None:
    assert padded_address(7, [], []) == 7
