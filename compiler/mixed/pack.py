"""Packing a weight into the derived order, and back."""

from dataclasses import dataclass
from typing import Final

import torch

from algebra import LinearLayout
from algebra.errors import DimMismatchError, OutOfRangeError
from compiler.errors import NotATensorError
from compiler.mixed.formats import WeightFormat, weight_format
from compiler.mixed.fragments import (
    ROWS,
    scale_order,
    unit_depth,
    weight_order,
)
from compiler.mixed.tiling import Problem
from compiler.mixed.upcast import bit_places, zero_bits, zero_points
from compiler.permuting.api import permute
from compiler.permuting.nibbles import pack as pack_halves
from compiler.permuting.nibbles import unpack as unpack_halves

DTYPES: Final = {torch.bfloat16: "bf16", torch.float16: "fp16"}
"""Types of activations, by torch dtype."""

_BYTE_TYPES: Final = (
    torch.uint8,
    torch.int8,
    torch.float8_e4m3fn,
    torch.float8_e5m2,
    torch.float8_e8m0fnu,
)


@dataclass(frozen=True, slots=True)
class PackedWeight:
    """A weight in the order that ``quantised_matmul`` reads.

    Attributes:
        problem: Format, sizes and type of the activations.
        weight: Codes, int32 words.
        scales: Scales: 16-bit floats, or uint8 codes.
        zeros: Zero points of int4 weights, or None: 16-bit floats' bits, int16.
        alpha: Factor of the whole weight (nvfp4's second scale; else 1).
    """

    problem: Problem
    weight: torch.Tensor
    scales: torch.Tensor
    zeros: torch.Tensor | None
    alpha: float

    @property
    def dtype(self) -> torch.dtype:
        """Type of the activations and the result."""
        return next(d for d, name in DTYPES.items() if name == self.problem.target)

    def unpack(
        self,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
        """Return what was packed: the inverse of ``compiler.preshuffle``.

        Returns:
            Codes, one a byte, uint8 [n, k]; scales [n, k / group], 16-bit floats or
            uint8 codes; zero points, uint8 [n, k / group], or None.
        """
        problem = self.problem
        bits = problem.format.bits
        order = weight_order(bits, problem.group).index_map.invert()
        places = bit_places(problem.format, problem.target)
        back = tuple(places.index(bit) for bit in range(len(places)))
        data = move_bits(self.weight, back).view(torch.uint8)
        if bits == 4:
            data = unpack_halves(permute(data, order, element_bits=4))
        else:
            data = permute(data, order)
        codes = _untile(data, problem.k, unit_depth(bits))[: problem.n]
        scales = self._rows_of_scales(self.scales)
        zeros = None
        if self.zeros is not None:
            zeros = zero_points(self._rows_of_scales(self.zeros), problem.target)
        return codes.contiguous(), scales, zeros

    def _rows_of_scales(self, packed: torch.Tensor) -> torch.Tensor:
        problem = self.problem
        order = _scale_map(problem).invert()
        data = _untile(
            permute(packed, order), problem.padded_groups, problem.scale_vector
        )
        return data[: problem.n, : problem.groups].contiguous()

    def dequantise(self, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """Return the weight as numbers [n, k].

        Args:
            dtype: Of the result; float32 and float64 are exact up to one rounding.
        """
        problem = self.problem
        codes, scales, zeros = self.unpack()
        values = problem.format.values(codes).to(torch.float64)
        if zeros is not None:
            zero = zeros.to(torch.float64) - problem.format.zero
            values = values - zero.repeat_interleave(problem.group, dim=1)
        factors = problem.format.scale_values(scales).to(torch.float64) * self.alpha
        return (values * factors.repeat_interleave(problem.group, dim=1)).to(dtype)


def pack_weight(
    weight: torch.Tensor,
    scales: torch.Tensor,
    zeros: torch.Tensor | None,
    format: str,
    group: int | None,
    dtype: torch.dtype,
    alpha: float,
    halves: bool,
) -> PackedWeight:
    """Pack a weight; arguments and errors as ``compiler.preshuffle``."""
    kind = weight_format(format)
    if dtype not in DTYPES:
        raise OutOfRangeError(
            f"dtype must be torch.bfloat16 or torch.float16, got dtype={dtype}; "
            "convert the activations"
        )
    codes = _codes(weight, kind, halves)
    n, k = codes.shape
    problem = Problem(
        format=kind,
        target=DTYPES[dtype],
        n=n,
        k=k,
        group=_group(kind, scales, k, group),
        zeros=zeros is not None,
    )
    _check_codes(kind, codes, dtype)
    stored = _scales(problem, scales, dtype)
    units = _tile(codes, unit_depth(kind.bits))
    order = weight_order(kind.bits, problem.group).index_map
    if kind.bits == 4:
        data = permute(pack_halves(units), order, element_bits=4)
    else:
        data = permute(units, order)
    packed_zeros = None
    if zeros is not None:
        packed_zeros = _pack_scales(problem, _zeros(problem, zeros))
    return PackedWeight(
        problem,
        move_bits(data.view(torch.int32), bit_places(kind, problem.target)),
        _pack_scales(problem, stored),
        packed_zeros,
        float(alpha),
    )


def move_bits(words: torch.Tensor, places: tuple[int, ...]) -> torch.Tensor:
    """Move the bits of both halves of words.

    Args:
        words: int32.
        places: Where bit i of a half goes, for each i of 16.

    Example:
        >>> moved = move_bits(torch.tensor([0x10002]), (1, 0, *range(2, 16)))
        >>> hex(moved.item())
        '0x20001'
    """
    if places == tuple(range(16)):
        return words
    found = torch.zeros_like(words)
    for bit, place in enumerate(places):
        found |= (words >> bit & 0x10001) << place
    return found


def _scale_map(problem: Problem) -> LinearLayout:
    """Return the map of the scales of 16 rows and one vector's groups."""
    return scale_order(problem.format.scale_bits, problem.scale_vector).index_map


def _tile(rows: torch.Tensor, depth: int) -> torch.Tensor:
    """Return tiles of 16 rows and ``depth`` columns, row by row of tiles; padded."""
    n, k = rows.shape
    missing = [-(-k // depth) * depth - k, -(-n // ROWS) * ROWS - n]
    if any(missing):
        rows = torch.nn.functional.pad(rows, (0, missing[0], 0, missing[1]))
    n, k = rows.shape
    tiles = rows.view(n // ROWS, ROWS, k // depth, depth).permute(0, 2, 1, 3)
    return tiles.contiguous().view(-1)


def _untile(tiles: torch.Tensor, k: int, depth: int) -> torch.Tensor:
    """Return rows of ``k`` columns: the inverse of ``_tile``, padding included."""
    shape = (-1, k // depth, ROWS, depth)
    return tiles.view(shape).permute(0, 2, 1, 3).reshape(-1, k)


def _codes(weight: torch.Tensor, kind: WeightFormat, halves: bool) -> torch.Tensor:
    """Return codes, one a byte [n, k]."""
    if isinstance(weight, torch.Tensor) and weight.dtype == torch.float4_e2m1fn_x2:
        weight, halves = weight.view(torch.uint8), True
    if not isinstance(weight, torch.Tensor) or weight.dtype not in _BYTE_TYPES:
        got = getattr(weight, "dtype", type(weight).__name__)
        raise NotATensorError(
            "a weight must be a tensor of codes (uint8, int8 or a float8 dtype), got "
            f"dtype={got}; quantise it first"
        )
    if weight.dim() != 2:
        raise DimMismatchError(
            "a weight has the axes n (output features) and k, got "
            f"shape={tuple(weight.shape)}"
        )
    codes = weight.contiguous().view(torch.uint8)
    if not halves:
        return codes
    if kind.bits != 4:
        raise OutOfRangeError(
            f"only 4-bit codes come two a byte, got format={kind.name!r}, halves=True"
        )
    return unpack_halves(codes).view(codes.shape[0], -1)


def _group(kind: WeightFormat, scales: torch.Tensor, k: int, group: int | None) -> int:
    if not isinstance(scales, torch.Tensor) or scales.dim() != 2:
        shape = tuple(getattr(scales, "shape", ()))
        raise NotATensorError(
            f"scales must be a tensor [n, k / group], got shape={shape}"
        )
    if group is None:
        group = kind.block or k // max(scales.shape[1], 1)
    if kind.block and group != kind.block:
        raise DimMismatchError(
            f"{kind.name} has a scale for each {kind.block} input features, got "
            f"group={group}"
        )
    return group


def _check_codes(kind: WeightFormat, codes: torch.Tensor, dtype: torch.dtype) -> None:
    if kind.bits == 4:
        if codes.numel() and int(codes.max()) > 15:
            raise OutOfRangeError(
                f"{kind.name} codes are 0 to 15, one a byte, got "
                f"max(weight)={int(codes.max())}; unpack two a byte first"
            )
    elif kind.name.startswith("fp8") and not kind.values(codes).isfinite().all():
        raise OutOfRangeError(
            f"{kind.name} weights must be finite, got an infinity or NaN; clamp them"
        )


def _scales(problem: Problem, scales: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    expected = (problem.n, problem.groups)
    if tuple(scales.shape) != expected:
        raise DimMismatchError(
            f"scales must have the shape (n, k / group)={expected}, got "
            f"shape={tuple(scales.shape)}"
        )
    if problem.format.scale == "float":
        stored = scales.to(dtype)
    elif scales.dtype in _BYTE_TYPES:
        stored = scales.contiguous().view(torch.uint8)
    else:
        raise NotATensorError(
            f"{problem.format.name} scales are codes of a byte, got "
            f"dtype={scales.dtype}; convert them to torch.float8_e8m0fnu or e4m3fn"
        )
    values = problem.format.scale_values(stored)
    bad = ~values.isfinite()
    if problem.format.scale == "e8m0":
        bad |= stored == 255
    if problem.format.scale == "e4m3":
        bad |= stored > 127
    if bad.any():
        raise OutOfRangeError(
            f"scales must be finite in {dtype}, and not negative as codes, got "
            f"{int(bad.sum())} others; rescale the weight"
        )
    return stored


def _zeros(problem: Problem, zeros: torch.Tensor) -> torch.Tensor:
    expected = (problem.n, problem.groups)
    if problem.format.name != "int4":
        raise OutOfRangeError(
            f"only int4 weights have zero points, got format={problem.format.name!r}"
        )
    if not isinstance(zeros, torch.Tensor) or tuple(zeros.shape) != expected:
        raise DimMismatchError(
            f"zeros must have the shape (n, k / group)={expected}, got "
            f"shape={tuple(getattr(zeros, 'shape', ()))}"
        )
    whole = zeros.to(torch.int32)
    if whole.numel() and (int(whole.min()) < 0 or int(whole.max()) > 15):
        raise OutOfRangeError(
            "zero points must be 0 to 15, got "
            f"{int(whole.min())} to {int(whole.max())}; shift codes and zeros"
        )
    return zero_bits(whole, problem.target)


def _pack_scales(problem: Problem, rows: torch.Tensor) -> torch.Tensor:
    """Return scales or zero points in the derived order; padding is zero."""
    missing = problem.padded_groups - rows.shape[1]
    if missing:
        rows = torch.nn.functional.pad(rows, (0, missing))
    return permute(_tile(rows, problem.scale_vector), _scale_map(problem))
