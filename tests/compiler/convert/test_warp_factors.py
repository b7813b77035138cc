"""The factors are multiplied out again, and the bound is compared with counting."""

import random

from hypothesis import given
from hypothesis import strategies as st

from algebra import gauss
from algebra.affine import AffineLayout
from compiler.convert.hardware import Hardware, moved
from compiler.convert.simulate import images
from compiler.convert.warp_factors import (
    factorings,
    least_shuffles,
    with_full_rank,
    within_warp,
)
from verify.strategies import matrices


def source_map(columns: list[int], offset: int, here: Hardware) -> AffineLayout:
    warps = [1 << bit for bit in range(here.registers + here.lanes, here.bits)]
    return moved(here, here, [*columns, *warps], offset)


@given(st.data())
def test_factors_give_the_conversion_back(data: st.DataObject) -> None:
    here = Hardware(data.draw(st.integers(0, 3)), data.draw(st.integers(0, 3)), 1, 0)
    columns = data.draw(matrices(here.registers + here.lanes))
    offset = data.draw(st.integers(0, (1 << here.registers + here.lanes) - 1))
    blocks = within_warp(source_map(columns, offset, here))
    assert blocks is not None
    for factors in factorings(blocks):
        for register in range(1 << here.registers):
            for thread in range(1 << here.threads):
                slot = register ^ factors.kept_start
                slot ^= gauss.apply(factors.kept, thread)
                lane = factors.lane_start ^ gauss.apply(blocks.lr, slot)
                lane ^= gauss.apply(factors.lane, thread)
                sender = lane | thread >> here.lanes << here.lanes
                sent = factors.sent_start ^ gauss.apply(factors.sent, slot)
                sent ^= gauss.apply(factors.sent_by, sender)
                place = register | (thread & (1 << here.lanes) - 1) << here.registers
                wanted = gauss.apply(columns, place) ^ offset
                assert sent | lane << here.registers == wanted


@given(st.data())
def test_the_bound_counts_what_a_lane_lacks(data: st.DataObject) -> None:
    here = Hardware(data.draw(st.integers(0, 3)), data.draw(st.integers(0, 3)), 0, 0)
    columns = data.draw(matrices(here.registers + here.lanes))
    source = source_map(columns, 0, here)
    blocks = within_warp(source)
    assert blocks is not None
    places = images(source)
    most = 0
    for lane in range(1 << here.lanes):
        start = lane << here.registers
        senders = places[start : start + (1 << here.registers)] >> here.registers
        most = max(most, len(set(senders.tolist()) - {lane}))
    each = 1 << here.registers - gauss.rank(blocks.lr)
    assert least_shuffles(blocks, 32) == most * each


def test_other_warps_are_out_of_reach() -> None:
    here = Hardware(1, 1, 1, 0)
    assert within_warp(moved(here, here, [4, 2, 1])) is None
    assert within_warp(moved(here, here, [1, 2, 4], 4)) is None


def test_copies_fill_the_rank() -> None:
    """Lane 1 of the source is a copy; reading only lane 0 would leave it idle."""
    new, old = Hardware(0, 1, 0, 0), Hardware(1, 1, 0, 0)
    src = moved(old, Hardware(1, 0, 0, 0), [1, 0])
    blocks = within_warp(moved(new, old, [1]))
    assert blocks is not None
    full = with_full_rank(blocks, src)
    assert full is not None and full.ll == (1,)
    alone = moved(old, old, [1, 2])
    assert with_full_rank(blocks, alone) is None


def test_the_first_factoring_needs_no_more_shuffles_than_the_bound() -> None:
    rng = random.Random(5)
    here = Hardware(2, 3, 0, 0)
    for _ in range(200):
        while True:
            columns = [rng.getrandbits(5) for _ in range(5)]
            if gauss.rank(columns) == 5:
                break
        blocks = within_warp(source_map(columns, 0, here))
        assert blocks is not None
        factors = factorings(blocks)[0]
        still = factors.lane == (1, 2, 4)
        slots = [gauss.apply(blocks.lr, slot) for slot in range(4)]
        shuffles = sum(1 for slot in slots if slot or not still)
        assert shuffles == least_shuffles(blocks, 32)
