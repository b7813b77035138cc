"""Whole texts: what Triton prints, what repr prints, dumps, and malformed ones."""

from typing import Any

import pytest

from algebra.encodings import (
    AmdMfma,
    AmdRotatingShared,
    AmdWmma,
    Blocked,
    Cga,
    CtaLayout,
    DotOperand,
    Encoding,
    Linear,
    NvidiaMma,
    NvmmaShared,
    PaddedShared,
    PartitionedShared,
    SharedLinear,
    Slice,
    SwizzledShared,
    TensorMemory,
    TensorMemoryScales,
)
from algebra.errors import ParseError
from algebra.ttgir import parse_encoding

BLOCKED = Blocked(
    size_per_thread=(1, 8),
    threads_per_warp=(4, 8),
    warps_per_cta=(4, 1),
    order=(1, 0),
)
BLOCKED_TEXT = (
    "#ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], "
    "warpsPerCTA = [4, 1], order = [1, 0]}>"
)
MMA = NvidiaMma(version=(2, 0), warps_per_cta=(2, 2), instr_shape=(16, 8))
MMA_TEXT = (
    "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], "
    "instrShape = [16, 8]}>"
)
SWIZZLED = SwizzledShared(vec=8, per_phase=1, max_phase=8, order=(1, 0))
SWIZZLED_TEXT = (
    "#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>"
)

PRINTED: list[tuple[str, Encoding]] = [
    (BLOCKED_TEXT, BLOCKED),
    (
        "#ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], "
        "order = [0], CGALayout = [[1], [0]]}>",
        Blocked(
            size_per_thread=(1,),
            threads_per_warp=(32,),
            warps_per_cta=(4,),
            order=(0,),
            cga=Cga(bases=((1,), (0,))),
        ),
    ),
    (
        f"#ttg.slice<{{dim = 0, parent = {BLOCKED_TEXT}}}>",
        Slice(dim=0, parent=BLOCKED),
    ),
    (
        f"#ttg.dot_op<{{opIdx = 1, parent = {BLOCKED_TEXT}}}>",
        DotOperand(op_idx=1, parent=BLOCKED),
    ),
    (
        f"#ttg.dot_op<{{opIdx = 0, parent = {MMA_TEXT}, kWidth = 2}}>",
        DotOperand(op_idx=0, parent=MMA, k_width=2),
    ),
    (
        "#ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], "
        "CGALayout = [[1, 0]], instrShape = [16, 64, 16]}>",
        NvidiaMma(
            version=(3, 0),
            warps_per_cta=(4, 1),
            instr_shape=(16, 64, 16),
            cga=Cga(bases=((1, 0),)),
        ),
    ),
    (
        "#ttg.amd_mfma<{version = 4, warpsPerCTA = [2, 2], instrShape = [16, 16, 16], "
        "isTransposed = true, tilesPerWarp = [2, 1], elementBitWidth = 64}>",
        AmdMfma(
            version=4,
            warps_per_cta=(2, 2),
            instr_shape=(16, 16, 16),
            is_transposed=True,
            tiles_per_warp=(2, 1),
            element_bit_width=64,
        ),
    ),
    (
        "#ttg.amd_wmma<{version = 3, isTranspose = false, ctaLayout = {register = "
        "[[0, 2]], warp = [[0, 1], [1, 0]]}, CGALayout = [[1, 0]], "
        "instrShape = [16, 16, 32]}>",
        AmdWmma(
            version=3,
            is_transposed=False,
            cta_layout=CtaLayout(register=((0, 2),), warp=((0, 1), (1, 0))),
            instr_shape=(16, 16, 32),
            cga=Cga(bases=((1, 0),)),
        ),
    ),
    (
        "#ttg.amd_wmma<{version = 1, isTranspose = false, ctaLayout = {}}>",
        AmdWmma(version=1, is_transposed=False),
    ),
    (
        "#ttg.linear<{register = [], lane = [[1], [2], [4], [8], [16]], warp = [], "
        "block = []}>",
        Linear(register=(), lane=((1,), (2,), (4,), (8,), (16,)), warp=()),
    ),
    (
        "#ttg.generic_linear<{register = [[0, 1]], lane = [[0, 2], [1, 0]], "
        "warp = [[2, 2]], block = []}>",
        Linear(register=((0, 1),), lane=((0, 2), (1, 0)), warp=((2, 2),)),
    ),
    (SWIZZLED_TEXT, SWIZZLED),
    (
        "#ttg.amd_rotating_shared<{vec = 2, perPhase = 1, maxPhase = 4, "
        "order = [1, 0]}>",
        AmdRotatingShared(vec=2, per_phase=1, max_phase=4, order=(1, 0)),
    ),
    (
        "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, "
        "elementBitWidth = 8, fp4Padded = true}>",
        NvmmaShared(swizzle_byte_width=128, element_bit_width=8, fp4_padded=True),
    ),
    (
        "#ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = true, "
        "elementBitWidth = 16, rank = 3}>",
        NvmmaShared(
            swizzle_byte_width=64, element_bit_width=16, transposed=True, rank=3
        ),
    ),
    (
        "#ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, "
        "elementBitWidth = 16, CGALayout = [[1, 0, 0]]}>",
        NvmmaShared(
            swizzle_byte_width=64,
            element_bit_width=16,
            rank=3,
            cga=Cga(bases=((1, 0, 0),)),
        ),
    ),
    (
        "#ttg.padded_shared<[32:+4, 64:+8] {order = [0, 1], shape = [2, 32]}>",
        PaddedShared.with_identity(
            intervals=(32, 64), paddings=(4, 8), shape=(2, 32), order=(0, 1)
        ),
    ),
    (
        "#ttg.padded_shared<[2:+4] {offset = [[0, 1], [2, 0], [1, 0]], "
        "block = [[4, 0]]}>",
        PaddedShared(
            intervals=(2,),
            paddings=(4,),
            offset=((0, 1), (2, 0), (1, 0)),
            block=((4, 0),),
        ),
    ),
    (
        "#ttg.shared_linear<{offset = [[0, 1], [1, 1]], block = [[2, 0]]}, "
        "alignment = 128>",
        SharedLinear(offset=((0, 1), (1, 1)), block=((2, 0),), alignment=128),
    ),
    (
        "#ttg.partitioned_shared<{numPartitions = 2, numGroups = 4, "
        f"partitionDim = 0, partitionLayout = {SWIZZLED_TEXT}}}>",
        PartitionedShared(
            num_partitions=2, num_groups=4, partition_dim=0, partition_layout=SWIZZLED
        ),
    ),
    (
        "#ttng.tensor_memory_encoding<blockM = 64, blockN = 32, colStride = 2, "
        "CGALayout = [[1, 0]], twoCTAs = true>",
        TensorMemory(
            block_m=64,
            block_n=32,
            col_stride=2,
            two_ctas=True,
            cga=Cga(bases=((1, 0),)),
        ),
    ),
    (
        "#ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1, "
        "fp4Padded = true>",
        TensorMemory(block_m=128, block_n=64, fp4_padded=True),
    ),
    ("#ttng.tensor_memory_scales_encoding<>", TensorMemoryScales()),
    (
        "#ttng.tensor_memory_scales_encoding<CGALayout = [[1, 0]]>",
        TensorMemoryScales(cga=Cga(bases=((1, 0),))),
    ),
]
"""Texts as the wheels 3.7.1 to 3.9.0 print them."""

