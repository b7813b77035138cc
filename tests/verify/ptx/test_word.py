import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from verify.ptx.word import (
    Word,
    codes_of,
    constant,
    from_codes,
    number,
    predicate,
    unknown,
)


@given(st.sampled_from([8, 16, 32, 64]), st.integers(-(1 << 63), (1 << 64) - 1))
def test_numbers_go_through_codes(bits: int, value: int) -> None:
    word = constant(bits, value, 3)
    assert word.numbers.tolist() == [value % (1 << bits)] * 3
    back = from_codes(codes_of(word))
    assert back.is_number
    assert back.bits == bits
    assert back.numbers.tolist() == word.numbers.tolist()


@given(st.sampled_from([8, 16, 32, 64]), st.integers(0, (1 << 64) - 1))
def test_signed(bits: int, value: int) -> None:
    low = value % (1 << bits)
    expected = low - (1 << bits) if low >> (bits - 1) else low
    assert constant(bits, value, 1).signed.tolist() == [expected]


def test_negative_numbers_are_cut() -> None:
    assert number(32, np.array([-1])).numbers.tolist() == [0xFFFFFFFF]


def test_data_keeps_its_codes() -> None:
    word = from_codes(np.array([[5, -3], [-1, -1]], np.int32))
    assert not word.is_number
    assert word.numbers.tolist() == [0x0200, 0]
    assert codes_of(word, 1).tolist() == [[5], [-1]]


def test_a_pointer_is_no_number() -> None:
    assert not Word(64, np.zeros(1, np.uint64), None, "input").is_number


def test_predicates() -> None:
    word = predicate(np.array([True, False]))
    assert (word.bits, word.numbers.tolist()) == (1, [1, 0])
    assert codes_of(word).tolist() == [[-2], [-1]]


def test_unknown_words() -> None:
    assert codes_of(unknown(32, -300, 2)).tolist() == [[-300] * 4] * 2
    assert codes_of(unknown(1, -300, 2)).tolist() == [[-300]] * 2
