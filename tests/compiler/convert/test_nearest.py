from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from algebra import LinearLayout
from compiler.convert.hardware import distributed, hardware_of
from compiler.convert.nearest import nearest_source
from verify.strategies import surjections

Flat = Callable[..., LinearLayout]


@given(st.data())
def test_the_source_holds_what_the_destination_needs(data: st.DataObject) -> None:
    dims = {"dim0": data.draw(st.integers(0, 6))}
    names = ("register", "lane", "warp", "block")
    src = distributed(data.draw(surjections(6, 3, dims, names)), "src")
    dst = distributed(data.draw(surjections(6, 3, dims, names)), "dst")
    here, there = hardware_of(src), hardware_of(dst)
    if (here.lanes, here.warps, here.blocks) != (
        there.lanes,
        there.warps,
        there.blocks,
    ):
        return
    assert nearest_source(src, dst).compose(src) == dst


def test_a_copy_in_the_own_warp_is_taken(make_flat: Flat) -> None:
    """The smallest solution reads register 1 from another warp's copy: not this."""
    src = distributed(make_flat([1], [2, 4], [0]), "src")
    dst = distributed(make_flat([1], [4, 2], [0]), "dst")
    source = nearest_source(src, dst)
    assert source.apply({"register": 0, "lane": 0, "warp": 1, "block": 0})["warp"] == 1


def test_registers_come_before_lanes(make_flat: Flat) -> None:
    src = distributed(make_flat([1, 2], [1, 4]), "src")
    dst = distributed(make_flat([1, 2], [2, 4]), "dst")
    columns = nearest_source(src, dst).linear.columns
    assert columns[:2] == (1, 2)
    assert columns[2] == 1 << 2 | 0b11  # own lane, two registers
