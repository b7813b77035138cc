"""A legacy index formula and a linear layout: equal at every position, or not where.

The formula and the layout become terms over the bits of register, lane, warp and
block, and a solver looks for a position where they differ. Nothing is sampled: the
answer is about all registers of all lanes of all warps of all blocks.

For shared memory the formula runs the other way, from coordinates to an offset; then
the layout of that offset must give the coordinates back, for all coordinates. Both
sides have as many offsets as coordinates, so this pins the whole layout.
"""

from collections.abc import Sequence
from typing import Any

from algebra.dims import BLOCK, OFFSET, dim_name
from algebra.encodings import Encoding
from algebra.layout import LinearLayout
from algebra.verdict import Proved, Refuted, Unknown, Verdict

from .legacy import (
    DistributedModel,
    SharedModel,
    block_offset_of_bases,
    shape_per_block,
    split_of_bases,
)
from .models import PaddedModel, model_of, split_over_blocks
from .solver import Z3, prove
from .terms import (
    ZERO,
    Formula,
    Term,
    all_of,
    equal,
    implies,
    less,
    lift,
    variable,
)


def prove_encoding(
    encoding: Encoding,
    shape: Sequence[int],
    *,
    release: str = "3.9",
    timeout: float = 10.0,
    solver: str = Z3,
    layout: LinearLayout | None = None,
) -> Verdict:
    """Prove that the linear layout of an encoding is its legacy index formula.

    Args:
        encoding: Any encoding of ``algebra.encodings``.
        shape: Tensor shape, powers of two.
        release: Triton release whose layouts are meant.
        timeout: Limit of a solver call [seconds].
        solver: ``"z3"``, ``"bitwuzla"`` or ``"both"``.
        layout: Layout to compare with; default ``encoding.to_linear_layout(shape)``.

    Returns:
        ``Proved``; or ``Refuted`` with the register, lane, warp and block (for shared
        memory: offset and block) and both positions there; or ``Unknown`` where the
        kind has no legacy formula or the limit was reached.

    Raises:
        EncodingError: the shape does not fit the encoding.

    Example:
        >>> from algebra.encodings import Blocked
        >>> encoding = Blocked(
        ...     size_per_thread=[1, 4],
        ...     threads_per_warp=[4, 8],
        ...     warps_per_cta=[2, 1],
        ...     order=[1, 0],
        ... )
        >>> prove_encoding(encoding, [64, 64]).method
        'z3'

    Source: K. Zhou et al., "Linear Layouts", the claim that legacy layouts are
    instances; ``verify.legacy`` names the upstream function of each formula.
    """
    if layout is None:
        layout = encoding.to_linear_layout(shape, release)
    bases = split_over_blocks(encoding, release).bases
    split = split_of_bases(shape, bases)
    model = model_of(encoding, shape_per_block(shape, split), shape, release)
    if model is None:
        return Unknown(
            f"no legacy formula for {encoding.kind}: the encoding is younger than "
            "linear layouts, or verify.legacy does not model it"
        )
    if isinstance(model, PaddedModel):
        return _prove_injective(model, solver, timeout)
    sizes = list(layout.out_dims.values())
    if sizes != list(shape):
        return Refuted({"shape": list(shape), "out_dims": sizes})
    if isinstance(model, SharedModel):
        return _prove_shared(layout, model, shape, bases, solver, timeout)
    return _prove_distributed(layout, model, shape, bases, solver, timeout)


def _prove_distributed(
    layout: LinearLayout,
    model: DistributedModel,
    shape: Sequence[int],
    bases: Sequence[Sequence[int]],
    solver: str,
    timeout: float,
) -> Verdict:
    register, lane, warp = model.names
    counts = {
        register: model.registers,
        lane: model.lanes,
        warp: model.warps,
        BLOCK: 1 << len(bases),
    }
    if not warp:
        del counts[warp]
    sizes = dict(zip(layout.in_names, layout.in_bits, strict=True))
    if set(sizes) - set(counts):
        return Unknown(f"no legacy formula for in_dims {list(sizes)}")
    inputs = {
        name: variable(name, min(sizes.get(name, 0), count.bit_length() - 1))
        for name, count in counts.items()
    }

    def legacy_at(at: dict[str, Any]) -> list[Any]:
        within = model.position(at[register], at[lane], at[warp] if warp else 0)
        start = block_offset_of_bases(at[BLOCK], shape, bases)
        return [a + b for a, b in zip(within, start, strict=True)]

    claim = _same(legacy_at(inputs), linear_terms(layout, inputs))
    verdict = prove(claim, solver=solver, timeout=timeout)
    if isinstance(verdict, Refuted):
        at = dict.fromkeys(counts, 0) | verdict.counterexample
        return _refuted(at, legacy_at(at), layout, {n: at[n] for n in sizes})
    for name, count in counts.items():
        size = 1 << sizes.get(name, 0)
        if size != count and isinstance(verdict, Proved):
            return Refuted(_missing(name, size, count, counts, legacy_at, layout))
    return verdict


