import pytest
from hypothesis import given
from hypothesis import strategies as st

from algebra.bits import is_power_of_two, log2, parity, set_bits
from algebra.errors import NotPowerOfTwoError


@given(st.integers(0, 2**200))
def test_set_bits_rebuild_the_vector(vector: int) -> None:
    bits = list(set_bits(vector))
    assert sum(1 << bit for bit in bits) == vector
    assert bits == sorted(bits)
    assert parity(vector) == len(bits) % 2


@given(st.integers(0, 300))
def test_log2_undoes_the_power(exponent: int) -> None:
    assert log2(2**exponent) == exponent
    assert is_power_of_two(2**exponent)


@pytest.mark.parametrize("size", [0, -1, 3, 6, 2.0, "4", None])
def test_log2_rejects_what_is_no_power_of_two(size: object) -> None:
    with pytest.raises(NotPowerOfTwoError, match="tile must be a power of two") as info:
        log2(size, what="tile")  # type: ignore[arg-type]  # the point of the test
    assert info.value.facts == {"size": size}
