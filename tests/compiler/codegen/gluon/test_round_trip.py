import ast

import pytest

from algebra import LinearLayout
from algebra.encodings import Blocked
from compiler.codegen.gluon.probe import ROUND_TRIPS
from compiler.codegen.gluon.round_trip import (
    RoundTrip,
    cancels,
    candidates,
    forms,
    in_parts,
    kind,
    opaque_bits,
    own_form,
    preferred_form,
    waits,
)
from compiler.convert import Load, Store, plan, plans

NAMES = {"register": 2, "lane": 5, "warp": 1}
LANES = [4, 8, 16, 32, 64]


def across_warps(size: int = 0) -> tuple[LinearLayout, LinearLayout]:
    """Return layouts that exchange a register and the warp."""
    names = {**NAMES, "register": 2 + size}
    more = [256 << bit for bit in range(size)]
    return (
        LinearLayout.from_columns(
            names, {"dim0": 8 + size}, [1, 2, *more, *LANES, 128]
        ),
        LinearLayout.from_columns(
            names, {"dim0": 8 + size}, [1, 128, *more, *LANES, 2]
        ),
    )


def within_warps() -> tuple[LinearLayout, LinearLayout]:
    """Return layouts that exchange a register and a lane."""
    return (
        LinearLayout.from_columns(NAMES, {"dim0": 8}, [1, 2, *LANES, 128]),
        LinearLayout.from_columns(NAMES, {"dim0": 8}, [1, 4, 2, *LANES[1:], 128]),
    )


def pair(
    sides: tuple[LinearLayout, LinearLayout], bits: int, form: str = "hardware"
) -> RoundTrip:
    src, dst = sides
    return RoundTrip(plan(src, dst, bits), plan(dst, src, bits), form)


def test_each_way_has_memory_of_its_own_and_one_barrier() -> None:
    text = pair(across_warps(), 32).text
    ast.parse(text)
    assert text.count(".shared .align 1024 .b8 tile_there[1024];") == 1
    assert text.count(".shared .align 1024 .b8 tile_back[1024];") == 1
    assert "b8 tile[" not in text
    # one block of each way, called ROUND_TRIPS times
    assert text.count("bar.sync 0;") == 2
    assert text.count("= there(") == text.count("= back(") == ROUND_TRIPS


def test_large_tiles_share_memory_and_wait_before_they_store() -> None:
    one = pair(across_warps(5), 32)
    assert one.there.shared_bytes + one.back.shared_bytes > 48 * 1024
    text = one.text
    assert "tile_back" not in text and text.count(".b8 tile_there[32768];") == 1
    assert text.count("bar.sync 0;") == 4


def test_a_way_without_a_barrier_leaves_the_other_one_to_wait() -> None:
    src, dst = within_warps()
    shared = next(p for p in plans(src, dst, 32) if p.shared_bytes)
    shuffles = next(p for p in plans(dst, src, 32) if not p.shared_bytes)
    assert (waits(shared), waits(shuffles)) == (0, -1)
    text = RoundTrip(shared, shuffles, "hardware").text
    # its own kind of barrier is enough: nothing else uses its memory
    assert text.count("bar.warp.sync") == 2 and "bar.sync 0" not in text
    assert "tile_back" not in text


def test_candidates_differ_and_begin_with_the_cheapest() -> None:
    src, dst = across_warps()
    found = candidates(src, dst, 16, resident_warps=2)
    texts = [one.text for one in found]
    assert len(set(texts)) == len(texts) > 1
    first = found[0]
    assert first.there == plan(src, dst, 16, resident_warps=2, packed=False)
    assert first.form == preferred_form(first.there, first.back)
    assert {one.form for one in found} == {"tensor", "memory"}
    assert len(candidates(src, dst, 16, resident_warps=2, most=1)) == 1


def test_each_kind_of_plan_is_among_the_first_candidates() -> None:
    src, dst = within_warps()
    kinds = {kind(one) for one in plans(src, dst, 16, packed=False)}
    assert len(kinds) > 1
    found = candidates(src, dst, 16, resident_warps=2, most=2 * len(kinds))
    assert {kind(one.there) for one in found} == kinds


