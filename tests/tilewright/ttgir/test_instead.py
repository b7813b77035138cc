from collections.abc import Callable

from tilewright.ttgir.conversions import conversions_left
from tilewright.ttgir.instead import instead_of
from verify.mlir import read_module

Dump = Callable[[str], str]


def test_assignment_leaves_fewer_conversions_and_is_proved(dump: Dump) -> None:
    for name in ("transposed", "summed", "picked"):
        module = read_module(dump(name))
        found = instead_of(module)
        assert found.verdict == "Proved"
        assert len(found.costs) <= len(conversions_left(module))
        assert all(cost > 0 for _, _, cost in found.costs)


def test_what_is_not_modelled_says_why(dump: Dump) -> None:
    found = instead_of(read_module(dump("counted")))
    assert found.assignment is None and "tt.atomic_rmw" in found.reason
    assert found.costs == []
