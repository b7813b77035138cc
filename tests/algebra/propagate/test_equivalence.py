"""When two encodings are one layout."""

from algebra.encodings import Blocked, Linear, SwizzledShared
from algebra.propagate.equivalence import are_equivalent

ROWS = Blocked(
    size_per_thread=(4,), threads_per_warp=(32,), warps_per_cta=(1,), order=(0,)
)
SHARED = SwizzledShared(vec=1, per_phase=1, max_phase=1, order=(1, 0))


def test_equal_encodings() -> None:
    assert are_equivalent(ROWS, ROWS, [128])


def test_two_names_of_one_layout() -> None:
    bases = ROWS.to_linear_layout([128]).bases
    linear = Linear(register=bases["register"], lane=bases["lane"], warp=bases["warp"])
    assert are_equivalent(ROWS, linear, [128])
    assert are_equivalent(linear, ROWS, [128])


def test_other_layouts() -> None:
    other = Blocked(
        size_per_thread=(2,), threads_per_warp=(32,), warps_per_cta=(1,), order=(0,)
    )
    assert not are_equivalent(ROWS, other, [128])


def test_copies_in_registers() -> None:
    more = Blocked(
        size_per_thread=(8,), threads_per_warp=(1,), warps_per_cta=(1,), order=(0,)
    )
    few = Blocked(
        size_per_thread=(4,), threads_per_warp=(1,), warps_per_cta=(1,), order=(0,)
    )
    assert are_equivalent(more, few, [4], "3.9")
    assert not are_equivalent(more, few, [4], "3.8")
    assert are_equivalent(more, few, [4], "3.8", ignore_register_broadcast=True)


def test_memory_has_no_registers_to_ignore() -> None:
    swizzled = SwizzledShared(vec=1, per_phase=1, max_phase=4, order=(1, 0))
    shape = [1, 64]
    assert are_equivalent(SHARED, swizzled, shape, ignore_register_broadcast=True)
    assert not are_equivalent(SHARED, swizzled, [64, 64])