def test_parts_are_candidates_where_elements_stay_in_warps() -> None:
    names = {"register": 3, "lane": 5, "warp": 0}
    src, dst = (
        LinearLayout.from_columns(names, {"dim0": 8}, columns)
        for columns in (
            [128, 4, 1, 64, 8, 16, 32, 2],
            [64, 4, 8, 128, 16, 32, 1, 2],
        )
    )
    found = candidates(src, dst, 32, resident_warps=1)
    parts = [one for one in found if in_parts(one.there)]
    assert parts and all(in_parts(one.back) for one in parts)
    assert not in_parts(found[0].there)
    for one in parts:
        assert one.form == own_form(one.there, one.back)
        assert "bar.sync" not in one.text
    assert not any(
        in_parts(one.there) for one in candidates(*across_warps(), 32, resident_warps=2)
    )


def test_vectors_in_common_are_among_the_first() -> None:
    src, dst = (
        Blocked(
            size_per_thread=(size,),
            threads_per_warp=(32,),
            warps_per_cta=(4,),
            order=(0,),
        ).to_linear_layout([1024])
        for size in (8, 4)
    )
    found = candidates(src, dst, 16, resident_warps=4, most=4)
    vectors = [
        {
            step.instruction.vector_bits
            for step in one.there.steps
            if isinstance(step, Store | Load)
        }
        for one in found
    ]
    assert vectors == [{64, 128}, {64, 128}, {64}, {64}]


def test_renamings_that_the_other_way_undoes_are_outside() -> None:
    """Bytes in another order in memory need no byte permute in either way."""
    src = LinearLayout.from_columns(
        {"register": 1, "lane": 5}, {"dim0": 6}, [32, 2, 16, 4, 1, 8]
    )
    dst = LinearLayout.from_columns(
        {"register": 4, "lane": 5}, {"dim0": 6}, [0, 1, 2, 32, 0, 0, 4, 8, 16]
    )
    there, back = (
        next(p for p in plans(*sides, 8) if p.shared_bytes)
        for sides in ((src, dst), (dst, src))
    )
    assert cancels(there, back) and cancels(back, there)
    assert "prmt" not in RoundTrip(there, back, "hardware").text
    shuffles = next(p for p in plans(dst, src, 8) if not p.shared_bytes)
    assert not cancels(there, shuffles)
    assert "prmt" in RoundTrip(there, shuffles, "hardware").text


def test_layouts_that_gluon_lacks_run_in_hardware_form() -> None:
    src = LinearLayout.from_columns(NAMES, {"dim0": 7}, [1, 2, *LANES, 0])
    dst = LinearLayout.from_columns(NAMES, {"dim0": 7}, [1, 4, 2, *LANES[1:], 0])
    there, back = plan(src, dst, 32), plan(dst, src, 32)
    assert own_form(there, back) == "hardware"
    assert preferred_form(there, back) == "hardware"


def test_narrow_accesses_go_by_the_memory_form() -> None:
    rows, columns = (
        Blocked(
            size_per_thread=sizes,
            threads_per_warp=(8, 4),
            warps_per_cta=warps,
            order=(1, 0),
        ).to_linear_layout([64, 16])
        for sizes, warps in (((1, 4), (8, 1)), ((4, 1), (2, 4)))
    )
    there, back = plan(rows, columns, 8), plan(columns, rows, 8)
    ways = forms(there, back)
    assert preferred_form(there, back) in ways and "memory" in ways
    narrow = there.is_narrow or back.is_narrow
    assert (preferred_form(there, back) == "memory") == narrow


@pytest.mark.parametrize("bits", [8, 32])
def test_only_shuffles_are_made_opaque(bits: int) -> None:
    src, dst = within_warps()
    assert opaque_bits(plan(src, dst, bits), plan(dst, src, bits)) == bits
    src, dst = across_warps()
    assert opaque_bits(plan(src, dst, bits), plan(dst, src, bits)) == 0
