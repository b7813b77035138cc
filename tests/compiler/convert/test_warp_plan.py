import pytest

from compiler.convert import Select, Shuffle
from compiler.convert.hardware import Hardware, moved
from compiler.convert.warp_factors import within_warp
from compiler.convert.warp_plan import packed_registers, warp_plans


@pytest.mark.parametrize(
    ("registers", "bits", "packed"),
    [(0, 8, 0), (1, 8, 1), (4, 8, 2), (4, 16, 1), (4, 32, 0), (4, 128, 0)],
)
def test_packed_registers(registers: int, bits: int, packed: int) -> None:
    assert packed_registers(registers, bits) == packed


def test_a_selection_alone_is_one_step() -> None:
    here = Hardware(1, 1, 0, 0)
    blocks = within_warp(moved(here, here, [1, 3]))
    assert blocks is not None
    for steps in warp_plans(blocks, 32):
        assert [type(step) for step in steps] == [Select]


def test_bytes_travel_as_the_source_or_the_destination_packs_them() -> None:
    """Registers 2 and 3 change places with 0 and 1, register 4 with lane 0."""
    here = Hardware(5, 5, 0, 0)
    order = [2, 3, 0, 1, 5, 4, 6, 7, 8, 9]
    blocks = within_warp(moved(here, here, [1 << bit for bit in order]))
    assert blocks is not None
    plans = list(warp_plans(blocks, 8))
    assert len(plans) >= 2
    for steps in plans:
        assert [s.word_registers for s in steps if isinstance(s, Shuffle)] == [2]
