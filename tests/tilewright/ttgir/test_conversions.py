from collections.abc import Callable

import pytest

from algebra.errors import LayoutError
from tilewright.ttgir.conversions import Links, conversions_left, spelled, walk
from verify.mlir import read_module

Dump = Callable[[str], str]


def test_each_conversion_is_listed_with_its_cost_and_reason(dump: Dump) -> None:
    text = dump("transposed")
    found = conversions_left(read_module(text))
    assert len(found) == text.count("ttg.convert_layout") > 0
    for one in found:
        assert one.shape == (64, 64) and one.element_bits == 32
        assert one.moves and one.cost > 0 and one.way
        assert one.location.startswith("dumped_kernels.py:")
        assert "tt.load" in one.sources and "tt.store" in one.users
        assert one.why.count("place") == 1


def test_a_target_has_its_own_costs(dump: Dump) -> None:
    module = read_module(dump("transposed"))
    with pytest.raises(LayoutError):
        conversions_left(module, "sm_20")


def test_links_follow_values_both_ways(dump: Dump) -> None:
    module = read_module(dump("summed"))
    function = next(iter(module.functions.values()))
    links = Links(list(walk(function.body.blocks)))
    load = next(o for o, _ in links.operations if o.name == "tt.load")
    assert "tt.reduce" in links.ends(load.results[0])
    depth = {o.name: d for o, d in links.operations}
    assert depth["tt.load"] == 1 and depth["tt.store"] == 0


def test_aliases_are_filled_in_but_a_cycle_ends() -> None:
    assert spelled("#a", {"#a": "#b", "#b": "#ttg.x"}) == "#ttg.x"
    assert spelled("#a", {"#a": "#a"}) == "#a"
