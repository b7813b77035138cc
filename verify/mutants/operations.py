"""Faults in the operations of the algebra: inverse, division, composition, equality.

The judge is the operation's law; see ``laws``.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from algebra import LayoutError, LinearLayout, gauss, transpose_linear_layout
from algebra.dims import HARDWARE_DIMS, standard_out_dim_names
from algebra.encodings import Blocked, from_dict
from verify.oracle.random_encodings import random_case
from verify.oracle.random_matrices import random_surjective

from . import laws
from .mutant import Mutant


@dataclass(frozen=True, slots=True)
class Pair:
    """Two layouts that an operation takes, and what else it takes."""

    first: LinearLayout
    second: LinearLayout
    more: Any = None


def _cut(rng: Random, names: tuple[str, ...], bits: int) -> dict[str, int]:
    """Return dims with ``bits`` bits in all."""
    widths = dict.fromkeys(names, 0)
    for _ in range(bits):
        widths[rng.choice(names)] += 1
    return widths


def _layout(rng: Random, outs: dict[str, int], extra: int) -> LinearLayout:
    """Return a random surjective layout of hardware dims onto ``outs``."""
    bits = sum(outs.values())
    columns = random_surjective(rng, bits + extra, bits)
    ins = _cut(rng, HARDWARE_DIMS[:3], len(columns))
    return LinearLayout.from_columns(ins, outs, columns)


def _outs(rng: Random, rank: int = 2, bits: int = 6) -> dict[str, int]:
    return _cut(rng, standard_out_dim_names(rank), bits)


def _conversion(rng: Random) -> Pair:
    """Draw a source and a destination that share a dim now and then."""
    outs = _outs(rng)
    src = _layout(rng, outs, rng.randint(0, 2))
    dst = _layout(rng, outs, rng.randint(0, 3))
    if rng.random() < 0.5:
        columns = list(src.columns)
        rest = src.in_bits[0]
        for _ in range(4):
            target = rng.randrange(rest, len(columns)) if rest < len(columns) else 0
            source = rng.randrange(len(columns))
            if target >= rest and target != source:
                columns[target] ^= columns[source]
        ins = dict(zip(src.in_names, src.in_bits, strict=True))
        dst = LinearLayout.from_columns(ins, outs, columns)
    return Pair(src, dst)


def _blocked_pair(rng: Random) -> Pair | None:
    """Draw a conversion between two blocked layouts; the second's warps are turned."""
    case = random_case(rng, "blocked")
    encoding = from_dict(case.encoding)
    if not isinstance(encoding, Blocked) or len(case.shape) < 2 or encoding.cga.bases:
        return None
    turned = replace(encoding, warps_per_cta=encoding.warps_per_cta[::-1])
    src = encoding.to_linear_layout(case.shape)
    return Pair(src, turned.to_linear_layout(case.shape), src)


def _convert(pair: Pair) -> LinearLayout:
    return pair.first.invert_and_compose(pair.second)


def _same_warps(pair: Pair) -> LinearLayout:
    """Take the warps of the source for those of the destination."""
    identity: LinearLayout = pair.first.invert_and_compose(pair.more)
    return identity


def _columns_turned(pair: Pair) -> LinearLayout:
    """Give the solved columns to the wrong in-dims where some dims were skipped."""
    right = _convert(pair)
    same = [
        name
        for name in right.in_names
        if pair.second.has_in_dim(name)
        and pair.first.in_columns(name) == pair.second.in_columns(name)
    ]
    if not same:
        return right
    skipped = [c for n in right.in_names if n in same for c in right.in_columns(n)]
    solved = [c for n in right.in_names if n not in same for c in right.in_columns(n)]
    return _like(right, [*skipped, *solved])


