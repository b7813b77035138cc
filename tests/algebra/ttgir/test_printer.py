"""Printing: character by character what the wheels print."""

import pytest

from algebra.encodings import ShmemRegToReg
from algebra.errors import EncodingError, UnsupportedLayoutError
from algebra.ttgir import parse_encoding, print_encoding
from algebra.ttgir.printer import WRITERS

MMA = (
    "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], "
    "instrShape = [16, 8]}>"
)
SWIZZLED = "#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>"
TEXTS = [
    MMA,
    SWIZZLED,
    f"#ttg.dot_op<{{opIdx = 0, parent = {MMA}, kWidth = 2}}>",
    f"#ttg.slice<{{dim = 1, parent = {MMA}}}>",
    "#ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], "
    "warpsPerCTA = [4, 1], order = [1, 0], CGALayout = [[1, 0], [0, 1]]}>",
    "#ttg.amd_mfma<{version = 3, warpsPerCTA = [2, 2], instrShape = [32, 32, 8], "
    "isTransposed = true, CGALayout = [[1, 0]], tilesPerWarp = [2, 1], "
    "elementBitWidth = 64}>",
    "#ttg.amd_wmma<{version = 1, isTranspose = false, ctaLayout = {}}>",
    "#ttg.amd_wmma<{version = 3, isTranspose = false, ctaLayout = {register = "
    "[[0, 2]], warp = [[0, 1], [1, 0]]}, CGALayout = [[1, 0]], "
    "instrShape = [16, 16, 32]}>",
    "#ttg.linear<{register = [[0, 1], [0, 0]], lane = [[1, 0]], warp = [], "
    "block = [[2, 0]]}>",
    "#ttg.generic_linear<{register = [], lane = [[0, 1], [1, 0]], warp = [[2, 1]], "
    "block = []}>",
    "#ttg.generic_linear<{register = [], lane = [[0, 1], [1, 0]], warp = [[0, 1]], "
    "block = []}>",
    "#ttg.amd_rotating_shared<{vec = 2, perPhase = 1, maxPhase = 4, order = [1, 0]}>",
    "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, "
    "elementBitWidth = 8, fp4Padded = true}>",
    "#ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = true, "
    "elementBitWidth = 16, rank = 3}>",
    "#ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, "
    "elementBitWidth = 16, CGALayout = [[1, 0, 0]]}>",
    "#ttg.padded_shared<[32:+4, 64:+8] {order = [0, 1], shape = [2, 32]}>",
    "#ttg.padded_shared<[32:+4] {order = [1, 0], shape = [1, 4]}>",
    "#ttg.padded_shared<[2:+4] {offset = [[0, 1], [2, 0], [1, 0]], block = []}>",
    "#ttg.shared_linear<{offset = [[0, 1], [1, 1]]}, alignment = 16>",
    "#ttg.shared_linear<{offset = [[0, 1], [1, 1]], block = [[2, 0]]}, "
    "alignment = 128>",
    "#ttg.partitioned_shared<{numPartitions = 2, numGroups = 4, partitionDim = 0, "
    f"partitionLayout = {SWIZZLED}}}>",
    "#ttng.tensor_memory_encoding<blockM = 64, blockN = 32, colStride = 1, "
    "CGALayout = [[1, 0]], twoCTAs = true, fp4Padded = true>",
    "#ttg.amd_mfma<{version = 3, warpsPerCTA = [2, 2], instrShape = [32, 32, 8], "
    "isTransposed = false}>",
    "#ttng.tensor_memory_scales_encoding<>",
]


@pytest.mark.parametrize("text", TEXTS)
def test_print_undoes_parse(text: str) -> None:
    assert print_encoding(parse_encoding(text)) == text


def test_what_has_no_attribute_is_rejected() -> None:
    encoding = ShmemRegToReg(tensor_shape=(64,), rep_shape=(64,), order=(0,))
    assert encoding.kind not in WRITERS
    with pytest.raises(UnsupportedLayoutError, match="got shmem_reg_to_reg"):
        print_encoding(encoding)


def test_an_unknown_release_is_rejected() -> None:
    with pytest.raises(EncodingError, match="release"):
        print_encoding(parse_encoding(MMA), release="2.0")
