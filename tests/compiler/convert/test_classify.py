import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algebra import (
    DimMismatchError,
    LinearLayout,
    NotSolvableError,
    UnsupportedLayoutError,
)
from algebra.encodings import Blocked, DotOperand, NvidiaMma, Slice, SwizzledShared
from compiler.convert import Movement, classify

HOPPER = NvidiaMma(version=(3, 0), warps_per_cta=(4, 1), instr_shape=(16, 64, 16))
AMPERE = NvidiaMma(version=(2, 0), warps_per_cta=(1, 1), instr_shape=(16, 8))
COALESCED = Blocked(
    size_per_thread=(1, 8),
    threads_per_warp=(4, 8),
    warps_per_cta=(4, 1),
    order=(1, 0),
)


def matrix(
    register: list[list[int]],
    lane: list[list[int]],
    warp: list[list[int]] = [],  # noqa: B006
    block: list[list[int]] = [],  # noqa: B006
) -> LinearLayout:
    bases = {"register": register, "lane": lane, "warp": warp, "block": block}
    return LinearLayout.from_bases(bases, ["dim0", "dim1"])


def blocked(*parameters: list[int]) -> Blocked:
    sizes, threads, warps, order = map(tuple, parameters)
    return Blocked(
        size_per_thread=sizes,
        threads_per_warp=threads,
        warps_per_cta=warps,
        order=order,
    )


def operand(parent: NvidiaMma, k_width: int) -> DotOperand:
    return DotOperand(op_idx=0, parent=parent, k_width=k_width)


