"""Tensors of any dtype, strides, offset and content, as values that print and shrink.

A :class:`TensorSpec` says everything about a tensor in numbers, so that it can be
printed in a test file and built anywhere, bit for bit the same.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import torch
from hypothesis import strategies as st

FLOATS: Final = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
INTEGERS: Final = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
DTYPES: Final = (*FLOATS, *INTEGERS, torch.bool)

SIZES: Final = (2, 3, 1, 4, 0, 5, 7, 8, 16, 17, 31, 32, 33, 64, 127)
"""Extents worth trying: empty, one, around vectors and around warps. Simplest first."""

CONTENTS: Final = ("integers", "normal", "special", "ties", "edges", "missing")
"""Small integers (exact in every dtype), normal numbers, those with NaN, infinities,
signed zeros, subnormals and extremes among them, few distinct values, numbers at edges
(tenths, whose quotients lie beside integers, and integers around powers of two, where
narrower types end), and small integers of which one in eight is missing: NaN, or 0."""

_MISSING: Final = 8


_POWERS: Final = (2**7, 2**8, 2**15, 2**16, 2**24, 2**31, 2**32, 2**53)

_ROUND: Final = (-1, 0, 1)


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """A tensor in numbers.

    Attributes:
        shape: Extents [elements].
        strides: Steps, 0 where it is expanded; they may overlap [elements].
        offset: Position of the first element in the storage [elements].
        dtype: Element type.
        content: One of :data:`CONTENTS`.
        seed: Of the content.
        requires_grad: Whether gradients are wanted (floating types only).
        base: Name of an earlier tensor in whose storage it lies, empty for its own; it
            has that one's dtype and numbers, see :func:`built`.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    dtype: torch.dtype
    content: str = "integers"
    seed: int = 0
    requires_grad: bool = False
    base: str = ""

    @property
    def storage(self) -> int:
        """Elements of the storage that the tensor reaches."""
        if 0 in self.shape:
            return self.offset
        reach = sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True))
        return self.offset + reach + 1

    def build(self, device: str = "cpu") -> torch.Tensor:
        """Return the tensor, in a storage of its own.

        Law: it depends on the spec alone, and is the same on each device.
        """
        return self.within(self.memory(self.storage).to(device))

    def memory(self, count: int) -> torch.Tensor:
        """Return a storage with its numbers, of so many elements."""
        return elements(self.content, count, self.dtype, self.seed)

    def within(self, memory: torch.Tensor) -> torch.Tensor:
        """Return the tensor in a flat one, which is long enough."""
        made = memory.as_strided(self.shape, self.strides, self.offset)
        return made.requires_grad_() if self.requires_grad else made

    @property
    def is_plain(self) -> bool:
        """Whether it is contiguous from the start of its storage."""
        return self.offset == 0 and self.strides == contiguous(self.shape)


def contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    """Return row-major strides, those of torch for empty tensors too."""
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


def homes(specs: Mapping[str, TensorSpec]) -> dict[str, str]:
    """Return in whose storage each tensor lies: the base where it fits, else its own.

    A base fits that comes before, has the same dtype and lies in its own storage.

    Example:
        >>> one = TensorSpec((4,), (1,), 0, torch.float32)
        >>> two = TensorSpec((2,), (1,), 1, torch.float32, base="x0")
        >>> homes({"x0": one, "x1": two}), homes({"x1": two})
        ({'x0': 'x0', 'x1': 'x0'}, {'x1': 'x1'})
    """
    found: dict[str, str] = {}
    for name, spec in specs.items():
        fits = found.get(spec.base) == spec.base
        fits = fits and specs[spec.base].dtype == spec.dtype
        found[name] = spec.base if fits else name
    return found


def memories(specs: Mapping[str, TensorSpec]) -> dict[str, torch.Tensor]:
    """Return the storage of each tensor that has its own, as flat tensors."""
    home = homes(specs)
    return {
        name: specs[name].memory(
            max(specs[other].storage for other in specs if home[other] == name)
        )
        for name in dict.fromkeys(home.values())
    }


def built(
    specs: Mapping[str, TensorSpec], device: str = "cpu"
) -> dict[str, torch.Tensor]:
    """Return tensors that may lie in one another's storage.

    Law: without bases it is ``{name: spec.build(device)}``.

    Args:
        specs: Name -> tensor, a base before what lies in it.
        device: Of the tensors.
    """
    flat = {name: memory.to(device) for name, memory in memories(specs).items()}
    home = homes(specs)
    return {name: spec.within(flat[home[name]]) for name, spec in specs.items()}


