from hypothesis import given, settings

from algebra import AffineLayout, LinearLayout, Proved
from algebra.dims import LANE, OFFSET, REGISTER, WARP
from algebra.gauss import Echelon
from algebra.swizzle import optimal_swizzle
from compiler.convert import plan
from compiler.convert.repetitions import with_repetitions
from verify.strategies import ConversionCase, conversions


def flat(*dims: list[int]) -> LinearLayout:
    names = ("register", "lane", "warp", "block")
    return LinearLayout.from_columns(
        {name: len(dim) for name, dim in zip(names, dims, strict=False)},
        {"dim0": max(c.bit_length() for dim in dims for c in dim)},
        [c for dim in dims for c in dim],
    )


REGISTERS = [1, 2, 4, 8]
WARPS = [512, 1024, 2048]
SRC = flat(REGISTERS, [24, 32, 64, 128, 256], WARPS)
DST = flat(REGISTERS, [16, 32, 64, 128, 256], [512, 2048, 1024])


def addresses(side: LinearLayout, memory: LinearLayout, name: str) -> list[int]:
    echelon = Echelon(memory.columns)
    return [echelon.reduce(column)[1] for column in side.in_columns(name)]


def test_lanes_never_decide_about_repetitions() -> None:
    """Register 8 is common, but lane 24 differs from lane 16 by it."""
    memory = optimal_swizzle(SRC, DST, 64).memory
    made, count = with_repetitions(memory, (SRC, DST), 1, 64, 32)
    assert count == 1
    top = 1 << made.get_in_dim_size_log2(OFFSET) - 1
    for side in (SRC, DST):
        for name in (LANE, WARP):
            assert not any(a & top for a in addresses(side, made, name))
        assert any(a & top for a in addresses(side, made, REGISTER))


def test_offsets_below_are_what_they_were() -> None:
    memory = optimal_swizzle(SRC, DST, 64).memory
    made, _ = with_repetitions(memory, (SRC, DST), 1, 64, 32)
    banks = (1 << 4) - 1  # 32 banks of 4 bytes, elements of 8
    for side in (SRC, DST):
        for name in side.in_names:
            pairs = zip(
                addresses(side, memory, name), addresses(side, made, name), strict=True
            )
            assert all((a ^ b) & banks == 0 for a, b in pairs)


def test_nothing_wanted_nothing_done() -> None:
    memory = optimal_swizzle(SRC, DST, 64).memory
    assert with_repetitions(memory, (SRC, DST), 0, 64, 32) == (memory, 0)


def test_threads_that_decide_everything_leave_no_repetition() -> None:
    src, dst = flat([], [1, 2, 4, 8, 16], [32]), flat([], [32, 2, 4, 8, 16], [1])
    memory = optimal_swizzle(src, dst, 32).memory
    assert with_repetitions(memory, (src, dst), 2, 32, 32)[1] == 0


def test_plans_with_little_memory_are_right() -> None:
    for limit in (4096, 16384, 1 << 16):
        found = plan(AffineLayout(SRC), AffineLayout(DST), 128, shared_bytes=limit)
        assert isinstance(found.prove(), Proved)
        assert bool((found.simulate() == found.expected()).all())
    assert plan(SRC, DST, 128, shared_bytes=16384).shared_bytes == 16384


@settings(max_examples=60)
@given(conversions(max_warp_bits=2))
def test_any_conversion_with_little_memory(case: ConversionCase) -> None:
    found = plan(case.src, case.dst, case.element_bits, shared_bytes=256)
    assert isinstance(found.prove(), Proved)
    assert bool((found.simulate() == found.expected()).all())
