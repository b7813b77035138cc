from algebra import LinearLayout
from algebra.render import Clip, element_table, hardware_table


def test_copies_and_elements_that_nobody_holds() -> None:
    layout = LinearLayout.from_bases(
        {"register": [[0, 2]], "lane": [[1, 0], [0, 0]]},
        {"dim0": 2, "dim1": 4},
        require_surjective=False,
    )
    assert element_table(layout).splitlines() == [
        "lane:register   (+n: n more places hold a copy)",
        "       0      1      2      3",
        "0  0:0+1      -  0:1+1      -",
        "1  1:0+1      -  1:1+1      -",
    ]


def test_panels_and_notes() -> None:
    layout = LinearLayout.identity_1d(2, "lane", "dim2")
    for dim in ("dim1", "dim0"):
        layout *= LinearLayout.identity_1d(2, "lane", dim)
    assert element_table(layout, Clip(rows=1, panels=1)).splitlines() == [
        "lane",
        "",
        "dim0 = 0",
        "   0  1",
        "0  0  1",
        "(1 of 2 panels are shown)",
        "(1 of 2 rows are shown)",
    ]
    clip = Clip(rows=1, columns=4)
    assert hardware_table(layout, clip).splitlines()[-1] == "(1 of 2 rows are shown)"


def test_no_dims_at_all() -> None:
    assert element_table(LinearLayout.empty()).splitlines() == ["", "   0", "0   "]
    assert hardware_table(LinearLayout.empty()).splitlines() == ["  0", "   "]