def elements(content: str, count: int, dtype: torch.dtype, seed: int) -> torch.Tensor:
    """Return a flat tensor of a content.

    Args:
        content: One of :data:`CONTENTS`.
        count: Number of elements.
        dtype: Their type.
        seed: The same seed gives the same elements.
    """
    generator = torch.Generator().manual_seed(seed)
    if dtype == torch.bool:
        return torch.randint(0, 2, (count,), generator=generator).bool()
    if content == "integers":
        low = 0 if dtype == torch.uint8 else -4
        return torch.randint(low, 5, (count,), generator=generator).to(dtype)
    if content == "missing":
        drawn = torch.randint(-4, 5, (count,), generator=generator)
        gone = torch.randint(0, _MISSING, (count,), generator=generator) == 0
        if not dtype.is_floating_point:
            return drawn.abs().masked_fill(gone, 0).to(dtype)
        return drawn.to(dtype).masked_fill(gone, math.nan)
    if content == "ties":
        low = 0 if dtype == torch.uint8 else -1
        return torch.randint(low, 2, (count,), generator=generator).to(dtype)
    if content == "edges" and dtype.is_floating_point:
        return torch.randint(-9, 10, (count,), generator=generator).to(dtype) / 10
    if not dtype.is_floating_point:
        info = torch.iinfo(dtype)
        if content == "edges":
            around = {
                n + k for n in (0, *_POWERS, *(-n for n in _POWERS)) for k in _ROUND
            }
            fitting = sorted(n for n in around if info.min <= n <= info.max)
            table = torch.tensor(fitting, dtype=dtype)
            return table[torch.randint(0, len(table), (count,), generator=generator)]
        if content == "normal":
            low, high = max(info.min, -100), min(info.max, 100)
            return torch.randint(low, high, (count,), generator=generator).to(dtype)
        extremes = torch.tensor([info.min, info.max, 0, 1, info.max - 1], dtype=dtype)
        return extremes[torch.randint(0, 5, (count,), generator=generator)]
    normal = torch.randn(count, generator=generator, dtype=torch.float64).to(dtype)
    if content == "normal":
        return normal
    numbers = torch.finfo(dtype)
    extremes = torch.tensor(
        [math.nan, math.inf, -math.inf, 0.0, -0.0, numbers.max, numbers.tiny / 4, 1.0],
        dtype=torch.float64,
    ).to(dtype)
    chosen = extremes[torch.randint(0, len(extremes), (count,), generator=generator)]
    mask = torch.rand(count, generator=generator) < 0.5
    return torch.where(mask, chosen, normal)


@st.composite
def shapes(
    draw: st.DrawFn, max_rank: int = 5, max_elements: int = 4096
) -> tuple[int, ...]:
    """Draw extents from :data:`SIZES` whose product stays small."""
    rank = draw(st.integers(0, max_rank))
    shape: list[int] = []
    left = max_elements
    for _ in range(rank):
        fitting = [size for size in SIZES if size <= left]
        extent = draw(st.sampled_from(fitting))
        shape.append(extent)
        left //= max(extent, 1)
    return tuple(shape)


@st.composite
def strides_of(draw: st.DrawFn, shape: Sequence[int]) -> tuple[int, ...]:
    """Draw strides, simplest first: contiguous, permuted, gaps, expanded, overlap."""
    kind = draw(
        st.sampled_from(["contiguous", "permuted", "gaps", "expanded", "overlapping"])
    )
    if kind == "contiguous" or not shape:
        return contiguous(shape)
    if kind == "overlapping":
        return tuple(draw(st.integers(0, 3)) for _ in shape)
    order = draw(st.permutations(range(len(shape))))
    strides, step = [0] * len(shape), 1
    for dim in order:
        gap = draw(st.integers(1, 3)) if kind == "gaps" else 1
        strides[dim] = step * gap
        step *= gap * max(shape[dim], 1)
    if kind == "expanded":
        for dim in range(len(shape)):
            if draw(st.booleans()):
                strides[dim] = 0
    return tuple(strides)


@st.composite
def tensors(
    draw: st.DrawFn,
    dtypes: Sequence[torch.dtype] = DTYPES,
    contents: Sequence[str] = CONTENTS,
    shape: tuple[int, ...] | None = None,
    *,
    strided: bool = True,
    max_rank: int = 5,
    max_elements: int = 4096,
) -> TensorSpec:
    """Draw a tensor; shrinks to a contiguous one of small float32 integers.

    Args:
        draw: Given by hypothesis.
        dtypes: Types to choose from, simplest first.
        contents: Contents to choose from, simplest first.
        shape: Extents, drawn if left out.
        strided: Whether strides and offset may be other than contiguous.
        max_rank: At most so many dims.
        max_elements: At most so many elements.

    Example:
        >>> from hypothesis import find
        >>> spec = find(tensors(), lambda spec: len(spec.shape) == 1)
        >>> spec.shape, spec.dtype, spec.is_plain
        ((2,), torch.float32, True)
    """
    if shape is None:
        shape = draw(shapes(max_rank, max_elements))
    dtype = draw(st.sampled_from(list(dtypes)))
    content = draw(st.sampled_from(list(contents)))
    seed = draw(st.integers(0, 1000))
    plain = not strided or draw(st.integers(0, 2)) == 0
    if plain:
        return TensorSpec(shape, contiguous(shape), 0, dtype, content, seed)
    strides = draw(strides_of(shape))
    offset = draw(st.integers(0, 5))
    return TensorSpec(shape, strides, offset, dtype, content, seed)
