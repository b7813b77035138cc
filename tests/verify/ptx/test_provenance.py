import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify.ptx.provenance import Codes, Provenance


def codes(*values: int) -> Codes:
    return np.array(values, np.int32)


def value(table: Provenance, code: int, contents: bytes) -> int:
    """Evaluate a code on a concrete input."""
    if code < 0:
        return -1 - code
    if code <= table.size:
        return contents[code - 1]
    parts, constant = table._combinations[code - table.size - 1]
    for part in parts:
        constant ^= contents[part - 1]
    return constant


@given(st.lists(st.integers(-256, 4).filter(bool), min_size=1, max_size=6))
def test_xor_is_what_bytes_do(terms: list[int]) -> None:
    table = Provenance(4)
    total = codes(-1)
    for term in terms:
        total = table.xor(total, codes(term))
    contents = bytes([0x35, 0x9A, 0x01, 0xF0])
    expected = 0
    for term in terms:
        expected ^= value(table, term, contents)
    assert value(table, int(total[0]), contents) == expected


def test_equal_expressions_have_equal_codes() -> None:
    table = Provenance(4)
    a, b, c = codes(1), codes(2), codes(3)
    left = table.xor(table.xor(a, b), c)
    right = table.xor(c, table.xor(b, a))
    assert left.tolist() == right.tolist()
    assert table.xor(left, right).tolist() == [-1]


@pytest.mark.parametrize("a", [-1, -256, -16, 2])
@pytest.mark.parametrize("b", [-1, -256, -16, 2])
def test_and_and_or_of_whole_bytes(a: int, b: int) -> None:
    table = Provenance(4)
    contents = bytes([0, 0x5A, 0, 0])
    for rule, operation in [
        (table.conjunction, int.__and__),
        (table.disjunction, int.__or__),
    ]:
        found = int(rule(codes(a), codes(b))[0])
        if {a, b} == {-16, 2}:
            assert "within a byte" in table.reason(found)
        else:
            x, y = value(table, a, contents), value(table, b, contents)
            assert value(table, found, contents) == operation(x, y)


def test_what_is_not_known_stays_so() -> None:
    table = Provenance(4)
    lost = codes(table.unknown("lost"))
    for rule in (table.xor, table.conjunction, table.disjunction):
        assert table.reason(int(rule(lost, codes(2))[0])) == "lost"
        assert table.reason(int(rule(codes(2), lost)[0])) == "lost"
    assert table.conjunction(lost, codes(-1)).tolist() == [-1]


def test_undefined_bytes() -> None:
    table = Provenance(4)
    assert table.is_undefined(table.unknown("nothing there", undefined=True))
    assert not table.is_undefined(table.unknown("odd"))


def test_descriptions() -> None:
    table = Provenance(8)
    both = int(table.xor(table.xor(codes(1), codes(7)), codes(-4))[0])
    assert table.describe(0, 4) == "nothing"
    assert table.describe(-256, 4) == "constant 0xff"
    assert table.describe(6, 4) == "byte 1 of element 1"
    assert (
        table.describe(both, 4)
        == "byte 0 of element 0 xor byte 2 of element 1 xor 0x03"
    )
    assert table.describe(table.unknown("why"), 4) == "unknown (why)"