OLDER: list[tuple[str, Encoding]] = [
    (
        "#triton_gpu.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], "
        "warpsPerCTA = [4, 1], order = [1, 0], CTAsPerCGA = [1, 1], "
        "CTASplitNum = [1, 1], CTAOrder = [1, 0]}>",
        BLOCKED,
    ),
    (
        "#triton_gpu.nvidia_mma<{versionMajor = 2, versionMinor = 0, "
        "warpsPerCTA = [2, 2], CTAsPerCGA = [2, 1], CTASplitNum = [2, 1], "
        "CTAOrder = [0, 1], instrShape = [16, 8]}>",
        NvidiaMma(
            version=(2, 0),
            warps_per_cta=(2, 2),
            instr_shape=(16, 8),
            cga=Cga(bases=((1, 0),)),
        ),
    ),
    (
        "#triton_gpu.shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0], "
        "hasLeadingOffset = false}>",
        SWIZZLED,
    ),
    (
        "#ttg.amd_mfma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [2, 2], "
        "instrShape = [32, 32, 8], isTransposed = false}>",
        AmdMfma(
            version=3,
            warps_per_cta=(2, 2),
            instr_shape=(32, 32, 8),
            is_transposed=False,
        ),
    ),
    (
        "#ttg.amd_wmma<{version = 1, isTranspose = true, warpsPerCTA = [2, 2]}>",
        AmdWmma.from_warps(version=1, is_transposed=True, warps_per_cta=(2, 2)),
    ),
    (
        "#ttg.amd_wmma<{version = 3, isTransposed = false, warpsPerCTA = [1, 2, 2], "
        "tilesPerWarp = [1, 2, 1], instrShape = [16, 16, 32]}>",
        AmdWmma.from_warps(
            version=3,
            is_transposed=False,
            warps_per_cta=(1, 2, 2),
            tiles_per_warp=(1, 2, 1),
            instr_shape=(16, 16, 32),
        ),
    ),
    (
        "#ttng.tensor_memory_encoding<blockM = 64, blockN = 64, colStride = 1, "
        "CTASplitM = 2, twoCTAs = true>",
        TensorMemory(block_m=64, block_n=64, two_ctas=True, cga=Cga(bases=((1, 0),))),
    ),
    (
        "#ttng.tensor_memory_scales_encoding<CTASplitN = 2>",
        TensorMemoryScales(cga=Cga(bases=((0, 1),))),
    ),
]
"""Texts of release 3.6 and before."""