def _remote(pair: Pair) -> LinearLayout:
    """Take the last copy of an element that is in several places, not the first."""
    right = _convert(pair)
    masks = gauss.kernel(pair.second.columns)
    same = {
        name
        for name in pair.second.in_names
        if pair.first.has_in_dim(name)
        and pair.first.in_columns(name) == pair.second.in_columns(name)
    }
    columns = []
    for name in right.in_names:
        for column in right.in_columns(name):
            columns.append(column if name in same or not masks else column ^ masks[-1])
    return _like(right, columns)


def _like(layout: LinearLayout, columns: list[int]) -> LinearLayout:
    return LinearLayout.from_columns(
        dict(zip(layout.in_names, layout.in_bits, strict=True)),
        dict(zip(layout.out_names, layout.out_bits, strict=True)),
        columns,
    )


def _batched(rng: Random) -> Pair:
    layout = _layout(rng, _outs(rng, rank=3), rng.randint(0, 2))
    return Pair(layout, layout, (0, 2, 1))


def _part(rng: Random) -> Pair:
    layout = _layout(rng, _outs(rng, rank=3, bits=7), 2)
    names = list(layout.out_names)
    rng.shuffle(names)
    ins = [name for name in layout.in_names if rng.random() < 0.7]
    return Pair(layout, layout, (ins, names[: rng.randint(1, 3)]))


def _set_order(pair: Pair) -> LinearLayout:
    """Keep the caller's order of names for values that stand in the layout's order."""
    ins, outs = pair.more
    part = pair.first.sublayout(ins, outs)
    sizes = [part.out_dims[name] for name in part.out_names]
    names = [name for name in outs if name in part.out_names]
    return part.reshape_outs(dict(zip(names, sizes, strict=True)))


def _division(rng: Random) -> Pair:
    tile = _layout(rng, _outs(rng, bits=rng.randint(0, 4)), rng.randint(0, 1))
    reps = _layout(rng, _outs(rng, bits=rng.randint(0, 4)), rng.randint(0, 2))
    return Pair(tile * reps, tile)


def _divide(pair: Pair) -> LinearLayout | None:
    return pair.first.divide_left(pair.second)


def _unscaled(pair: Pair) -> LinearLayout | None:
    """Forget to divide the images by the size of the tile."""
    right = _divide(pair)
    if right is None:
        return None
    scaled = {
        name: size * pair.second.out_dims.get(name, 1)
        for name, size in right.out_dims.items()
    }
    bases = {
        name: [
            [
                value * pair.second.out_dims.get(out, 1)
                for value, out in zip(vector, right.out_names, strict=True)
            ]
            for vector in vectors
        ]
        for name, vectors in right.bases.items()
    }
    return LinearLayout.from_bases(bases, scaled, require_surjective=False)


def _refused(pair: Pair) -> LinearLayout | None:
    """Refuse to divide where a dim of the quotient has size 1."""
    right = _divide(pair)
    if right is not None and 0 in (*right.in_bits, *right.out_bits):
        return None
    return right


def _two_sizes(rng: Random) -> Pair:
    layout = _layout(rng, _outs(rng), 1)
    wide = dict(layout.out_dims)
    name = rng.choice(list(wide))
    wide[name] *= rng.choice([1, 2, 4])
    bases = layout.bases
    return Pair(layout, LinearLayout.from_bases(bases, wide, require_surjective=False))


def _small_outer(rng: Random) -> Pair:
    outs = _outs(rng)
    inner = _layout(rng, outs, 1)
    bits = {name: max(0, width - rng.randint(0, 1)) for name, width in outs.items()}
    total = sum(bits.values())
    columns = random_surjective(rng, total, total)
    return Pair(inner, LinearLayout.from_columns(bits, {"offset": total}, columns))


def _compose(pair: Pair) -> LinearLayout | None:
    try:
        return pair.first.compose(pair.second)
    except LayoutError:
        return None


def _compose_anyway(pair: Pair) -> LinearLayout | None:
    """Compose with whatever bits the outer layout has."""
    inner = pair.first
    for name, size in pair.second.in_dims.items():
        inner = inner.resize_out_dim(name, min(size, inner.out_dims[name]))
    return inner.compose(pair.second)


