from collections.abc import Callable

import pytest

from algebra.encodings import AmdMfma, AmdWmma, DotOperand
from algebra.layout import LinearLayout
from algebra.verdict import Proved
from proofs.parametric.amd import (
    MFMA_WAYS,
    mfma,
    mfma_operand,
    parametric,
    wmma,
    wmma_operand,
)

TILES = [((m, n), *way) for m, n, ways in MFMA_WAYS for way in ways]


def amd_mfma(
    e: dict[str, int], tile: tuple[int, int], transposed: bool, bits: int
) -> AmdMfma:
    return AmdMfma(
        version=3,
        warps_per_cta=(1 << e["w0"], 1 << e["w1"]),
        instr_shape=(*tile, 8),
        is_transposed=transposed,
        tiles_per_warp=(1 << e["g0"], 1 << e["g1"]),
        element_bit_width=bits,
    )


def shape(e: dict[str, int]) -> list[int]:
    return [1 << e["s0"], 1 << e["s1"]]


@pytest.mark.parametrize(("tile", "transposed", "bits"), TILES)
def test_pieces_of_mfma(
    agrees: Callable[..., int], tile: tuple[int, int], transposed: bool, bits: int
) -> None:
    def build(e: dict[str, int]) -> LinearLayout:
        return amd_mfma(e, tile, transposed, bits).to_linear_layout(shape(e))

    assert agrees(mfma(tile, transposed, bits), build, 30) >= 20


@pytest.mark.parametrize("tile", [(m, n) for m, n, _ in MFMA_WAYS])
@pytest.mark.parametrize("op_idx", [0, 1])
def test_pieces_of_mfma_operands(
    agrees: Callable[..., int], tile: tuple[int, int], op_idx: int
) -> None:
    def build(e: dict[str, int]) -> LinearLayout:
        parent = amd_mfma(e, tile, tile[0] > tile[1], 32)
        held = DotOperand(op_idx=op_idx, parent=parent, k_width=1 << e["k"])
        return held.to_linear_layout(shape(e))

    assert agrees(mfma_operand(tile, op_idx), build, 30) >= 20


def amd_wmma(e: dict[str, int], version: int, transposed: bool, side: int) -> AmdWmma:
    return AmdWmma.from_warps(
        version=version,
        is_transposed=transposed,
        warps_per_cta=(1 << e["w0"], 1 << e["w1"]),
        instr_shape=(side, 16, 16),
    )


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("side", [16, 32])
def test_pieces_of_wmma(
    agrees: Callable[..., int], version: int, transposed: bool, side: int
) -> None:
    if side == 32 and version < 3:
        pytest.skip("32 x 16 came with version 3")

    def build(e: dict[str, int]) -> LinearLayout:
        # upstream has no layout below the instruction's size but for one row
        sizes = [max(size, 32) for size in shape(e)]
        e["s0"], e["s1"] = (size.bit_length() - 1 for size in sizes)
        return amd_wmma(e, version, transposed, side).to_linear_layout(sizes)

    assert agrees(wmma(version, transposed, side), build, 30) >= 20


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("op_idx", [0, 1])
def test_pieces_of_wmma_operands(
    agrees: Callable[..., int], version: int, op_idx: int
) -> None:
    def build(e: dict[str, int]) -> LinearLayout:
        parent = amd_wmma(e, version, False, 16)
        held = DotOperand(op_idx=op_idx, parent=parent, k_width=1 << e["k"])
        return held.to_linear_layout(shape(e))

    assert agrees(wmma_operand(version, op_idx), build, 30) >= 20


def test_all_are_proved() -> None:
    for theorem in parametric():
        assert isinstance(theorem.prove(60), Proved), theorem.name
