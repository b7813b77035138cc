"""Both sides of each theorem of ``bits.v``, on random instances."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from algebra import LinearLayout, bits
from algebra.cute import CuteLayout, from_cute
from algebra.errors import UnsupportedLayoutError
from algebra.why_not_linear import NotAffine, why_not_linear

LAW = settings(max_examples=50)
NUMBERS = st.integers(0, 1 << 70)
EXPONENTS = st.integers(0, 40)


@LAW
@given(NUMBERS, EXPONENTS)
def test_division_by_a_power_of_two_is_a_shift(x: int, k: int) -> None:
    assert bits.log2(1 << k) == k
    assert x // 2**k == x >> k


@LAW
@given(NUMBERS, EXPONENTS)
def test_remainder_by_a_power_of_two_is_a_mask(x: int, k: int) -> None:
    assert x % 2**k == x & (1 << bits.log2(2**k)) - 1


@LAW
@given(st.integers(0, 31), st.integers(0, 5))
def test_product_with_a_power_of_two_is_a_shift(x: int, k: int) -> None:
    layout = LinearLayout.strided_1d(32, 1 << k, "x", "y")
    assert layout.apply({"x": x})["y"] == x * 2**k == x << k


@LAW
@given(st.integers(0, 63), st.integers(0, 63))
def test_sum_is_xor_iff_no_bit_is_shared(x: int, y: int) -> None:
    assert (x + y == x ^ y) == (x & y == 0)
    found = why_not_linear([0, x, y, x + y], 2)
    assert isinstance(found, NotAffine) == (x & y != 0)


@LAW
@given(st.integers(0, 255), st.integers(0, 8))
def test_high_and_low_digits_make_the_index(x: int, k: int) -> None:
    digits = LinearLayout.identity_1d(256, "x", "y").reshape_outs(
        {"low": 1 << k, "high": 256 >> k}
    )
    image = digits.apply({"x": x})
    assert image == {"low": x & (1 << k) - 1, "high": x >> k}
    assert image["high"] << k ^ image["low"] == x


@LAW
@given(st.lists(st.integers(0, 12), max_size=4))
def test_strides_are_linear_iff_nothing_carries(strides: list[int]) -> None:
    def strided(x: int) -> int:
        return sum(s for i, s in enumerate(strides) if x >> i & 1)

    size = 1 << len(strides)
    linear = all(
        strided(x ^ y) == strided(x) ^ strided(y)
        for x in range(size)
        for y in range(size)
    )
    rest = [
        sum(s for i, s in enumerate(strides) if x >> i & 1 and i > k)
        for k in range(len(strides))
        for x in range(size)
    ]
    firsts = [s for s in strides for _ in range(size)]
    nothing_carries = all(s & r == 0 for s, r in zip(firsts, rest, strict=True))
    assert linear == nothing_carries
    cute = CuteLayout((2,) * len(strides), tuple(strides))
    if linear:
        layout = from_cute(cute)
        assert [layout.apply_index(x) for x in range(size)] == [
            strided(x) for x in range(size)
        ]
    else:
        with pytest.raises(UnsupportedLayoutError):
            from_cute(cute)
