"""Random encodings from a seed, valid by construction, in the form of ``from_dict``.

For counting: tens of thousands of cases a minute, the same ones for the same seed.
To search and to shrink there is ``verify.strategies`` instead.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from .random_matrices import random_permutation_bases

MAX_ELEMENTS = 1 << 20
MAX_REGISTERS = 1 << 12


@dataclass(frozen=True, slots=True)
class Case:
    """An encoding with the shape of a tensor.

    Attributes:
        encoding: What ``algebra.encodings.from_dict`` takes.
        shape: Tensor shape [elements].
    """

    encoding: dict[str, Any]
    shape: tuple[int, ...]

    @property
    def kind(self) -> str:
        """Kind of the encoding, with the kind of its parent."""
        names = []
        encoding: dict[str, Any] | None = self.encoding
        while encoding:
            names.append(str(encoding["kind"]))
            encoding = encoding.get("parent")
        return " of ".join(names)


def random_case(rng: Random, kind: str | None = None) -> Case:
    """Return a random encoding and a shape that it accepts.

    Args:
        rng: Source of randomness; its state decides the case.
        kind: One of ``KINDS``; default: all with equal weight.

    Example:
        >>> random_case(Random(1), "blocked").kind
        'blocked'
    """
    return _MAKERS[kind or rng.choice(KINDS)](rng)


def random_cases(seed: int, count: int, kinds: Sequence[str] = ()) -> list[Case]:
    """Return ``count`` random cases.

    Args:
        seed: Same seed, same cases.
        count: Number of cases.
        kinds: Kinds to draw from; default all.
    """
    rng = Random(seed)
    return [random_case(rng, rng.choice(kinds or KINDS)) for _ in range(count)]


def _power(rng: Random, low: int, high: int) -> int:
    return 1 << rng.randint(low, high)


def _parts(rng: Random, rank: int, bits: int) -> list[int]:
    """Return ``rank`` powers of two with the product ``2**bits``."""
    exponents = [0] * rank
    for _ in range(bits):
        exponents[rng.randrange(rank)] += 1
    return [1 << e for e in exponents]


def _order(rng: Random, rank: int) -> list[int]:
    order = list(range(rank))
    rng.shuffle(order)
    return order


def _shape(rng: Random, rank: int, low: Sequence[int] = ()) -> tuple[int, ...]:
    top = {1: 12, 2: 9, 3: 6}.get(rank, 4)
    while True:
        shape = [_power(rng, 0, top) for _ in range(rank)]
        for d, size in enumerate(low):
            shape[d] = max(shape[d], size)
        if math.prod(shape) <= MAX_ELEMENTS:
            return tuple(shape)


def _cga(rng: Random, rank: int) -> dict[str, Any]:
    if rng.random() < 0.7:
        return {"bases": []}
    blocks = _parts(rng, rank, rng.randint(1, 4))
    bases = []
    for d in _order(rng, rank):
        split = _power(rng, 0, blocks[d].bit_length() - 1)
        part = 1
        while part < blocks[d]:
            basis = [0] * rank
            basis[d] = part if part < split else 0
            bases.append(basis)
            part *= 2
    return {"bases": bases}


def _blocked_encoding(rng: Random, rank: int) -> dict[str, Any]:
    return {
        "kind": "blocked",
        "size_per_thread": _parts(rng, rank, rng.randint(0, 5)),
        "threads_per_warp": _parts(rng, rank, rng.choice((5, 5, 6))),
        "warps_per_cta": _parts(rng, rank, rng.randint(0, 4)),
        "order": _order(rng, rank),
        "cga": _cga(rng, rank),
    }


def _blocked(rng: Random) -> Case:
    rank = rng.choice((1, 2, 2, 2, 3, 3, 4, 5))
    return Case(_blocked_encoding(rng, rank), _shape(rng, rank))


def _mma_encoding(rng: Random, version: int, rank: int) -> dict[str, Any]:
    if version == 3:
        warps = [_power(rng, 0, 3), _power(rng, 0, 1)]
        instr = [16, _power(rng, 3, 8), rng.choice((8, 16, 32))]
    else:
        warps = _parts(rng, rank, rng.randint(0, 4))
        instr = [1] * (rank - 2) + rng.choice(([16, 8], [16, 8], [8, 8]))
    return {
        "kind": "nvidia_mma",
        "version": [version, 0],
        "warps_per_cta": warps,
        "instr_shape": instr,
        "cga": _cga(rng, rank),
    }


def _nvidia_mma(rng: Random) -> Case:
    version = rng.choice((2, 3))
    rank = 2 if version == 3 else rng.choice((2, 2, 3))
    return Case(_mma_encoding(rng, version, rank), _shape(rng, rank))


def _mfma_encoding(rng: Random, rank: int) -> dict[str, Any]:
    tile = rng.choice(([32, 32], [16, 16], [16, 16], [64, 4], [4, 64]))
    transposed = {64: True, 4: False}.get(tile[0], rng.random() < 0.5)
    neighbours = [1] * rank
    if rng.random() < 0.3:
        neighbours[-2:] = [_power(rng, 0, 1), _power(rng, 0, 1)]
    return {
        "kind": "amd_mfma",
        "version": rng.randint(1, 4),
        "warps_per_cta": _parts(rng, rank, rng.randint(0, 3)),
        "instr_shape": [*tile, _power(rng, 2, 6)],
        "is_transposed": transposed,
        "tiles_per_warp": neighbours,
        "element_bit_width": 64 if tile == [16, 16] and rng.random() < 0.3 else 32,
        "cga": _cga(rng, rank),
    }


def _amd_mfma(rng: Random) -> Case:
    rank = rng.choice((2, 2, 3))
    return Case(_mfma_encoding(rng, rank), _shape(rng, rank))


def _wmma_encoding(rng: Random, rank: int) -> dict[str, Any]:
    version = rng.randint(1, 3)
    wide = version == 3 and rng.random() < 0.05
    instr = [32, 16, 128] if wide else [16, 16, {1: 16, 2: 16}.get(version, 32)]
    tiles = [1] * rank
    if rng.random() < 0.3:
        tiles[-2:] = [_power(rng, 0, 1), _power(rng, 0, 1)]
    warps = _parts(rng, rank, rng.randint(0, 3))
    placed: dict[str, list[list[int]]] = {"register": [], "warp": []}
    for d in reversed(range(rank)):
        step = 1
        for name, size in (("register", tiles[d]), ("warp", warps[d])):
            while size > 1:
                vector = [0] * rank
                vector[d] = step
                placed[name].append(vector)
                step, size = step * 2, size // 2
    return {
        "kind": "amd_wmma",
        "version": version,
        "is_transposed": rng.random() < 0.5,
        "instr_shape": instr,
        "cta_layout": placed,
        "rank": rank,
        "cga": _cga(rng, rank),
    }


def _amd_wmma(rng: Random) -> Case:
    rank = rng.choice((2, 2, 3))
    encoding = _wmma_encoding(rng, rank)
    # upstream takes one row, or as many as the instruction has
    low = [1] * (rank - 2)
    for size in encoding["instr_shape"][:2]:
        low.append(size if rng.random() < 0.9 else 0)
    shape = _shape(rng, rank, low)
    return Case(
        encoding, tuple(s if least else 1 for s, least in zip(shape, low, strict=True))
    )


def _dot_operand(rng: Random) -> Case:
    op_idx = rng.randint(0, 1)
    parent_kind = rng.choice(("blocked", "mma2", "mma2", "mma3", "mfma", "wmma"))
    rank = 2 if parent_kind == "mma3" else rng.choice((2, 2, 3))
    k_width = 0
    if parent_kind == "blocked":
        parent = _blocked_encoding(rng, rank)
    elif parent_kind == "mma2":
        parent, k_width = _mma_encoding(rng, 2, rank), _power(rng, 0, 3)
    elif parent_kind == "mma3":
        parent, k_width, op_idx = _mma_encoding(rng, 3, 2), _power(rng, 0, 2), 0
    elif parent_kind == "mfma":
        parent, k_width = _mfma_encoding(rng, rank), _power(rng, 0, 4)
    else:
        parent = _wmma_encoding(rng, rank)
        instr_k = parent["instr_shape"][2]
        k_width = instr_k if parent["version"] == 1 else min(16, instr_k // 2)
    while True:
        encoding = {
            "kind": "dot_operand",
            "op_idx": op_idx,
            "k_width": k_width,
            "parent": parent,
        }
        shape = _shape(rng, rank)
        owned = parent.get("size_per_thread", [1] * rank)
        k = rank - 1 - op_idx
        if math.prod(owned) // owned[k] * shape[k] <= MAX_REGISTERS:
            return Case(encoding, shape)


def _slice(rng: Random) -> Case:
    parent = random_case(
        rng,
        rng.choice(("blocked", "nvidia_mma", "amd_mfma", "amd_wmma", "dot_operand")),
    )
    if len(parent.shape) < 2:
        return _slice(rng)
    dim = rng.randrange(len(parent.shape))
    encoding = {"kind": "slice", "dim": dim, "parent": parent.encoding}
    case = Case(encoding, parent.shape[:dim] + parent.shape[dim + 1 :])
    if len(case.shape) > 1 and rng.random() < 0.2:
        encoding = {"kind": "slice", "dim": 0, "parent": encoding}
        case = Case(encoding, case.shape[1:])
    return case


def _swizzled_shared(rng: Random) -> Case:
    rank = rng.choice((1, 2, 2, 2, 3, 4))
    parameters = [_power(rng, 0, top) for top in (4, 3, 4)]
    if rank == 1:
        parameters = [1, 1, 1]
    encoding = {
        "kind": "swizzled_shared",
        **dict(zip(("vec", "per_phase", "max_phase"), parameters, strict=True)),
        "order": _order(rng, rank),
        "cga": _cga(rng, rank),
    }
    return Case(encoding, _shape(rng, rank))


def _amd_rotating_shared(rng: Random) -> Case:
    case = _swizzled_shared(rng)
    while len(case.shape) < 2 or case.encoding["cga"]["bases"]:
        case = _swizzled_shared(rng)
    return Case({**case.encoding, "kind": "amd_rotating_shared"}, case.shape)


def _nvmma_shared(rng: Random) -> Case:
    rank = rng.choice((2, 2, 2, 3, 4))
    swizzle = rng.choice((0, 32, 64, 128))
    bits = rng.choice((8, 8, 16, 16, 32, 64))
    padded = swizzle == 128 and bits == 8 and rng.random() < 0.3
    transposed = rank == 2 and not padded and rng.random() < 0.4
    row = 8 * max(swizzle, 16) // bits // (2 if padded else 1)
    low = [1] * rank
    low[0 if transposed else -1] = row
    low[-1 if transposed else -2] = 8
    cga: dict[str, Any] = {"bases": []}
    encoding = {
        "kind": "nvmma_shared",
        "swizzle_byte_width": swizzle,
        "transposed": transposed,
        "element_bit_width": bits,
        "fp4_padded": padded,
        "rank": rank,
        "cga": cga,
    }
    shape = _shape(rng, rank, low)
    if rng.random() < 0.25:
        cga["bases"] = _cga(rng, rank)["bases"]
        reach = [max((b[d] for b in cga["bases"]), default=0) for d in range(rank)]
        shape = tuple(
            size << top.bit_length() for size, top in zip(shape, reach, strict=True)
        )
    return Case(encoding, shape)


def _linear(rng: Random) -> Case:
    rank = rng.choice((1, 2, 2, 3))
    bits = [rng.randint(0, 4) for _ in range(rank)]
    groups = random_permutation_bases(rng, bits, rng.randint(0, 2))
    names = ("register", "lane", "warp", "block")
    count = len(groups)
    lanes = min(5, count)
    warps = min(rng.randint(0, 3), count - lanes)
    blocks = rng.randint(0, 1) if count > lanes + warps else 0
    cuts = [count - lanes - warps - blocks, lanes, warps, blocks]
    bases: dict[str, list[list[int]]] = {}
    for name, size in zip(names, cuts, strict=True):
        bases[name], groups = groups[:size], groups[size:]
    bases["lane"] += [[0] * rank for _ in range(5 - lanes)]
    bases["register"] = [basis for basis in bases["register"] if any(basis)]
    shape = tuple(1 << b for b in bits)
    return Case({"kind": "linear", **bases, "shape": list(shape)}, shape)


def _shared_linear(rng: Random) -> Case:
    rank = rng.choice((1, 2, 2, 3))
    while True:
        bits = [rng.randint(0, 5) for _ in range(rank)]
        if sum(bits):
            break
    bases = random_permutation_bases(rng, bits, 0, mixed=True)
    block = 1 if len(bases) > 1 and rng.random() < 0.2 else 0
    shape = tuple(1 << b for b in bits)
    encoding = {
        "kind": "shared_linear",
        "offset": bases[block:],
        "block": bases[:block],
        "alignment": _power(rng, 4, 7),
    }
    return Case(encoding, shape)


def _tensor_memory(rng: Random) -> Case:
    block_m = rng.choice((64, 128, 128))
    block_n = _power(rng, 3, 8)
    encoding = {
        "kind": "tensor_memory",
        "block_m": block_m,
        "block_n": block_n,
        "col_stride": rng.choice((1, 1, 2, 4)),
        "two_ctas": False,
        "fp4_padded": False,
        "cga": {"bases": []},
    }
    shape = (block_m * _power(rng, 0, 1), block_n * _power(rng, 0, 1))
    return Case(encoding, shape)


def _tensor_memory_scales(rng: Random) -> Case:
    encoding = {
        "kind": "tensor_memory_scales",
        "block_rep_order": "mn_then_k",
        "cga": {"bases": []},
    }
    return Case(encoding, (_power(rng, 5, 9), _power(rng, 2, 6)))


def _padded_shared(rng: Random) -> Case:
    case = _shared_linear(rng)
    pairs = {_power(rng, 1, 8): _power(rng, 0, 4) for _ in range(rng.randint(1, 2))}
    encoding = {
        "kind": "padded_shared",
        "intervals": list(pairs),
        "paddings": list(pairs.values()),
        "offset": case.encoding["offset"],
        "block": case.encoding["block"],
        "shape": list(case.shape),
    }
    return Case(encoding, case.shape)


def _partitioned_shared(rng: Random) -> Case:
    inner = _swizzled_shared(rng)
    while len(inner.shape) < 2 or inner.encoding["cga"]["bases"]:
        inner = _swizzled_shared(rng)
    partitions, groups = _power(rng, 1, 2), _power(rng, 0, 2)
    dim = rng.randrange(len(inner.shape))
    shape = list(inner.shape)
    shape[dim] *= partitions * groups
    encoding = {
        "kind": "partitioned_shared",
        "num_partitions": partitions,
        "num_groups": groups,
        "partition_dim": dim,
        "partition_layout": inner.encoding,
    }
    return Case(encoding, tuple(shape))


_MAKERS: dict[str, Callable[[Random], Case]] = {
    "blocked": _blocked,
    "slice": _slice,
    "dot_operand": _dot_operand,
    "nvidia_mma": _nvidia_mma,
    "amd_mfma": _amd_mfma,
    "amd_wmma": _amd_wmma,
    "swizzled_shared": _swizzled_shared,
    "amd_rotating_shared": _amd_rotating_shared,
    "nvmma_shared": _nvmma_shared,
    "linear": _linear,
    "shared_linear": _shared_linear,
    "padded_shared": _padded_shared,
    "partitioned_shared": _partitioned_shared,
    "tensor_memory": _tensor_memory,
    "tensor_memory_scales": _tensor_memory_scales,
}

KINDS = tuple(_MAKERS)
"""Kinds that can be drawn."""
