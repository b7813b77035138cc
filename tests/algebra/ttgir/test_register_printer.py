"""Register encodings in the spelling of release 3.6."""

import pytest

from algebra.encodings import AmdWmma, Cga, CtaLayout
from algebra.errors import UnsupportedLayoutError
from algebra.ttgir import parse_encoding, print_encoding
from algebra.ttgir.kinds import BUILDERS
from algebra.ttgir.register_printer import REGISTER_WRITERS

OLD = [
    "#ttg.amd_wmma<{version = 1, isTranspose = true, warpsPerCTA = [2, 2]}>",
    "#ttg.amd_wmma<{version = 3, isTranspose = false, warpsPerCTA = [4, 1], "
    "CGALayout = [[1, 0]], tilesPerWarp = [2, 1], instrShape = [16, 16, 32]}>",
    "#ttg.amd_wmma<{version = 2, isTranspose = false, warpsPerCTA = [1, 2, 2]}>",
]


@pytest.mark.parametrize("text", OLD)
def test_lists_of_release_3_6(text: str) -> None:
    encoding = parse_encoding(text)
    assert print_encoding(encoding, release="3.6") == text
    assert parse_encoding(print_encoding(encoding)) == encoding


def test_bases_that_lists_cannot_say() -> None:
    order = CtaLayout(warp=((1, 0), (0, 1)))
    encoding = AmdWmma(version=1, is_transposed=True, cta_layout=order)
    assert "warp = [[1, 0], [0, 1]]" in print_encoding(encoding, release="3.7")
    with pytest.raises(UnsupportedLayoutError, match="take a later release"):
        print_encoding(encoding, release="3.6")


def test_the_rank_that_no_vector_says() -> None:
    for cga, rank in ((Cga(), 3), (Cga(), 2), (Cga(bases=((0, 0, 0),)), 3)):
        encoding = AmdWmma(version=1, is_transposed=True, rank=rank, cga=cga)
        text = print_encoding(encoding)
        assert parse_encoding(text) == encoding
        assert ("rank = 3" in text) == (rank == 3 and not cga.bases)


def test_each_writer_has_its_reader() -> None:
    assert set(REGISTER_WRITERS) - set(BUILDERS) == {"dot_operand"}
