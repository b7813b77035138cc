"""Random conversions between register encodings of one CTA, from a seed."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from algebra import EncodingError, LinearLayout
from algebra.encodings import from_dict
from algebra.ttgir import print_encoding
from verify.oracle.random_matrices import random_permutation_bases

MAX_REGISTERS = 1 << 7
WARP_BITS = 5
Encoding = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Conversion:
    """What is converted to what.

    Attributes:
        src: Encoding as ``algebra.encodings.from_dict`` takes it.
        dst: Likewise.
        shape: Of the tensor [elements].
        element_bits: Width of an element [bits].
        warps: Warps of the CTA [warps].
    """

    src: Encoding
    dst: Encoding
    shape: tuple[int, ...]
    element_bits: int
    warps: int

    @property
    def kind(self) -> str:
        """Kinds of both sides, e.g. ``"blocked -> linear"``."""
        return f"{self.src['kind']} -> {self.dst['kind']}"

    def layouts(self, release: str) -> tuple[LinearLayout, LinearLayout]:
        """Return the maps of both sides in a Triton release."""
        src, dst = from_dict(self.src), from_dict(self.dst)
        return (
            src.to_linear_layout(self.shape, release),
            dst.to_linear_layout(self.shape, release),
        )

    def spelling(self, release: str) -> tuple[str, str]:
        """Return both encodings as TTGIR attributes."""
        return (
            print_encoding(from_dict(self.src), release),
            print_encoding(from_dict(self.dst), release),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the conversion as a plain dictionary."""
        return {
            "src": self.src,
            "dst": self.dst,
            "shape": list(self.shape),
            "element_bits": self.element_bits,
            "warps": self.warps,
        }


def conversion_from_dict(given: dict[str, Any]) -> Conversion:
    """Return the conversion that ``to_dict`` describes."""
    return Conversion(
        given["src"],
        given["dst"],
        tuple(given["shape"]),
        given["element_bits"],
        given["warps"],
    )


def random_conversion(rng: Random) -> Conversion:
    """Return a random conversion: shape, width, warps, then an encoding a side.

    Both sides are valid, of at most 128 registers a thread. Small shapes make
    broadcasts; a third of the sides are random permutations of index bits. In a quarter
    of the cases the destination is the source with registers and lanes mixed anew:
    that is where compilers use shuffles.

    Args:
        rng: Source of randomness; its state decides the conversion.

    Example:
        >>> found = random_conversion(Random(1))
        >>> conversion_from_dict(found.to_dict()) == found
        True
    """
    rank = rng.choice((1, 2, 2, 2, 2, 3))
    top = {1: 12, 2: 7, 3: 5}[rank]
    warp_bits = rng.choice((0, 0, 1, 2, 2, 2, 3, 4))
    most = MAX_REGISTERS // 2 << (WARP_BITS + warp_bits)
    while True:
        shape = tuple(1 << rng.randint(0, top) for _ in range(rank))
        if 32 <= math.prod(shape) <= most:
            break
    bits = rng.choice((8, 8, 16, 16, 32, 32, 64))
    src = _encoding(rng, shape, warp_bits, bits)
    near = rng.random() < 0.25
    dst = _neighbour(rng, src, shape) if near else None
    if dst is None:
        dst = _encoding(rng, shape, warp_bits, bits)
    return Conversion(src, dst, shape, bits, 1 << warp_bits)


def _encoding(
    rng: Random, shape: tuple[int, ...], warp_bits: int, bits: int
) -> Encoding:
    """Return a random encoding that the shape, the warps and the width allow."""
    while True:
        kind = rng.choice(_KINDS)
        found = _MAKERS[kind](rng, len(shape), warp_bits, bits, shape)
        if found is None:
            continue
        try:
            layout = from_dict(found).to_linear_layout(shape)
        except EncodingError:
            continue
        registers = layout.in_dims.get("register", 1)
        if registers <= MAX_REGISTERS and layout.is_surjective:
            return found