CASES: dict[str, tuple[LinearLayout, LinearLayout, Movement, int | None]] = {
    "fp16 P of FlashAttention to A operand": (
        HOPPER.to_linear_layout([64, 64]),
        operand(HOPPER, 2).to_linear_layout([64, 64]),
        Movement.NOTHING,
        None,
    ),
    "fp8 P of FlashAttention-3 to A operand": (
        HOPPER.to_linear_layout([64, 64]),
        operand(HOPPER, 4).to_linear_layout([64, 64]),
        Movement.WITHIN_WARP,
        1,
    ),
    "mma.m16n8 C to A operand, fp16": (
        AMPERE.to_linear_layout([16, 16]),
        operand(AMPERE, 2).to_linear_layout([16, 16]),
        Movement.NOTHING,
        None,
    ),
    "wgmma to coalesced": (
        HOPPER.to_linear_layout([64, 64]),
        COALESCED.to_linear_layout([64, 64]),
        Movement.SHARED_MEMORY,
        None,
    ),
    "8-bit transpose, 64 x 64": (
        blocked([1, 16], [8, 4], [4, 1], [1, 0]).to_linear_layout([64, 64]),
        blocked([16, 1], [4, 8], [1, 4], [0, 1]).to_linear_layout([64, 64]),
        Movement.SHARED_MEMORY,
        None,
    ),
    "64-bit 32 x 32 in one warp": (
        matrix(
            [[1 << i, 0] for i in range(5)],
            [[0, 1 << i] for i in range(5)],
        ),
        matrix(
            [[0, 1], *([1 << i, 0] for i in range(4))],
            [*([0, 2 << i] for i in range(4)), [16, 0]],
        ),
        Movement.WITHIN_WARP,
        1,
    ),
    "registers in another order": (
        matrix([[0, 1], [0, 2]], [[1, 0]]),
        matrix([[0, 2], [0, 1]], [[1, 0]]),
        Movement.REGISTERS,
        None,
    ),
    "lanes in another order": (
        matrix([[0, 1]], [[1, 0], [2, 0]]),
        matrix([[0, 1]], [[2, 0], [1, 0]]),
        Movement.WITHIN_WARP,
        0,
    ),
    "32 x 4 with two exchanges": (
        matrix([[0, 1], [0, 2]], [[1 << i, 0] for i in range(5)]),
        matrix([[1, 0], [2, 0]], [[0, 1], [0, 2], [4, 0], [8, 0], [16, 0]]),
        Movement.WITHIN_WARP,
        2,
    ),
    "lanes of copies take from one": (
        matrix([[0, 1]], [[1, 0], [0, 0]]),
        matrix([], [[1, 0], [0, 1]]),
        Movement.WITHIN_WARP,
        1,
    ),
    "a copy stays where it is": (
        matrix([[0, 1]], [[0, 0], [1, 0], [2, 0]]),
        matrix([[0, 1]], [[0, 0], [2, 0], [1, 0]]),
        Movement.WITHIN_WARP,
        0,
    ),
    "lanes that become copies": (
        matrix([], [[1, 0], [0, 1]]),
        matrix([[0, 1]], [[1, 0], [0, 0]]),
        Movement.WITHIN_WARP,
        1,
    ),
    "a swizzle of lanes": (
        matrix([[0, 1]], [[1, 0]]),
        matrix([[0, 1]], [[1, 1]]),
        Movement.WITHIN_WARP,
        None,
    ),
    "blocks in another order": (
        matrix([], [[1, 0]], [], [[2, 0], [0, 1]]),
        matrix([], [[1, 0]], [], [[0, 1], [2, 0]]),
        Movement.ACROSS_BLOCKS,
        None,
    ),
    "registers with copies": (
        matrix([[0, 0], [0, 1]], [[1, 0]]),
        matrix([[0, 1], [0, 0]], [[1, 0]]),
        Movement.NOTHING,
        None,
    ),
    "slices of one parent": (
        Slice(dim=1, parent=COALESCED).to_linear_layout([64]),
        Slice(dim=1, parent=COALESCED).to_linear_layout([64]),
        Movement.NOTHING,
        None,
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_cases(
    case: tuple[LinearLayout, LinearLayout, Movement, int | None],
) -> None:
    src, dst, movement, exchanges = case
    conversion = classify(src, dst)
    assert conversion.movement is movement
    assert conversion.exchanges == exchanges
    assert conversion.layout.compose(conversion.src) == conversion.dst


def test_fp8_p_to_a_operand_is_a_cycle_of_three_columns() -> None:
    src, dst, *_ = CASES["fp8 P of FlashAttention-3 to A operand"]
    moves = {
        dict(move.element)["dim1"]: (*move.sources, move.to)
        for move in classify(src, dst).moves
        if not move.stays and "dim1" in dict(move.element)
    }
    assert moves == {
        2: (("lane", 0), ("register", 1)),
        4: (("lane", 1), ("lane", 0)),
        8: (("register", 2), ("lane", 1)),
    }


def test_unread_bits_select_copies_of_the_source() -> None:
    src, dst, *_ = CASES["lanes of copies take from one"]
    assert classify(src, dst).unread == (("lane", 1),)


def test_out_dims_may_come_in_another_order() -> None:
    src, dst, movement, _ = CASES["wgmma to coalesced"]
    order = list(reversed(dst.out_names))
    assert classify(src, dst.transpose_outs(order)).movement is movement


SHARED = SwizzledShared(vec=1, per_phase=1, max_phase=1, order=(1, 0))
SQUARE = CASES["wgmma to coalesced"][1]
REJECTED = {
    "memory": (
        SHARED.to_linear_layout([64, 64]),
        SQUARE,
        UnsupportedLayoutError,
        "src",
    ),
    "to memory": (
        SQUARE,
        SHARED.to_linear_layout([64, 64]),
        UnsupportedLayoutError,
        "dst",
    ),
    "another shape": (
        SQUARE,
        COALESCED.to_linear_layout([64, 128]),
        DimMismatchError,
        "same tensor",
    ),
    "another number of warps": (
        SQUARE,
        blocked([1, 8], [4, 8], [8, 1], [1, 0]).to_linear_layout([64, 64]),
        DimMismatchError,
        "4 in src and 8 in dst",
    ),
    "an element that src lacks": (
        LinearLayout.from_bases(
            {"register": [], "lane": [[1, 0], [0, 0]]},
            {"dim0": 2, "dim1": 2},
            require_surjective=False,
        ),
        matrix([], [[1, 0], [0, 1]]),
        NotSolvableError,
        "no preimage",
    ),
}


@pytest.mark.parametrize("case", REJECTED.values(), ids=REJECTED)
def test_rejected(
    case: tuple[LinearLayout, LinearLayout, type[Exception], str],
) -> None:
    src, dst, error, text = case
    with pytest.raises(error, match=text):
        classify(src, dst)


@given(st.permutations(range(6)), st.permutations(range(6)))
def test_the_nearest_way_of_permutations(src: list[int], dst: list[int]) -> None:
    """Two register, two lane, one warp and one block bits, in two orders."""
    dims = {"register": 2, "lane": 2, "warp": 1, "block": 1}

    def layout(order: list[int]) -> LinearLayout:
        return LinearLayout.from_columns(dims, {"dim0": 6}, [1 << i for i in order])

    conversion = classify(layout(src), layout(dst))
    expected = (
        Movement.ACROSS_BLOCKS
        if src[5] != dst[5]
        else Movement.SHARED_MEMORY
        if src[4] != dst[4]
        else Movement.WITHIN_WARP
        if src[2:4] != dst[2:4]
        else Movement.REGISTERS
        if src[:2] != dst[:2]
        else Movement.NOTHING
    )
    assert conversion.movement is expected
    if expected is Movement.WITHIN_WARP:
        assert conversion.exchanges == len(set(dst[2:4]) - set(src[2:4]))
    for move in conversion.moves:
        assert len(move.sources) == 1
    assert not conversion.unread


def test_golden_distributed_layouts_convert_to_themselves(repository: Path) -> None:
    path = repository.parent / "shared" / "golden" / "layout_conversions.json"
    if not path.is_file():
        pytest.skip("no golden data beside the checkout")
    cases = [case["expected"] for case in json.loads(path.read_text())["cases"]]
    checked = 0
    for expected in cases:
        bases = expected["in_dims"]
        if not set(bases) <= {"register", "lane", "warp", "block"}:
            continue
        layout = LinearLayout.from_bases(
            bases, dict(expected["out_dims"]), require_surjective=False
        )
        assert classify(layout, layout).movement is Movement.NOTHING
        checked += 1
    assert checked > 50