def _missing(
    name: str,
    size: int,
    count: int,
    counts: dict[str, int],
    legacy_at: Any,
    layout: LinearLayout,
) -> dict[str, Any]:
    """Describe a hardware index that one side has and the other lacks."""
    at = dict.fromkeys(counts, 0)
    at[name] = min(size, count)
    given = {n: at[n] for n in layout.in_names}
    return at | {
        "legacy": _named(legacy_at(at)) if count > size else None,
        "linear": layout.apply(given) if size > count else None,
    }


def _prove_shared(
    layout: LinearLayout,
    model: SharedModel,
    shape: Sequence[int],
    bases: Sequence[Sequence[int]],
    solver: str,
    timeout: float,
) -> Verdict:
    within = [
        variable(dim_name(d), size.bit_length() - 1)
        for d, size in enumerate(model.shape)
    ]
    block = variable(BLOCK, len(bases))

    def wanted(coordinates: Sequence[Any], block: Any) -> list[Any]:
        start = block_offset_of_bases(block, shape, bases)
        return [a + b for a, b in zip(coordinates, start, strict=True)]

    offset = lift(model.offset(within))
    spare = [variable(f"spare{place}", 1) * place for place in model.spare]
    for copy in spare:
        offset = offset ^ copy
    inputs = {OFFSET: offset, BLOCK: block}
    sizes = dict(zip(layout.in_names, layout.in_bits, strict=True))
    if set(sizes) - set(inputs):
        return Unknown(f"no legacy formula for in_dims {list(sizes)}")
    places = sum(size.bit_length() - 1 for size in model.shape) + len(spare)
    if offset.ones >> sizes[OFFSET] or places != sizes[OFFSET]:
        return Refuted(
            {"offsets of the layout": 1 << sizes[OFFSET], "addresses": 1 << places}
        )
    claim = _same(wanted(within, block), linear_terms(layout, inputs))
    verdict = prove(claim, solver=solver, timeout=timeout)
    if isinstance(verdict, Refuted):
        found = verdict.counterexample
        here = [found.get(dim_name(d), 0) for d in range(len(shape))]
        at = {OFFSET: int(model.offset(here)), BLOCK: found.get(BLOCK, 0)}
        for place in model.spare:
            at[OFFSET] ^= found.get(f"spare{place}", 0) * place
        return _refuted(at, wanted(here, at[BLOCK]), layout, {n: at[n] for n in sizes})
    if model.note and isinstance(verdict, Proved):
        return Proved(verdict.method, (*verdict.facts, ("note", model.note)))
    return verdict


def _prove_injective(model: PaddedModel, solver: str, timeout: float) -> Verdict:
    """Prove that no two offsets share an address: padding has no linear layout."""
    one, other = (variable(name, model.bits) for name in ("offset", "other"))
    claim = implies(less(one, other), less(model.address(one), model.address(other)))
    verdict = prove(claim, solver=solver, timeout=timeout)
    if isinstance(verdict, Proved):
        note = "addresses grow with offsets; a padded layout is not linear"
        return Proved(verdict.method, (*verdict.facts, ("note", note)))
    return verdict


def _refuted(
    at: dict[str, int],
    legacy: Sequence[int],
    layout: LinearLayout,
    given: dict[str, int],
) -> Verdict:
    """Replay a counterexample on ints; only one that replays is a refutation."""
    linear = layout.apply(given)
    if list(linear.values()) == list(legacy):
        return Unknown(f"the solver's counterexample {at} does not replay")
    return Refuted({**at, "legacy": _named(legacy), "linear": linear})


def _named(coordinates: Sequence[int]) -> dict[str, int]:
    return {dim_name(d): int(value) for d, value in enumerate(coordinates)}


def _same(left: Sequence[Term | int], right: Sequence[Term]) -> Formula:
    return all_of(equal(a, b) for a, b in zip(left, right, strict=True))


def linear_terms(layout: LinearLayout, inputs: dict[str, Term]) -> list[Term]:
    """Return the layout of symbolic inputs, one term an out-dim.

    Bits that move by the same distance move together: each distance costs a mask and
    a shift, whatever the number of bits. A dim that has no input counts as zero.

    Args:
        layout: Any layout.
        inputs: In-dim -> term whose value lies within the dim.

    Example:
        >>> layout = LinearLayout.identity_1d(8, "lane", "dim0")
        >>> linear_terms(layout, {"lane": variable("lane", 3)})[0].ones
        7
    """
    ranges = []
    low = 0
    for bits in layout.out_bits:
        ranges.append((low, (1 << bits) - 1))
        low += bits
    totals = [ZERO] * len(ranges)
    first = 0
    for name, bits in zip(layout.in_names, layout.in_bits, strict=True):
        source = inputs.get(name, ZERO)
        columns = layout.columns[first : first + bits]
        first += bits
        for place, (low, mask) in enumerate(ranges):
            moves: dict[int, int] = {}
            for bit, column in enumerate(columns):
                image = column >> low & mask
                while image:
                    distance = image.bit_length() - 1 - bit
                    moves[distance] = moves.get(distance, 0) | 1 << bit
                    image ^= 1 << distance + bit
            for distance, bits_moved in moves.items():
                part = source & bits_moved
                if distance >= 0:
                    part = part * (1 << distance)
                else:
                    part = part // (1 << -distance)
                totals[place] = totals[place] ^ part
    return totals
