"""Random pairs of layouts to convert between, from a seed, and what kind they are.

Encodings of all distributed kinds that fit one another (same threads, same tensor),
some with an xor of index bits or an affine offset on top, and free matrices. The same
seed gives the same pairs.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from algebra import AffineLayout, LayoutError, LinearLayout, gauss
from algebra.dims import BLOCK, HARDWARE_DIMS, LANE, REGISTER, WARP
from algebra.encodings import from_dict

from .random_encodings import random_case

KINDS = (
    "blocked",
    "slice",
    "dot_operand",
    "nvidia_mma",
    "amd_mfma",
    "amd_wmma",
    "linear",
)
ELEMENT_BITS = (8, 16, 32, 64, 128)
MAX_BITS = 13
POOL = 1500
ATTEMPTS = 100


@dataclass(frozen=True, slots=True)
class Pair:
    """A conversion to plan.

    Attributes:
        src: Source layout.
        dst: Destination layout.
        element_bits: Size of an element [bits].
        kinds: Kinds of the two encodings.
    """

    src: LinearLayout | AffineLayout
    dst: LinearLayout | AffineLayout
    element_bits: int
    kinds: tuple[str, str]

    @property
    def has_broadcast(self) -> bool:
        """Whether a side holds some element more than once."""
        return any(not linear(side).is_injective for side in (self.src, self.dst))

    @property
    def permutes_bits(self) -> bool:
        """Whether each index bit of a side selects one index bit of the other."""
        sides = [linear(side).columns for side in (self.src, self.dst)]
        return all(c.bit_count() <= 1 for columns in sides for c in columns)

    @property
    def mixes_warps(self) -> bool:
        """Whether warp bits do not select the same elements on both sides."""
        src, dst = linear(self.src), linear(self.dst)
        dst = dst.transpose_outs(src.out_names)
        return src.in_columns(WARP) != dst.in_columns(WARP)


def linear(side: LinearLayout | AffineLayout) -> LinearLayout:
    """Return the linear part."""
    return side if isinstance(side, LinearLayout) else side.linear


def random_pairs(seed: int, count: int) -> Iterator[Pair]:
    """Yield ``count`` pairs.

    Args:
        seed: Same seed, same pairs.
        count: Number of pairs.
    """
    rng = Random(seed)
    pools = _pools(rng)
    keys = sorted(pools)
    while count:
        pair = _free_pair(rng) if rng.random() < 0.15 else None
        if pair is None:
            pair = _encoded_pair(rng, pools[rng.choice(keys)])
        if pair is not None:
            count -= 1
            yield pair


Item = tuple[str, dict[str, object], tuple[int, ...]]
Key = tuple[int, ...]


def _pools(rng: Random) -> dict[Key, list[Item]]:
    """Group random encodings by rank and numbers of lanes, warps and blocks."""
    pools: dict[Key, list[Item]] = defaultdict(list)
    for _ in range(POOL):
        kind = rng.choice(KINDS)
        case = random_case(rng, kind)
        layout = from_dict(case.encoding).to_linear_layout(case.shape)
        if not set(layout.in_names) <= set(HARDWARE_DIMS):
            continue
        sizes = (
            layout.get_in_dim_size(dim) if layout.has_in_dim(dim) else 1
            for dim in (LANE, WARP, BLOCK)
        )
        key = (len(case.shape), *sizes)
        pools[key].append((kind, case.encoding, case.shape))
    return {key: pool for key, pool in pools.items() if len(pool) > 3}


def _encoded_pair(rng: Random, pool: list[Item]) -> Pair | None:
    """Draw two encodings and a tensor for both."""
    (kind, encoding, shape), (other, second, _) = rng.choice(pool), rng.choice(pool)
    sizes = list(shape)
    while sum(size.bit_length() - 1 for size in sizes) > MAX_BITS:
        sizes[sizes.index(max(sizes))] //= 2
    try:
        src = from_dict(encoding).to_linear_layout(sizes)
        dst = from_dict(second).to_linear_layout(sizes)
    except LayoutError:
        return None
    if src.out_dims != dst.out_dims or not (src.is_surjective and dst.is_surjective):
        return None
    src, dst = (
        layout
        if layout.get_in_dim_size_log2(REGISTER) <= 9
        else layout.remove_zero_bases_along_dim(REGISTER)
        for layout in (src, dst)
    )
    bits = rng.choice(ELEMENT_BITS)
    if rng.random() < 0.25:
        dst = _mixed(rng, dst)
    sides: list[LinearLayout | AffineLayout] = [src, dst]
    if rng.random() < 0.15:
        at = rng.randrange(2)
        offset = {name: rng.randrange(size) for name, size in src.out_dims.items()}
        sides[at] = AffineLayout(linear(sides[at]), offset)
    return Pair(sides[0], sides[1], bits, (kind, other))


def _mixed(rng: Random, layout: LinearLayout) -> LinearLayout:
    """Xor some index bits of the tensor to others."""
    total = sum(layout.out_bits)
    columns = [1 << bit for bit in range(total)]
    for _ in range(rng.randint(1, 4)):
        if total > 1:
            target, source = rng.sample(range(total), 2)
            columns[target] ^= columns[source]
    outs = dict(zip(layout.out_names, layout.out_bits, strict=True))
    return LinearLayout.from_columns(
        dict(zip(layout.in_names, layout.in_bits, strict=True)),
        outs,
        gauss.matmul(columns, layout.columns),
    )


def _free_pair(rng: Random) -> Pair | None:
    """Draw two surjective matrices over the same threads, perhaps the same warps."""
    lanes, warps = rng.choice(((5, 0), (5, 1), (5, 2), (6, 1), (3, 1)))
    registers = rng.randint(0, 4), rng.randint(0, 4)
    total = lanes + warps + min(registers) - rng.choice((0, 0, 1))
    keep = rng.random() < 0.5
    sides = []
    warp_columns: list[int] = []
    for extra in registers:
        for _ in range(ATTEMPTS):
            count = extra + lanes + warps
            columns = [rng.getrandbits(total) for _ in range(count)]
            if rng.random() < 0.3:
                columns[rng.randrange(count)] = 0
            if keep and warp_columns:
                columns[count - warps :] = warp_columns
            if gauss.rank(columns) == total:
                break
        else:
            return None
        warp_columns = columns[len(columns) - warps :] if warps else []
        dims = {REGISTER: extra, LANE: lanes, WARP: warps, BLOCK: 0}
        sides.append(LinearLayout.from_columns(dims, {"dim0": total}, columns))
    return Pair(sides[0], sides[1], rng.choice(ELEMENT_BITS), ("matrix", "matrix"))
