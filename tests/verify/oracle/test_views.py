from algebra.layout import LinearLayout
from verify.oracle.views import distributed_view, shared_view

HELD = LinearLayout.from_bases(
    {
        "register": [[0, 1]],
        "lane": [[2, 0], [0, 0]],
        "warp": [[1, 0]],
        "block": [],
    },
    {"dim0": 4, "dim1": 2},
)
STORED = LinearLayout.from_bases(
    {"offset": [[0, 1], [1, 1]], "block": [[2, 0]]}, {"dim0": 4, "dim1": 2}
)


def test_elements_name_their_owners() -> None:
    rows = distributed_view(HELD, False).splitlines()
    assert rows[0] == "[[T0:0|T2:0, T0:1|T2:1]"
    assert rows[-1] == "[ T5:0|T7:0, T5:1|T7:1]]"


def test_owners_name_their_elements() -> None:
    assert distributed_view(HELD, True).splitlines() == [
        "Warp0:",
        "(0,0), (2,0), (0,0), (2,0)",
        "(0,1), (2,1), (0,1), (2,1)",
        "Warp1:",
        "(1,0), (3,0), (1,0), (3,0)",
        "(1,1), (3,1), (1,1), (3,1)",
    ]


def test_blocks_are_named_where_there_are_several() -> None:
    blocks = LinearLayout.from_bases(
        {"register": [[0, 1]], "lane": [], "warp": [], "block": [[1, 0]]},
        {"dim0": 2, "dim1": 2},
    )
    assert (
        distributed_view(blocks, False) == "[[B0:T0:0, B0:T0:1]\n[ B1:T0:0, B1:T0:1]]\n"
    )
    assert distributed_view(blocks, True).startswith("Block0:\nWarp0:\n")


def test_shared_memory() -> None:
    assert shared_view(STORED, False) == (
        "[[(0:0),(0:1)]\n[ (1:1),(1:0)]\n[ (2:0),(2:1)]\n[ (3:1),(3:0)]]\n"
    )
    lines = shared_view(STORED, True).splitlines()
    assert lines[0] == "Block: 0:" and lines[5] == "Block: 1:"
    assert lines[3] == "Offset: 2 -> (1,1)"
