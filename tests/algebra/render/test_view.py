import pytest

from algebra import LinearLayout, OutOfRangeError
from algebra.encodings import Blocked, DotOperand, NvidiaMma, SwizzledShared
from algebra.render import Clip, element_view, hardware_view
from algebra.render.view import place_format, place_text, tensor_dims

MMA = NvidiaMma(version=(2, 0), warps_per_cta=(2, 2), instr_shape=(16, 8))
LAYOUTS = {
    "empty": LinearLayout.empty(),
    "one element": LinearLayout.identity_1d(1, "register", "dim0"),
    "no hardware": LinearLayout.from_columns({}, {"dim0": 0}, []),
    "mma": MMA.to_linear_layout([32, 16]),
    "operand": DotOperand(op_idx=0, parent=MMA, k_width=2).to_linear_layout([32, 16]),
    "rank 3": Blocked(
        size_per_thread=(1, 1, 2),
        threads_per_warp=(2, 4, 4),
        warps_per_cta=(1, 1, 1),
        order=(2, 1, 0),
    ).to_linear_layout([2, 4, 8]),
    "shared": SwizzledShared(
        vec=2, per_phase=1, max_phase=4, order=(1, 0)
    ).to_linear_layout([8, 16]),
    "other names": LinearLayout.identity_1d(4, "lane", "x"),
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_each_place_of_a_cell_maps_to_its_element(layout: LinearLayout) -> None:
    dims = tensor_dims(layout)
    view = element_view(layout)
    cells = [cell for panel in view.panels for row in panel.rows for cell in row]
    assert len({cell.element for cell in cells}) == layout.get_total_out_dim_size()
    assert not view.notes
    for cell in cells:
        element = dict(zip(dims, cell.element, strict=True))
        assert all(layout.apply(place) == element for place in cell.places)
        assert cell.copies * len(cells) == layout.get_total_in_dim_size()


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_each_row_of_the_listing_is_the_image_of_its_place(
    layout: LinearLayout,
) -> None:
    dims = tensor_dims(layout)
    listing = hardware_view(layout, Clip(rows=4096))
    assert not listing.notes
    total = 0
    for _, place, elements in listing.rows:
        for column, element in zip(listing.columns, elements, strict=False):
            point = dict(place)
            if point:
                point[layout.in_names[0]] += column
            expected = layout.apply(point)
            assert element == tuple(expected[dim] for dim in dims)
            total += 1
    assert total == layout.get_total_in_dim_size()


def test_registers_beyond_the_clip_go_to_further_rows() -> None:
    layout = LinearLayout.identity_1d(8, "register", "dim0")
    listing = hardware_view(layout, Clip(columns=4))
    assert [head for head, _, _ in listing.rows] == ["register 0", "register 4"]
    assert listing.rows[1][2] == ((4,), (5,), (6,), (7,))


def test_memory_comes_in_lines_of_the_tensor() -> None:
    listing = hardware_view(LAYOUTS["shared"])
    assert len(listing.columns) == 16
    assert listing.rows[1][0] == "offset 16"


def test_a_huge_layout_is_clipped_and_says_so() -> None:
    layout = LinearLayout.identity_1d(1 << 50, "register", "dim0")
    for dim in ("dim1", "dim2"):
        layout *= LinearLayout.identity_1d(1 << 50, "lane", dim)
    clip = Clip(rows=2, columns=3, panels=1)
    view = element_view(layout, clip)
    assert [len(row) for row in view.panels[0].rows] == [3, 3]
    assert view.panels[0].title == "dim0 = 0"
    assert [note.split()[-3] for note in view.notes] == ["panels", "rows", "columns"]
    listing = hardware_view(layout, clip)
    assert len(listing.rows) == 2
    assert len(listing.notes) == 1


@pytest.mark.parametrize("name", ["rows", "columns", "panels", "copies"])
def test_a_clip_to_nothing_is_rejected(name: str) -> None:
    with pytest.raises(OutOfRangeError, match=f"{name}=0"):
        Clip(**{name: 0})


@pytest.mark.parametrize(
    ("sizes", "spelled"),
    [
        ({"register": 4, "lane": 2}, "lane:register"),
        ({"register": 4, "lane": 2, "warp": 2}, "warp/lane:register"),
        ({"register": 1, "lane": 2, "warp": 1, "block": 2}, "block.lane:register"),
        ({"offset": 4, "block": 1}, "offset"),
        ({"offset": 4, "block": 2}, "block.offset"),
        ({"row": 4, "col": 4}, "row,col"),
        ({"warp": 4}, "warp"),
        ({"register": 4}, ":register"),
        ({}, ""),
    ],
)
def test_spelling_of_places(sizes: dict[str, int], spelled: str) -> None:
    layout = LinearLayout.empty()
    for dim, size in sizes.items():
        layout *= LinearLayout.identity_1d(size, dim, "dim0")
    assert place_format(layout) == spelled
    numbers = {dim: str(value) for value, dim in enumerate(sizes)}
    text = place_text(layout, {dim: int(value) for dim, value in numbers.items()})
    for dim, value in numbers.items():
        spelled = spelled.replace(dim, value)
    assert text == spelled
