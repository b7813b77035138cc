"""Parameters of the encodings of shared and tensor memory as Triton prints them."""

from typing import Any

from algebra.encodings import (
    Cga,
    PaddedShared,
    SharedLinear,
    TensorMemory,
    TensorMemoryScales,
)
from algebra.errors import UnsupportedLayoutError

from .fields import OLD, Pairs, Print, Writer, bases, braces, cga, fields


def _swizzled(encoding: Any, release: str, show: Print) -> Pairs:
    return [
        ("vec", encoding.vec),
        ("perPhase", encoding.per_phase),
        ("maxPhase", encoding.max_phase),
        ("order", encoding.order),
        *cga(encoding),
    ]


def _nvmma_shared(encoding: Any, release: str, show: Print) -> Pairs:
    pairs = [
        ("swizzlingByteWidth", encoding.swizzle_byte_width),
        ("transposed", encoding.transposed),
        ("elementBitWidth", encoding.element_bit_width),
    ]
    if encoding.fp4_padded:
        pairs.append(("fp4Padded", True))
    if encoding.rank != 2 and not encoding.cga.bases:
        pairs.append(("rank", encoding.rank))
    return pairs + cga(encoding)


def _partitioned(encoding: Any, release: str, show: Print) -> Pairs:
    return [
        ("numPartitions", encoding.num_partitions),
        ("numGroups", encoding.num_groups),
        ("partitionDim", encoding.partition_dim),
        ("partitionLayout", show(encoding.partition_layout)),
    ]


def padded_shared(encoding: PaddedShared) -> str:
    """Return the attribute: paddings, then an order and a shape or bases."""
    paddings = ", ".join(
        f"{interval}:+{padding}"
        for interval, padding in zip(encoding.intervals, encoding.paddings, strict=True)
    )
    pairs = bases(encoding, ("offset", "block"))
    steps = [max(range(encoding.rank), key=v.__getitem__) for v in encoding.offset]
    visited = list(dict.fromkeys(steps))
    rest = [dim for dim in reversed(range(encoding.rank)) if dim not in visited]
    plain = PaddedShared.with_identity(
        intervals=encoding.intervals,
        paddings=encoding.paddings,
        shape=encoding.shape,
        order=visited + rest,
    )
    if plain == encoding:
        pairs = [("order", visited + rest), ("shape", encoding.shape)]
    return f"#ttg.padded_shared<[{paddings}] {braces(pairs)}>"


def shared_linear(encoding: SharedLinear) -> str:
    """Return the attribute: bases in braces, the alignment after them."""
    pairs = bases(encoding, ("offset", "block"), optional=1)
    return f"#ttg.shared_linear<{braces(pairs)}, alignment = {encoding.alignment}>"


def tensor_memory(encoding: TensorMemory | TensorMemoryScales, release: str) -> str:
    """Return the attribute, whose parameters stand without braces.

    Raises:
        UnsupportedLayoutError: a split over a cluster that the release cannot spell.
    """
    pairs: Pairs = []
    flags: Pairs = []
    if isinstance(encoding, TensorMemory):
        pairs = [
            ("blockM", encoding.block_m),
            ("blockN", encoding.block_n),
            ("colStride", encoding.col_stride),
        ]
        flags = [("twoCTAs", encoding.two_ctas), ("fp4Padded", encoding.fp4_padded)]
    split = cga(encoding)
    if release == OLD:
        split = _split_lists(encoding.cga)
    pairs = [*pairs, *split, *((name, True) for name, given in flags if given)]
    return f"#ttng.{encoding.kind}_encoding<{fields(pairs)}>"


def _split_lists(split: Cga) -> Pairs:
    """Return the parts along M and N, if they say all that the bases say."""
    bits = [sum(basis[dim] > 0 for basis in split.bases) for dim in (0, 1)]
    parts = [1 << count for count in bits]
    if Cga.from_split(parts, parts, (0, 1)) != split:
        raise UnsupportedLayoutError(
            f"release {OLD} spells the split of tensor memory with CTASplitM and "
            f"CTASplitN, which cannot say {split}; print it for a later release",
            cga=split,
        )
    return [
        (f"CTASplit{name}", size)
        for name, size in zip("MN", parts, strict=True)
        if size > 1
    ]


MEMORY_WRITERS: dict[str, Writer] = {
    "amd_rotating_shared": _swizzled,
    "nvmma_shared": _nvmma_shared,
    "partitioned_shared": _partitioned,
    "swizzled_shared": _swizzled,
}
"""Writers by the kind of encoding; the others are printed as a whole."""
