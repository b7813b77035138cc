"""Memory encodings in the spelling of release 3.6."""

import pytest

from algebra.encodings import Cga, TensorMemory, TensorMemoryScales
from algebra.errors import UnsupportedLayoutError
from algebra.ttgir import parse_encoding, print_encoding
from algebra.ttgir.kinds import BUILDERS
from algebra.ttgir.memory_printer import MEMORY_WRITERS


@pytest.mark.parametrize(
    "text",
    [
        "#ttng.tensor_memory_encoding<blockM = 64, blockN = 64, colStride = 1, "
        "CTASplitM = 2, twoCTAs = true>",
        "#ttng.tensor_memory_encoding<blockM = 64, blockN = 64, colStride = 1, "
        "CTASplitM = 2, CTASplitN = 4>",
        "#ttng.tensor_memory_scales_encoding<CTASplitN = 2>",
        "#ttng.tensor_memory_scales_encoding<>",
    ],
)
def test_parts_of_release_3_6(text: str) -> None:
    encoding = parse_encoding(text)
    assert print_encoding(encoding, release="3.6") == text
    assert parse_encoding(print_encoding(encoding)) == encoding


@pytest.mark.parametrize("bases", [((0, 0),), ((0, 1), (1, 0))])
def test_a_split_that_parts_cannot_say(bases: tuple[tuple[int, ...], ...]) -> None:
    split = Cga(bases=bases)
    for encoding in (
        TensorMemoryScales(cga=split),
        TensorMemory(block_m=64, block_n=64, cga=split),
    ):
        assert "CGALayout" in print_encoding(encoding)
        with pytest.raises(UnsupportedLayoutError, match="CTASplitM"):
            print_encoding(encoding, release="3.6")


def test_each_writer_has_its_reader() -> None:
    assert set(MEMORY_WRITERS) <= set(BUILDERS)
