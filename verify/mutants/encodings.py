"""Faults in the layouts of encodings: order, warps, swizzles, repetitions, broadcasts.

The judge is the proof against the legacy index formula, for all positions.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from algebra import LayoutError, LinearLayout
from algebra.dims import HARDWARE_DIMS, LANE, REGISTER, WARP
from algebra.encodings import (
    Blocked,
    DotOperand,
    Encoding,
    NvidiaMma,
    SwizzledShared,
    from_dict,
)
from algebra.verdict import Refuted, Unknown, Verdict
from verify.equivalence import prove_encoding
from verify.oracle.random_encodings import random_case

from .mutant import Mutant

Wrong = Callable[["Given"], LinearLayout]
Wanted = Callable[["Given"], bool]


@dataclass(frozen=True, slots=True)
class Given:
    """An encoding, a shape, and their layout."""

    encoding: Any
    shape: tuple[int, ...]

    @property
    def layout(self) -> LinearLayout:
        """The right layout."""
        layout: LinearLayout = self.encoding.to_linear_layout(self.shape)
        return layout


def drawn(kinds: Sequence[str], wanted: Wanted) -> Callable[[Random], Given | None]:
    """Return a drawer of encodings of some kinds that satisfy a condition."""

    def configure(rng: Random) -> Given | None:
        case = random_case(rng, rng.choice(kinds))
        encoding = from_dict(case.encoding)
        if encoding.cga.bases or isinstance(
            prove_encoding(encoding, case.shape), Unknown
        ):
            return None
        given = Given(encoding, case.shape)
        return given if wanted(given) else None

    return configure


def judged(given: Given, layout: LinearLayout) -> Verdict:
    """Prove a layout against the legacy formula, or find a position that differs."""
    if dict(layout.out_dims) != dict(given.layout.out_dims):
        return _outside(given, layout)
    encoding: Encoding = given.encoding
    return prove_encoding(encoding, given.shape, layout=layout)


def _outside(given: Given, layout: LinearLayout) -> Verdict:
    """Refute a layout that leaves the tensor, with the register that does."""
    right = given.layout
    for name in layout.in_names:
        for i in range(layout.get_in_dim_size_log2(name)):
            at = {**dict.fromkeys(HARDWARE_DIMS, 0), name: 1 << i}
            place = layout.apply({n: at[n] for n in layout.in_names})
            if any(place[dim] >= size for dim, size in right.out_dims.items()):
                return Refuted({**at, "legacy": "inside the tensor", "linear": place})
    return Refuted({"out_dims": (right.out_dims, layout.out_dims)})


def with_columns(layout: LinearLayout, **columns: Sequence[int]) -> LinearLayout:
    """Return the layout with the columns of some in-dims replaced."""
    parts = {
        name: columns.get(name, layout.in_columns(name)) for name in layout.in_names
    }
    return LinearLayout.from_columns(
        {name: len(part) for name, part in parts.items()},
        dict(zip(layout.out_names, layout.out_bits, strict=True)),
        [column for part in parts.values() for column in part],
    )


def other(**change: Callable[[Any], Any]) -> Wrong:
    """Return the fault of computing with changed fields."""

    def wrong(given: Given) -> LinearLayout:
        fields = {name: new(given.encoding) for name, new in change.items()}
        try:
            changed = replace(given.encoding, **fields)
            layout: LinearLayout = changed.to_linear_layout(given.shape)
        except LayoutError:
            return given.layout
        return layout

    return wrong


def _warps_turned(given: Given) -> LinearLayout:
    """Number the warps along the dims in the opposite order."""
    encoding = given.encoding
    mma: Any = encoding.parent if isinstance(encoding, DotOperand) else encoding
    layout = given.layout
    warps = layout.in_columns(WARP)
    fast = mma.warps_per_cta[-1 if mma.version[0] == 2 else 0].bit_length() - 1
    return with_columns(layout, **{WARP: (*warps[fast:], *warps[:fast])})


def _spilled(given: Given) -> LinearLayout:
    """Let a thread keep elements beyond the end of the tensor."""
    encoding = given.encoding
    grown = [
        max(size, own)
        for size, own in zip(given.shape, encoding.size_per_thread, strict=True)
    ]
    layout: LinearLayout = encoding.to_linear_layout(grown)
    return layout


def _without_zeros(dim: str) -> Wrong:
    def wrong(given: Given) -> LinearLayout:
        return given.layout.remove_zero_bases_along_dim(dim)

    return wrong


def _doubled(given: Given) -> LinearLayout:
    """Write the broadcast bits of lanes twice."""
    lanes = given.layout.in_columns(LANE)
    return with_columns(given.layout, **{LANE: (*lanes, *(c for c in lanes if not c))})


def _repeated_once_less(given: Given) -> LinearLayout:
    """Count the repetitions for elements of twice the width."""
    registers = given.layout.in_columns(REGISTER)
    return with_columns(given.layout, **{REGISTER: registers[:-1]})


def _phase_of_half(given: Given) -> LinearLayout:
    """Take (row mod max_phase) / per_phase for (row / per_phase) mod max_phase."""
    encoding: SwizzledShared = given.encoding
    phases = max(1, encoding.max_phase // encoding.per_phase)
    changed = replace(encoding, max_phase=phases)
    layout: LinearLayout = changed.to_linear_layout(given.shape)
    return layout


def _has_zero(dim: str) -> Wanted:
    return lambda given: (
        given.layout.has_in_dim(dim) and (0 in given.layout.in_columns(dim))
    )


def _is_mma(given: Given) -> bool:
    encoding = given.encoding
    parent = encoding.parent if isinstance(encoding, DotOperand) else encoding
    return isinstance(parent, NvidiaMma) and len(given.shape) == 2


def _wide_threads(given: Given) -> bool:
    encoding: Blocked = given.encoding
    return any(
        own > size
        for own, size in zip(encoding.size_per_thread, given.shape, strict=True)
    )


def _fast_dim_of_size_one(given: Given) -> bool:
    return len(given.shape) > 1 and given.shape[given.encoding.order[0]] == 1


def _always(given: Given) -> bool:
    return len(given.shape) > 1


_BLOCKED = ("blocked",)
_SWIZZLED = ("swizzled_shared",)
_MMA = ("nvidia_mma", "dot_operand")
_DISTRIBUTED = ("blocked", "nvidia_mma", "dot_operand", "slice", "amd_mfma")


def _mutant(
    number: int,
    name: str,
    precedent: str,
    kinds: Sequence[str],
    wanted: Wanted,
    wrong: Wrong,
) -> Mutant:
    return Mutant(
        number=number,
        name=name,
        precedent=precedent,
        configure=drawn(kinds, wanted),
        right=lambda given: given.layout,
        wrong=wrong,
        judge=judged,
    )


ENCODING_MUTANTS = (
    _mutant(
        1,
        "order_of_dims_is_reversed",
        "triton-lang/triton #4116",
        _BLOCKED,
        _always,
        other(order=lambda e: e.order[::-1]),
    ),
    _mutant(
        1,
        "order_of_dims_is_ignored",
        "triton-lang/triton #4116",
        (*_BLOCKED, *_SWIZZLED),
        _always,
        other(order=lambda e: tuple(reversed(range(len(e.order))))),
    ),
    _mutant(
        2,
        "warps_of_an_mma_are_numbered_the_other_way",
        "triton-lang/triton PR #5030",
        _MMA,
        _is_mma,
        _warps_turned,
    ),
    _mutant(
        3,
        "repetitions_are_counted_for_twice_the_width",
        "triton-lang/triton PR #5030",
        _MMA,
        lambda given: _is_mma(given) and bool(given.layout.in_columns(REGISTER)),
        _repeated_once_less,
    ),
    _mutant(
        4,
        "per_phase_is_twice_as_long",
        "triton-lang/triton #4433",
        _SWIZZLED,
        _always,
        other(per_phase=lambda e: 2 * e.per_phase),
    ),
    _mutant(
        4,
        "phase_is_reduced_before_it_is_divided",
        "triton-lang/triton PR #3705",
        _SWIZZLED,
        lambda given: given.encoding.per_phase > 1 < given.encoding.max_phase,
        _phase_of_half,
    ),
    _mutant(
        5,
        "swizzle_reaches_twice_as_far",
        "triton-lang/triton PR #11295",
        _SWIZZLED,
        _always,
        other(max_phase=lambda e: 2 * e.max_phase),
    ),
    _mutant(
        6,
        "elements_of_a_thread_are_not_wrapped",
        "intel/intel-xpu-backend-for-triton #1153",
        _BLOCKED,
        _wide_threads,
        _spilled,
    ),
    _mutant(
        14,
        "broadcast_lanes_are_dropped",
        "to_linear_layout drops zero bases of registers only",
        _DISTRIBUTED,
        _has_zero(LANE),
        _without_zeros(LANE),
    ),
    _mutant(
        14,
        "broadcast_warps_are_dropped",
        "to_linear_layout drops zero bases of registers only",
        _DISTRIBUTED,
        _has_zero(WARP),
        _without_zeros(WARP),
    ),
    _mutant(
        14,
        "broadcast_lanes_are_doubled",
        "to_linear_layout drops zero bases of registers only",
        _DISTRIBUTED,
        _has_zero(LANE),
        _doubled,
    ),
    _mutant(
        17,
        "a_dim_of_size_one_is_not_the_contiguous_one",
        "NVIDIA/cutlass #3031",
        _BLOCKED,
        _fast_dim_of_size_one,
        other(order=lambda e: (*e.order[1:], e.order[0])),
    ),
)