@pytest.mark.parametrize(("text", "encoding"), PRINTED + OLDER)
def test_what_triton_prints_is_read(text: str, encoding: Encoding) -> None:
    assert parse_encoding(text) == encoding


@pytest.mark.parametrize("encoding", [encoding for _, encoding in PRINTED + OLDER])
def test_what_repr_prints_is_read(encoding: Encoding) -> None:
    assert parse_encoding(repr(encoding)) == encoding


def test_blanks_do_not_matter() -> None:
    spread = BLOCKED_TEXT.replace(" ", "\n\t ").replace("{", " {\n // comment\n")
    assert parse_encoding(f"\n {spread} // the end") == BLOCKED
    assert parse_encoding(BLOCKED_TEXT.replace(" ", "")) == BLOCKED


def test_the_header_of_a_dump_gives_its_last_encoding() -> None:
    dump = f"""
    // -----// IR Dump After TritonGPUCoalesce //----- //
    #blocked = {BLOCKED_TEXT}
    #blocked1 = #ttg.slice<{{dim = 1, parent = #blocked}}>
    #loc = loc("kernel.py":3:0)
    #mma = {MMA_TEXT}
    #mma1 = #ttg.dot_op<{{opIdx = 0, parent = #mma, kWidth = 2}}>
    #smem = #ttg.shared_memory
    #tmem = #ttng.tensor_memory
    module attributes {{"ttg.num-ctas" = 1 : i32, ttg.target = "cuda:90"}} {{
      tt.func public @f(%a: !tt.ptr<f16> loc("k"(#loc))) attributes {{x = false}} {{
        %0 = ttg.convert_layout %1 : tensor<64x64xf16, #mma> -> tensor<64x64xf16, #b>
        %2 = arith.constant dense<1.000000e+00> : tensor<4xf32, #blocked>
      }}
    }}
    """
    assert parse_encoding(dump) == DotOperand(op_idx=0, parent=MMA, k_width=2)


def test_the_last_of_several_is_returned() -> None:
    assert parse_encoding(f"#x = {BLOCKED_TEXT}\n#y = {MMA_TEXT}") == MMA
    assert parse_encoding(f"#x = {BLOCKED_TEXT}\n#y = {MMA_TEXT}\n#x") == BLOCKED


@pytest.mark.parametrize(
    "text", ["", "  \n", "// nothing", "#smem = #ttg.shared_memory"]
)
def test_a_text_without_an_encoding_is_rejected(text: str) -> None:
    with pytest.raises(ParseError, match="expected an encoding, came a text without"):
        parse_encoding(text)


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("#ttg.bloked<{}>", 1, 1, "known after #ttg. or #ttng.: amd_mfma"),
        ("#gluon.blocked<{}>", 1, 1, "an encoding of a known kind"),
        ("#ttg.blocked", 1, 1, "a parameter sizePerThread"),
        ("\n #ttg.slice<{dim = 0}>", 2, 2, "a parameter parent"),
        (
            BLOCKED_TEXT.replace("order", "ordre"),
            1,
            1,
            "expected a parameter order in #ttg.blocked<...>, came only: sizePerThread",
        ),
        (
            BLOCKED_TEXT.replace("[1, 0]}", "[1, 0], size = 4}"),
            1,
            102,
            "size is none of: sizePerThread",
        ),
        (BLOCKED_TEXT.replace("[1, 0]", "[1, 1]"), 1, 1, "to be a permutation"),
        (BLOCKED_TEXT.replace("[4, 8]", "[4, 6]"), 1, 1, "to be a power of two"),
        (BLOCKED_TEXT.replace("[4, 8]", "4"), 1, 56, "a list of integers for threads"),
        ("#ttg.slice<{dim = 0, parent = #b}>", 1, 31, "an alias that is defined above"),
        ("tensor<4xf32, #ttg.blocked<{}>>", 1, 1, "an attribute such as"),
        ("Blocked(", 1, 8, "a call such as Blocked(...)"),
        ("Bloked(order=1)", 1, 1, "expected one of AmdMfma"),
    ],
)
def test_malformed(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_encoding(text)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"line {line}, column {column}: expected")
    assert (caught.value.facts["line"], caught.value.facts["column"]) == (line, column)


@pytest.mark.parametrize("text", [None, 3, b"#ttg.blocked<{}>", ["#ttg.blocked<{}>"]])
def test_what_is_no_text(text: Any) -> None:
    with pytest.raises(ParseError, match="parse_encoding needs a text, got"):
        parse_encoding(text)
