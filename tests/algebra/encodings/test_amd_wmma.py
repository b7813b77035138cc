"""AMD's WMMA fragments, and the two spellings of where instructions go."""

from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from algebra.encodings import AmdWmma, Cga, CtaLayout, DotOperand, from_dict
from algebra.errors import EncodingError, NotPowerOfTwoError, UnsupportedLayoutError


def wmma(**changes: Any) -> AmdWmma:
    parameters: dict[str, Any] = {"version": 2, "is_transposed": False}
    return AmdWmma(**(parameters | changes))


def test_result_fragments_of_16x16() -> None:
    first = wmma(version=1).to_linear_layout([16, 16])
    second = wmma(version=2).to_linear_layout([16, 16])
    for lane, register in product(range(32), range(8)):
        point = {"register": register, "lane": lane, "warp": 0, "block": 0}
        row, column = 2 * register + lane // 16, lane % 16
        assert first.apply(point) == {"dim0": row, "dim1": column}
        row = register + 8 * (lane // 16)
        assert second.apply(point) == {"dim0": row, "dim1": column}


def test_result_of_32x16() -> None:
    wide = wmma(version=3, instr_shape=(32, 16, 128))
    bases = wide.to_linear_layout([32, 16]).bases
    assert bases["register"] == ((1, 0), (2, 0), (4, 0), (16, 0))
    turned = wmma(version=3, instr_shape=(32, 16, 128), is_transposed=True)
    assert turned.to_linear_layout([64, 32]).is_surjective


def test_lists_of_older_releases() -> None:
    lists = AmdWmma.from_warps(
        version=1, is_transposed=True, warps_per_cta=(2, 4), tiles_per_warp=(2, 1)
    )
    assert lists.cta_layout == CtaLayout(
        register=((1, 0),), warp=((0, 1), (0, 2), (2, 0))
    )
    golden = {
        "kind": "amd_wmma",
        "version": 1,
        "is_transposed": True,
        "warps_per_cta": [2, 4],
        "tiles_per_warp": [2, 1],
    }
    assert from_dict(golden) == lists
    both = {**golden, "cta_layout": lists.cta_layout.to_dict(), "rank": 2}
    assert from_dict(both) == lists
    both.pop("rank")
    both.pop("warps_per_cta")
    assert from_dict(both) == lists


def test_number_of_warps_that_contradicts() -> None:
    golden = {
        "kind": "amd_wmma",
        "version": 1,
        "is_transposed": True,
        "warps_per_cta": [2, 4],
        "cta_layout": {"register": [], "warp": [[1, 0]]},
    }
    with pytest.raises(EncodingError, match="cta_layout with 2 warps"):
        from_dict(golden)


@pytest.mark.parametrize("release", ["3.7", "3.9"])
def test_results_and_operands_reach_every_element(release: str) -> None:
    for version in (1, 2, 3):
        parent = wmma(
            version=version,
            cta_layout=CtaLayout(register=((1, 0),), warp=((0, 1), (2, 0), (0, 0))),
            cga=Cga(bases=((0, 1), (1, 0))),
        )
        for shape in product((1, 32, 128), repeat=2):
            assert parent.to_linear_layout(shape, release).is_surjective
            for op_idx in (0, 1):
                operand = DotOperand(op_idx=op_idx, parent=parent, k_width=8)
                assert operand.to_linear_layout(shape, release).is_surjective


def test_registers_along_k_are_gone_from_an_operand() -> None:
    parent = wmma(cta_layout=CtaLayout(register=((0, 1), (1, 0)), warp=((0, 2),)))
    operand = DotOperand(op_idx=0, parent=parent, k_width=8)
    bases = operand.to_linear_layout([32, 16]).bases
    assert bases["register"] == ((0, 1), (0, 2), (0, 4), (16, 0))
    assert bases["warp"] == ((0, 0),)


def test_ctas_split_k_before_release_3_8() -> None:
    parent = wmma(cga=Cga(bases=((0, 1),)))
    operand = DotOperand(op_idx=0, parent=parent, k_width=8)
    assert operand.to_linear_layout([16, 64], "3.7").bases["block"] == ((0, 32),)
    assert operand.to_linear_layout([16, 64], "3.8").bases["block"] == ((0, 0),)


def test_wide_instructions_came_with_release_3_8() -> None:
    wide = wmma(version=3, instr_shape=(32, 16, 128))
    operand = DotOperand(op_idx=0, parent=wide, k_width=8)
    for encoding in (wide, operand):
        with pytest.raises(UnsupportedLayoutError, match=r"from release 3\.8 on"):
            encoding.to_linear_layout([32, 128], "3.7")
    assert operand.to_linear_layout([32, 128]).is_invertible


def test_tensors_smaller_than_an_instruction_came_with_release_3_8() -> None:
    assert wmma().to_linear_layout([16, 8], "3.8").is_surjective
    with pytest.raises(UnsupportedLayoutError, match=r"shape=\[16, 8\]"):
        wmma().to_linear_layout([16, 8], "3.7")


def test_release_3_6_repeats_along_n_before_anything_along_m() -> None:
    parent = AmdWmma.from_warps(
        version=3,
        is_transposed=False,
        warps_per_cta=(1, 1),
        tiles_per_warp=(2, 2),
        instr_shape=(16, 16, 32),
    )
    new = parent.to_linear_layout([128, 64], "3.7").bases["register"]
    old = parent.to_linear_layout([128, 64], "3.6").bases["register"]
    assert new[3:] == ((0, 16), (16, 0), (0, 32), (32, 0), (64, 0))
    assert old[3:] == ((0, 16), (0, 32), (16, 0), (32, 0), (64, 0))


def test_release_3_6_keeps_registers_for_the_columns_of_other_ctas() -> None:
    parent = wmma(cta_layout=CtaLayout(warp=((1, 0),)), cga=Cga(bases=((0, 1), (0, 0))))
    bases = parent.to_linear_layout([64, 64], "3.6").bases
    rows = ((1, 0), (2, 0), (4, 0))
    assert bases["register"] == (*rows, (0, 16), (0, 0), (32, 0))
    assert bases["block"] == ((0, 32), (0, 0))
    newer = parent.to_linear_layout([64, 64], "3.7").bases
    assert newer["register"] == (*rows, (0, 16), (32, 0))


def test_release_3_6_repeats_operands_along_k_first_if_a_warp_has_several_tiles() -> (
    None
):
    rows, columns = (
        AmdWmma.from_warps(
            version=2, is_transposed=False, warps_per_cta=(1, 1), tiles_per_warp=tiles
        )
        for tiles in ((2, 1), (1, 2))
    )
    for parent, release, expected in (
        (rows, "3.6", ((0, 16), (0, 32), (16, 0))),
        (rows, "3.7", ((0, 16), (0, 32), (16, 0))),
        (rows, "3.8", ((16, 0), (0, 16), (0, 32))),
    ):
        operand = DotOperand(op_idx=0, parent=parent, k_width=8)
        bases = operand.to_linear_layout([32, 64], release).bases
        assert bases["register"][3:] == expected
    split = Cga(bases=((0, 1),))
    for parent, release, spare in (
        (replace(rows, cga=split), "3.6", 1),
        (replace(columns, cga=split), "3.6", 0),
        (replace(columns, cga=split), "3.7", 1),
    ):
        operand = DotOperand(op_idx=0, parent=parent, k_width=8)
        bases = operand.to_linear_layout([32, 64], release).bases
        assert bases["register"].count((0, 0)) == spare
        assert bases["block"] == ((0, 32),)


def test_release_3_6_has_no_tiles_along_the_batch() -> None:
    parent = AmdWmma.from_warps(
        version=2,
        is_transposed=False,
        warps_per_cta=(2, 1, 1),
        tiles_per_warp=(2, 1, 1),
    )
    operand = DotOperand(op_idx=1, parent=parent, k_width=8)
    for encoding in (parent, operand):
        for release, warp in (("3.6", 1), ("3.7", 2)):
            bases = encoding.to_linear_layout([4, 16, 16], release).bases
            assert bases["warp"] == ((warp, 0, 0),)
            assert bases["register"][3:] == ((3 - warp, 0, 0),)


def test_release_3_6_spells_two_lists() -> None:
    parent = wmma(cta_layout=CtaLayout(warp=((1, 0), (0, 1))))
    operand = DotOperand(op_idx=0, parent=parent, k_width=8)
    for encoding in (parent, operand):
        with pytest.raises(UnsupportedLayoutError, match="take a later release"):
            encoding.to_linear_layout([32, 32], "3.6")


def test_text() -> None:
    encoding = wmma(cta_layout=CtaLayout(warp=((1, 0),)))
    assert eval(repr(encoding)) == encoding


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"version": 4}, EncodingError, "version to be one of"),
        ({"instr_shape": (32, 16, 128)}, EncodingError, "version 2 needs M, N"),
        ({"instr_shape": (16, 16)}, EncodingError, "3 entries"),
        ({"instr_shape": (16, 16, 24)}, NotPowerOfTwoError, "instr_shape=24"),
        ({"rank": 4}, EncodingError, "rank to be one of"),
        ({"cta_layout": CtaLayout(warp=((1,),))}, EncodingError, "cta_layout to have"),
    ],
)
def test_instructions_that_do_not_exist(
    changes: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        wmma(**changes)
