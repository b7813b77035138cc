"""Memory kinds: defaults, and what depends on the release that printed them."""

import pytest

from algebra.encodings import NvmmaShared, PaddedShared, SharedLinear, TensorMemory
from algebra.errors import ParseError
from algebra.ttgir import parse_encoding
from algebra.ttgir.kinds import BUILDERS
from algebra.ttgir.memory_kinds import MEMORY_KINDS


def test_all_are_registered() -> None:
    assert set(MEMORY_KINDS) <= set(BUILDERS)


def test_a_leading_offset_cannot_be_read() -> None:
    text = "vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0], hasLeadingOffset = "
    assert parse_encoding(f"#triton_gpu.shared<{{{text}false}}>").rank == 2
    with pytest.raises(ParseError, match=r"write #ttg\.nvmma_shared"):
        parse_encoding(f"#triton_gpu.shared<{{{text}true}}>")


def test_nvmma_defaults() -> None:
    text = "swizzlingByteWidth = 32, transposed = false, elementBitWidth = 16"
    encoding = parse_encoding(f"#ttg.nvmma_shared<{{{text}}}>")
    expected = NvmmaShared(swizzle_byte_width=32, element_bit_width=16)
    assert encoding == expected


def test_both_forms_of_padding_agree() -> None:
    short = parse_encoding(
        "#ttg.padded_shared<[4:+2] {order = [1, 0], shape = [2, 4]}>"
    )
    long = "offset = [[0, 1], [0, 2], [1, 0]], block = []"
    assert isinstance(short, PaddedShared)
    assert parse_encoding(f"#ttg.padded_shared<[4:+2] {{{long}}}>") == short


def test_padding_needs_intervals() -> None:
    with pytest.raises(ParseError, match=r"paddings such as \[32:\+4\]"):
        parse_encoding("#ttg.padded_shared<{order = [1, 0], shape = [2, 4]}>")


def test_the_alignment_has_a_default() -> None:
    encoding = parse_encoding("#ttg.shared_linear<{offset = [[1]]}>")
    assert encoding == SharedLinear(offset=((1,),), alignment=16)


def test_a_split_of_tensor_memory_along_both_dims() -> None:
    text = "blockM = 64, blockN = 64, colStride = 1, CTASplitM = 2, CTASplitN = 4"
    encoding = parse_encoding(f"#ttng.tensor_memory_encoding<{text}>")
    assert isinstance(encoding, TensorMemory)
    assert encoding.cga.bases == ((1, 0), (0, 1), (0, 2))


def test_a_partition_of_registers_is_rejected() -> None:
    piece = "#ttg.linear<{register = [[1]], lane = [], warp = []}>"
    text = (
        f"numPartitions = 2, numGroups = 1, partitionDim = 0, partitionLayout = {piece}"
    )
    with pytest.raises(ParseError, match="partition_layout in shared memory"):
        parse_encoding(f"#ttg.partitioned_shared<{{{text}}}>")
