"""Register kinds: defaults, and what depends on the release that printed them."""

import pytest

from algebra.encodings import AmdMfma, AmdWmma, DotOperand, NvidiaMma
from algebra.errors import ParseError
from algebra.ttgir import parse_encoding
from algebra.ttgir.kinds import BUILDERS
from algebra.ttgir.register_kinds import REGISTER_KINDS

MFMA = (
    "#ttg.amd_mfma<{version = 3, warpsPerCTA = [2, 2], instrShape = [32, 32, 8], "
    "isTransposed = true}>"
)


def test_all_are_registered() -> None:
    assert set(REGISTER_KINDS) <= set(BUILDERS)


def test_mfma_defaults() -> None:
    encoding = parse_encoding(MFMA)
    assert isinstance(encoding, AmdMfma)
    assert encoding.element_bit_width == 32
    assert set(encoding.tiles_per_warp) == {1}


def test_a_major_version_alone_is_enough() -> None:
    text = "versionMajor = 2, warpsPerCTA = [1, 1], instrShape = [16, 8]"
    encoding = parse_encoding(f"#ttg.nvidia_mma<{{{text}}}>")
    assert isinstance(encoding, NvidiaMma)
    assert encoding.version == (2, 0)


def test_the_rank_of_wmma_is_that_of_its_vectors() -> None:
    for fields, rank in (
        ("ctaLayout = {warp = [[0, 0, 1]]}", 3),
        ("ctaLayout = {}, CGALayout = [[1, 0, 0]]", 3),
        ("ctaLayout = {}, rank = 3", 3),
        ("ctaLayout = {}", 2),
    ):
        text = f"#ttg.amd_wmma<{{version = 2, isTranspose = true, {fields}}}>"
        encoding = parse_encoding(text)
        assert isinstance(encoding, AmdWmma)
        assert encoding.rank == rank


def test_wmma_knows_nothing_but_registers_and_warps() -> None:
    text = "#ttg.amd_wmma<{version = 2, isTranspose = true, ctaLayout = {lane = []}}>"
    with pytest.raises(ParseError, match="lane is none of: register, warp"):
        parse_encoding(text)


def test_a_dot_operand_of_a_dot_operand_is_rejected() -> None:
    inner = f"#ttg.dot_op<{{opIdx = 0, parent = {MFMA}, kWidth = 4}}>"
    assert isinstance(parse_encoding(inner), DotOperand)
    with pytest.raises(ParseError, match="parameters that fit together"):
        parse_encoding(f"#ttg.dot_op<{{opIdx = 0, parent = {inner}}}>")


def test_a_linear_encoding_needs_a_basis() -> None:
    with pytest.raises(ParseError, match="at least one basis"):
        parse_encoding("#ttg.linear<{register = [], lane = [], warp = []}>")