def _neighbour(rng: Random, src: Encoding, shape: tuple[int, ...]) -> Encoding | None:
    """Return the source with its register and lane bits in another order."""
    bases = from_dict(src).to_linear_layout(shape).bases
    lanes = [list(basis) for basis in bases["lane"]]
    registers = [list(basis) for basis in bases.get("register", ()) if any(basis)]
    moved = registers + lanes
    for _ in range(rng.randint(1, 5)):
        if len(moved) > 1:
            i, j = rng.sample(range(len(moved)), 2)
            moved[i], moved[j] = moved[j], moved[i]
    cut = len(registers)
    if not all(any(basis) for basis in moved[:cut]):
        return None
    return {
        "kind": "linear",
        "register": moved[:cut],
        "lane": moved[cut:],
        "warp": [list(basis) for basis in bases.get("warp", ())],
        "block": [],
        "shape": list(shape),
    }


def _parts(rng: Random, rank: int, bits: int) -> list[int]:
    exponents = [0] * rank
    for _ in range(bits):
        exponents[rng.randrange(rank)] += 1
    return [1 << e for e in exponents]


def _blocked(
    rng: Random, rank: int, warp_bits: int, bits: int, shape: tuple[int, ...]
) -> Encoding | None:
    order = list(range(rank))
    rng.shuffle(order)
    return {
        "kind": "blocked",
        "size_per_thread": _parts(rng, rank, rng.randint(0, 4)),
        "threads_per_warp": _parts(rng, rank, WARP_BITS),
        "warps_per_cta": _parts(rng, rank, warp_bits),
        "order": order,
    }


def _mma(
    rng: Random, rank: int, warp_bits: int, bits: int, shape: tuple[int, ...]
) -> Encoding | None:
    if rank != 2:
        return None
    if warp_bits >= 2 and rng.random() < 0.4:
        across = rng.randint(0, warp_bits - 2)
        return {
            "kind": "nvidia_mma",
            "version": [3, 0],
            "warps_per_cta": [1 << (warp_bits - across), 1 << across],
            "instr_shape": [16, 1 << rng.randint(3, 7), 256 // min(bits, 32)],
        }
    return {
        "kind": "nvidia_mma",
        "version": [2, 0],
        "warps_per_cta": _parts(rng, 2, warp_bits),
        "instr_shape": [16, 8],
    }


def _dot_operand(
    rng: Random, rank: int, warp_bits: int, bits: int, shape: tuple[int, ...]
) -> Encoding | None:
    if rank != 2:
        return None
    if rng.random() < 0.25:
        parent = _blocked(rng, rank, warp_bits, bits, shape)
        return {
            "kind": "dot_operand",
            "op_idx": rng.randint(0, 1),
            "k_width": 0,
            "parent": parent,
        }
    parent = _mma(rng, rank, warp_bits, bits, shape)
    assert parent is not None
    hopper = parent["version"][0] == 3
    return {
        "kind": "dot_operand",
        "op_idx": 0 if hopper else rng.randint(0, 1),
        "k_width": max(1, 32 // bits) << (0 if hopper else rng.randint(0, 1)),
        "parent": parent,
    }


def _slice(
    rng: Random, rank: int, warp_bits: int, bits: int, shape: tuple[int, ...]
) -> Encoding | None:
    maker = rng.choice((_blocked, _mma, _dot_operand))
    parent = maker(rng, rank + 1, warp_bits, bits, shape)
    if parent is None:
        return None
    return {"kind": "slice", "dim": rng.randint(0, rank), "parent": parent}


def _linear(
    rng: Random, rank: int, warp_bits: int, bits: int, shape: tuple[int, ...]
) -> Encoding | None:
    sizes = [size.bit_length() - 1 for size in shape]
    total = sum(sizes)
    threads = WARP_BITS + warp_bits
    zeros = max(0, threads - total) + rng.choice((0, 0, 0, 1, 2))
    bases = random_permutation_bases(rng, sizes, zeros)
    lane, warp = bases[:WARP_BITS], bases[WARP_BITS:threads]
    register = [basis for basis in bases[threads:] if any(basis)]
    return {
        "kind": "linear",
        "register": register,
        "lane": lane,
        "warp": warp,
        "block": [],
        "shape": list(shape),
    }


_Maker = Callable[[Random, int, int, int, tuple[int, ...]], Encoding | None]
_MAKERS: dict[str, _Maker] = {
    "blocked": _blocked,
    "dot_operand": _dot_operand,
    "linear": _linear,
    "nvidia_mma": _mma,
    "slice": _slice,
}
_KINDS = (
    "blocked",
    "blocked",
    "dot_operand",
    "linear",
    "linear",
    "nvidia_mma",
    "slice",
)
