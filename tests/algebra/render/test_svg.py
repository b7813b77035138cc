import xml.etree.ElementTree as ET
from xml.etree.ElementTree import Element

import pytest

from algebra import LinearLayout, NotPowerOfTwoError
from algebra.encodings import Blocked, DotOperand, NvidiaMma, SwizzledShared
from algebra.render import Clip, to_svg

SVG = "{http://www.w3.org/2000/svg}"
MMA = NvidiaMma(version=(2, 0), warps_per_cta=(2, 2), instr_shape=(16, 8))
LAYOUTS = {
    "empty": LinearLayout.empty(),
    "no hardware": LinearLayout.from_columns({}, {"dim0": 0}, []),
    "mma": MMA.to_linear_layout([32, 16]),
    "operand": DotOperand(op_idx=0, parent=MMA, k_width=2).to_linear_layout([32, 16]),
    "blocks": LinearLayout.identity_1d(2, "lane", "dim0")
    * LinearLayout.identity_1d(2, "block", "dim0"),
    "tensor memory": LinearLayout.identity_1d(4, "row", "dim0")
    * LinearLayout.identity_1d(4, "col", "dim1"),
    "unheld": LinearLayout.strided_1d(4, 2, "lane", "dim0"),
    "rank 3": Blocked(
        size_per_thread=(1, 1, 2),
        threads_per_warp=(2, 4, 4),
        warps_per_cta=(1, 1, 1),
        order=(2, 1, 0),
    ).to_linear_layout([2, 4, 8]),
    "shared": SwizzledShared(
        vec=2, per_phase=1, max_phase=4, order=(1, 0)
    ).to_linear_layout([8, 16]),
}


def parts(picture: str, name: str) -> list[Element]:
    root = ET.fromstring(picture)
    return [it for it in root.iter() if it.get("class") == name]


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_one_cell_an_element_inside_the_picture(layout: LinearLayout) -> None:
    picture = to_svg(layout, 'a <title> & "quotes" that is ' + "long " * 99)
    root = ET.fromstring(picture)
    cells = parts(picture, "cell")
    assert len(cells) == layout.get_total_out_dim_size()
    for it in root.iter(f"{SVG}rect"):
        if it.get("x"):
            right = int(it.get("x", "")) + int(it.get("width", ""))
            bottom = int(it.get("y", "")) + int(it.get("height", ""))
            assert right <= int(root.get("width", ""))
            assert bottom <= int(root.get("height", ""))
    assert not [key for it in root.iter() for key in it.attrib if "href" in key]


def test_copies_are_hatched_and_all_places_are_told() -> None:
    picture = to_svg(LAYOUTS["operand"])
    assert len(parts(picture, "copies")) == 32 * 16
    told = parts(picture, "cell")[0][0].text
    assert told == (
        "(0, 0): register 0 lane 0 warp 0 block 0; register 0 lane 0 warp 1 block 0"
    )
    assert "held in several places" in picture
    assert not parts(to_svg(LAYOUTS["mma"]), "copies")


def test_further_copies_are_counted() -> None:
    layout = LinearLayout.zeros_1d(16, "lane", "dim0")
    assert "; 14 more" in to_svg(layout, clip=Clip(copies=2))


def test_an_element_that_nobody_holds_is_white() -> None:
    cells = parts(to_svg(LAYOUTS["unheld"]), "cell")
    assert [cell.get("fill") == "#ffffff" for cell in cells] == [False, True] * 4


def test_equal_keys_have_equal_colours() -> None:
    for key in ("lane", "warp", "register"):
        cells = parts(to_svg(LAYOUTS["mma"], color_by=key), "cell")
        pairs = {(cell.get(f"data-{key}"), cell.get("fill")) for cell in cells}
        assert len(pairs) == len({value for value, _ in pairs})
        assert len(pairs) == len({fill for _, fill in pairs})


def test_memory_is_coloured_by_bank() -> None:
    cells = parts(to_svg(LAYOUTS["shared"], element_bits=16), "cell")
    assert [int(cell.get("data-bank", "")) for cell in cells[:4]] == [0, 0, 1, 1]
    with pytest.raises(NotPowerOfTwoError, match="element_bits=12"):
        to_svg(LAYOUTS["shared"], element_bits=12)


def test_a_large_tensor_is_clipped_with_a_note() -> None:
    layout = LinearLayout.identity_1d(1 << 40, "register", "dim0")
    picture = to_svg(layout, color_by="register", clip=Clip(columns=4))
    assert len(parts(picture, "cell")) == 4
    assert f"4 of {1 << 40} columns are shown" in picture
    assert f"and {(1 << 40) - 64} more" in picture
