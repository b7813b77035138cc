import numpy as np

from compiler.cost.access import LINE_BYTES, access_cost, sectors, span


def test_sectors_are_distinct_within_an_instruction() -> None:
    row = np.arange(32)
    assert sectors(row[None, :] * 4) == 4
    assert sectors(row[None, :] * 128) == 32
    assert sectors(np.zeros((3, 32), np.int64)) == 3


def test_cost_grows_with_both() -> None:
    assert access_cost(2, 4) > access_cost(1, 4) > access_cost(1, 2) > 0


def test_whole_lines_cost_less_than_their_halves() -> None:
    whole, halves = (
        np.arange(32) * 16,
        np.arange(32) % 4 * 16 + np.arange(32) // 4 * 4096,
    )
    for addresses, lines in ((whole, 4), (halves, 8)):
        assert sectors(addresses[None, :], 32) == 16
        assert sectors(addresses[None, :], LINE_BYTES) == lines
    assert access_cost(1, 16, 4) < access_cost(1, 16, 8) < access_cost(1, 17, 4)


def test_span_is_linear() -> None:
    found = span([1, 6, 8])
    assert all(found[a ^ b] == found[a] ^ found[b] for a in range(8) for b in range(8))