def _onto(rng: Random) -> Pair:
    layout = _layout(rng, _outs(rng), rng.randint(0, 3))
    return Pair(layout, layout)


def _any_inverse(pair: Pair) -> LinearLayout:
    """Return a right inverse, but not the smallest."""
    right = pair.first.pseudoinvert()
    kernel = gauss.kernel(pair.first.columns)
    columns = [c ^ kernel[0] if kernel else c for c in right.columns]
    return _like(right, columns)


def _mutant(
    number: int,
    name: str,
    precedent: str,
    configure: Callable[[Random], Pair | None],
    right: Callable[[Pair], Any],
    wrong: Callable[[Pair], Any],
    judge: Callable[[Pair, Any], Any],
) -> Mutant:
    return Mutant(
        number=number,
        name=name,
        precedent=precedent,
        configure=configure,
        right=right,
        wrong=wrong,
        judge=judge,
    )


def _judge_conversion(pair: Pair, got: LinearLayout) -> Any:
    return laws.conversion_is_right(pair.first, pair.second, got)


def _judge_division(pair: Pair, got: LinearLayout | None) -> Any:
    return laws.quotient_is_right(pair.first, pair.second, got)


OPERATION_MUTANTS = (
    _mutant(
        7,
        "conversion_takes_the_warps_of_the_source",
        "triton-lang/triton #1910",
        _blocked_pair,
        _convert,
        _same_warps,
        _judge_conversion,
    ),
    _mutant(
        8,
        "transpose_swaps_the_batch_dim",
        "triton-lang/triton PR #6482",
        _batched,
        lambda pair: transpose_linear_layout(pair.first, pair.more),
        lambda pair: transpose_linear_layout(pair.first, (1, 0, 2)),
        lambda pair, got: laws.transposition_is_right(pair.first, got, pair.more),
    ),
    _mutant(
        9,
        "inverse_gives_bases_to_the_wrong_dims",
        "triton-lang/triton PR #5468",
        _conversion,
        _convert,
        _columns_turned,
        _judge_conversion,
    ),
    _mutant(
        10,
        "sublayout_reorders_its_out_dims",
        "triton-lang/triton PR #4968",
        _part,
        lambda pair: pair.first.sublayout(*pair.more),
        _set_order,
        lambda pair, got: laws.restriction_is_right(pair.first, got, *pair.more),
    ),
    _mutant(
        11,
        "division_forgets_the_size_of_the_tile",
        "triton-lang/triton PR #4530",
        _division,
        _divide,
        _unscaled,
        _judge_division,
    ),
    _mutant(
        11,
        "division_fails_at_dims_of_size_one",
        "triton-lang/triton #6652",
        _division,
        _divide,
        _refused,
        _judge_division,
    ),
    _mutant(
        12,
        "equality_does_not_see_sizes",
        "triton-lang/triton PR #10116",
        _two_sizes,
        lambda pair: pair.first == pair.second,
        lambda pair: pair.first.equal_ignoring_out_dim_sizes(pair.second),
        lambda pair, said: laws.equality_is_right(pair.first, pair.second, said),
    ),
    _mutant(
        13,
        "a_remote_copy_is_read",
        "triton-lang/triton PR #4124",
        _conversion,
        _convert,
        _remote,
        _judge_conversion,
    ),
    _mutant(
        15,
        "composition_leaves_its_domain",
        "NVIDIA/cutlass #3177",
        _small_outer,
        _compose,
        _compose_anyway,
        lambda pair, got: laws.composition_is_right(pair.first, pair.second, got),
    ),
    _mutant(
        16,
        "right_inverse_is_not_the_smallest",
        "NVIDIA/cutlass #3485",
        _onto,
        lambda pair: pair.first.pseudoinvert(),
        _any_inverse,
        lambda pair, got: laws.right_inverse_is_smallest(pair.first, got),
    ),
)
