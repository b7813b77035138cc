import pytest

from compiler.convert import Select, Shuffle
from compiler.convert.hardware import Hardware, moved
from compiler.convert.lower import Packing, lower
from compiler.convert.words import Prmt, Selp, Shfl


def kinds(here: Hardware, order: list[int], bits: int) -> dict[type, int]:
    """Count the nodes of a selection that permutes bits."""
    step = Select(moved(here, here, [1 << bit for bit in order]))
    nodes = lower([step], bits).nodes
    return {kind: sum(isinstance(n, kind) for n in nodes) for kind in (Selp, Prmt)}


def test_renaming_is_free() -> None:
    here = Hardware(3, 0, 0, 0)
    assert kinds(here, [1, 2, 0], 32) == {Selp: 0, Prmt: 0}
    assert kinds(here, [0, 2, 1], 16) == {Selp: 0, Prmt: 0}


@pytest.mark.parametrize(
    ("order", "bits", "permutes"),
    [
        ([2, 1, 0, 3], 8, 4),  # one part bit with a word bit
        ([2, 3, 0, 1], 8, 8),  # 4 x 4 bytes transposed in two stages
        ([1, 0, 2, 3], 8, 4),  # within words
        ([1, 0], 16, 2),  # 2 x 2 halves
    ],
)
def test_byte_transposes(order: list[int], bits: int, permutes: int) -> None:
    here = Hardware(len(order), 0, 0, 0)
    assert kinds(here, order, bits) == {Selp: 0, Prmt: permutes}


def test_selections_by_lane_share_their_words() -> None:
    here = Hardware(2, 2, 0, 0)
    step = Select(moved(here, here, [1, 2, 4 | 1, 8 | 2]))
    nodes = lower([step], 32).nodes
    assert sum(isinstance(node, Selp) for node in nodes) == 8


def test_wide_elements_are_words_side_by_side() -> None:
    here = Hardware(1, 1, 0, 0)
    step = Shuffle(moved(here, here, [1 | 2, 2]), 0)
    for bits, words in ((32, 1), (64, 2), (128, 4)):
        program = lower([step], bits)
        assert program.inputs == 2 * words
        assert sum(isinstance(node, Shfl) for node in program.nodes) == words


def test_packing() -> None:
    here = Hardware(3, 5, 0, 0)
    assert [Packing(bits).words(here) for bits in (8, 16, 32, 64)] == [2, 4, 8, 16]
    assert Packing(8).words(Hardware(1, 5, 0, 0)) == 1
    assert Packing(16).part_bytes == 2
