import re

import pytest

from algebra import LinearLayout
from compiler.convert import Movement, classify, explain
from compiler.convert.explain import SUMMARIES, cycles

IDENTITY = LinearLayout.from_bases(
    {"register": [[1], [2]], "lane": [[4], [8]], "warp": [[16]], "block": [[32]]},
    ["dim0"],
)


def test_every_movement_has_its_words() -> None:
    assert set(SUMMARIES) == set(Movement)
    for movement, text in SUMMARIES.items():
        assert text.startswith(movement.value)


def test_a_no_op_says_what_stays() -> None:
    lines = explain(IDENTITY, IDENTITY).splitlines()
    assert lines[0] == SUMMARIES[Movement.NOTHING]
    assert lines[1] == "stays:"
    assert lines[2] == "  dim0 +1: register bit 0"
    assert "moves:" not in lines


def test_each_bit_is_named_once() -> None:
    dst = LinearLayout.from_bases(
        {"register": [[4], [2]], "lane": [[8], [16]], "warp": [[1]], "block": [[32]]},
        ["dim0"],
    )
    text = explain(IDENTITY, dst)
    assert sorted(map(int, re.findall(r"dim0 \+(\d+)", text))) == [1, 2, 4, 8, 16, 32]
    assert (
        "cycle: lane bit 0 -> register bit 0 -> warp bit 0 -> lane bit 1 -> lane bit 0"
        in text
    )


def test_copies_and_bits_that_nobody_reads() -> None:
    src = LinearLayout.from_bases({"register": [[1]], "lane": [[2], [0]]}, ["dim0"])
    dst = LinearLayout.from_bases({"register": [[2]], "lane": [[0], [1]]}, ["dim0"])
    text = explain(src, dst)
    assert "copies in dst: lane bit 0" in text
    assert "not read in src: lane bit 1" in text


def test_a_bit_with_two_sources_is_an_xor_and_on_no_cycle() -> None:
    src = LinearLayout.from_bases({"register": [[1]], "lane": [[2]]}, ["dim0"])
    dst = LinearLayout.from_bases({"register": [[1]], "lane": [[3]]}, ["dim0"])
    assert "  dim0 +3: register bit 0 xor lane bit 0 -> lane bit 0" in explain(src, dst)
    assert cycles(classify(src, dst)) == []


def test_a_way_that_ends_is_no_cycle() -> None:
    src = LinearLayout.from_bases({"register": [[1]], "lane": [[2], [0]]}, ["dim0"])
    dst = LinearLayout.from_bases({"register": [[1]], "lane": [[0], [2]]}, ["dim0"])
    assert cycles(classify(src, dst)) == []


@pytest.mark.parametrize(("count", "words"), [(1, "1 lane bit becomes"), (2, "2 lane")])
def test_exchanges_are_counted(count: int, words: str) -> None:
    src = LinearLayout.identity_1d(1 << count, "register", "dim0")
    src *= LinearLayout.identity_1d(1 << count, "lane", "dim0")
    dst = LinearLayout.identity_1d(1 << count, "lane", "dim0")
    dst *= LinearLayout.identity_1d(1 << count, "register", "dim0")
    assert words in explain(src, dst)


def test_dims_come_in_order_and_by_name() -> None:
    diagonal = LinearLayout.from_bases(
        {"register": [[1, 1], [1, 0]], "lane": []}, ["dim1", "dim0"]
    )
    assert "dim0 +1 dim1 +1: register bit 0" in explain(diagonal, diagonal)
    named = LinearLayout.identity_1d(2, "register", "x")
    assert "x +1: register bit 0" in explain(named, named)
