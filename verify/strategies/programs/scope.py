"""What is defined at a place in a program, and how the holes of templates are filled.

The program runs eagerly while it is drawn, on its own tensors, so that each hole is
filled with what fits: a dim that exists, a shape that broadcasts, an index in range.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from hypothesis import strategies as st

from verify.strategies.tensors import SIZES

from .draw import Draw
from .module_operations import MODULE_HOLES

HOLE = re.compile(r"\{(\w+)\}")

TYPES = ("float32", "int64", "bfloat16", "float64", "float16", "int32", "uint8", "bool")


@dataclass
class Scope:
    """Names with their present tensors.

    Attributes:
        values: Name -> tensor, in the order of definition.
        max_elements: Nothing larger is made.
        objects: Name -> expression of a module that statements call.
    """

    values: dict[str, torch.Tensor] = field(default_factory=dict)
    max_elements: int = 8192
    objects: dict[str, str] = field(default_factory=dict)

    def pick(self, draw: Draw, fits: Callable[[torch.Tensor], bool]) -> str | None:
        """Draw a name whose tensor fits, None if there is none.

        In half of the cases it is the latest one, so that what was made is used.
        """
        names = [name for name, value in self.values.items() if fits(value)][::-1]
        if not names:
            return None
        chosen: str = draw(st.sampled_from(names + names[:1] * (len(names) - 1)))
        return chosen

    def fitting(
        self, names: Sequence[str], kinds: Mapping[str, frozenset[str]]
    ) -> list[str]:
        """Return the names all of whose tensor holes something fits.

        Args:
            names: To choose from.
            kinds: Name -> tensor holes of its template, see :func:`tensor_holes`.
        """
        there = {
            kind
            for kind, fits in TENSORS.items()
            if any(fits(value) for value in self.values.values())
        }
        return [name for name in names if kinds[name] <= there]

    def fill(self, draw: Draw, template: str) -> str | None:
        """Return the template with its holes filled; None where nothing fits.

        The first tensor hole is what the other holes refer to, ``{it}`` by name, and
        ``{that}`` is the last tensor before it. Holes for modules add to ``objects``.
        """
        kinds = HOLE.findall(template)
        first: torch.Tensor | None = None
        it = that = ""
        texts: list[str | None] = [None] * len(kinds)
        for number, kind in enumerate(kinds):
            if kind in TENSORS:
                name = self.pick(draw, TENSORS[kind])
                if name is None:
                    return None
                if first is None:
                    first, it = self.values[name], name
                texts[number] = name
        for number, kind in enumerate(kinds):
            if texts[number] is None:
                if kind == "it":
                    texts[number] = it
                elif kind == "that":
                    texts[number] = that
                else:
                    texts[number] = self._beside(draw, kind, first)
            if not texts[number]:
                return None
            if kind in TENSORS or kind in BESIDE:
                that = str(texts[number])
        filled = iter(texts)
        return HOLE.sub(lambda _: str(next(filled)), template)

    def _beside(self, draw: Draw, kind: str, first: torch.Tensor | None) -> str | None:
        if kind in PLAIN:
            return str(draw(PLAIN[kind]))
        if first is None:
            return None
        known = first
        if kind in BESIDE:
            fits = BESIDE[kind]
            return self.pick(draw, lambda value: fits(known, value))
        if kind in MODULE_HOLES:
            name = f"m{len(self.objects)}"
            self.objects[name] = MODULE_HOLES[kind](draw, known)
            return name
        return HOLES[kind](draw, known)


def tensor_holes(template: str) -> frozenset[str]:
    """Return the kinds of tensors that a template needs.

    Example:
        >>> sorted(tensor_holes("{m} @ {right} + {k}"))
        ['m']
    """
    return frozenset(HOLE.findall(template)) & frozenset(TENSORS)


def _is_integer(value: torch.Tensor) -> bool:
    return not value.is_floating_point() and value.dtype != torch.bool


def _lies_apart(value: torch.Tensor) -> bool:
    """Return whether a tensor repeats no dim.

    On a CPU ``median`` and ``nanmedian`` along a dim of stride 0 read what lies behind
    the memory (PyTorch 2.13): eager mode gives another result each time.
    """
    return all(n == 1 or s for n, s in zip(value.shape, value.stride(), strict=True))


def _has_whole_rows(value: torch.Tensor) -> bool:
    """Return whether no row begins within the one before it, as windows do.

    On a CPU attention over such rows reads memory that nothing has written (PyTorch
    2.13): eager mode gives another result each time.
    """
    *_, step, inner = value.stride()
    return inner != 1 or step == 0 or step >= value.shape[-1]


TENSORS: dict[str, Callable[[torch.Tensor], bool]] = {
    "t": lambda v: True,
    "f": lambda v: v.is_floating_point(),
    "i": _is_integer,
    "b": lambda v: v.dtype == torch.bool,
    "n": lambda v: v.dtype != torch.bool,
    "d1": lambda v: v.dim() >= 1,
    "d2": lambda v: v.dim() >= 2,
    "f1": lambda v: v.is_floating_point() and v.dim() >= 1,
    "n1": lambda v: v.dtype != torch.bool and v.dim() >= 1,
    "full1": lambda v: v.dim() >= 1 and v.numel() > 0,
    "f1full": lambda v: v.is_floating_point() and v.dim() >= 1 and v.numel() > 0,
    "m": lambda v: v.dim() == 2 and v.is_floating_point(),
    "image": lambda v: v.dim() == 4 and v.is_floating_point() and v.numel() > 0,
    "full": lambda v: v.numel() > 0,
    "apart": lambda v: v.dim() >= 1 and v.numel() > 0 and _lies_apart(v),
    "rows4": lambda v: (
        v.dim() == 4 and v.is_floating_point() and v.numel() > 0 and _has_whole_rows(v)
    ),
    "few": lambda v: v.dim() >= 1 and 0 < v.shape[0] <= 5 and v.dtype != torch.bool,
    "b3": lambda v: v.dim() == 3 and v.is_floating_point(),
    "signal": lambda v: v.dim() == 3 and v.is_floating_point() and v.numel() > 0,
    "full2": lambda v: v.dim() >= 2 and v.numel() > 0,
    "square": lambda v: (
        v.dim() >= 2 and v.shape[-1] == v.shape[-2] and v.dtype != torch.bool
    ),
    "fullf": lambda v: v.is_floating_point() and v.numel() > 0,
    "n1full": lambda v: v.dtype != torch.bool and v.dim() >= 1 and v.numel() > 0,
}
"""Holes for a tensor of its own."""


def _broadcasts(first: torch.Tensor, value: torch.Tensor) -> bool:
    pairs = zip(reversed(first.shape), reversed(value.shape), strict=False)
    return all(a == b or a == 1 or b == 1 for a, b in pairs)


def _into(first: torch.Tensor, value: torch.Tensor) -> bool:
    if value.dim() > first.dim():
        return False
    pairs = zip(reversed(first.shape), reversed(value.shape), strict=False)
    return all(b in (1, a) for a, b in pairs)


BESIDE: dict[str, Callable[[torch.Tensor, torch.Tensor], bool]] = {
    "u": _broadcasts,
    "un": lambda a, v: v.dtype != torch.bool and _broadcasts(a, v),
    "uf": lambda a, v: v.is_floating_point() and _broadcasts(a, v),
    "ui": lambda a, v: _is_integer(v) and _broadcasts(a, v),
    "ub": lambda a, v: v.dtype == torch.bool and _broadcasts(a, v),
    "into": _into,
    "mask": lambda a, v: v.dtype == torch.bool and _into(a, v),
    "like": lambda a, v: a.shape == v.shape,
    "alike": lambda a, v: a.shape == v.shape and a.dtype == v.dtype,
    "other": lambda a, v: v is not a and a.shape == v.shape and a.dtype == v.dtype,
    "right": lambda a, v: (
        v.dim() == 2 and v.dtype == a.dtype and v.shape[0] == a.shape[-1]
    ),
}
"""Holes for a tensor that fits the first."""

PLAIN: dict[str, st.SearchStrategy[Any]] = {
    "k": st.integers(1, 3),
    "o": st.integers(-3, 3),
    "c": st.sampled_from([1.0, 0.5, 2.0, -1.5, 0.0, 0.1, 0.3, 1e-3, 3.14159, 300.0]),
    "p": st.sampled_from([2, 0.5, 3, -1, 0]),
    "ci": st.sampled_from([1, 2, 0, 3, -1, 7, 250]),
    "large": st.sampled_from([2**30 + 1, 3 * 2**29, 2**31, 2**33 + 5]),
    "shift": st.integers(0, 7),
    "bool": st.booleans(),
    "dtype": st.sampled_from([f"torch.{name}" for name in TYPES]),
    "float": st.sampled_from(
        [f"torch.{n}" for n in ("float32", "bfloat16", "float16")]
    ),
    "size": st.sampled_from(SIZES[:9]),
    "round": st.sampled_from(["'floor'", "'trunc'"]),
    "tanh": st.sampled_from(["'none'", "'tanh'"]),
}
"""Holes for numbers and names that any place allows."""


LONG = 8
"""Rows with more elements go around a loop or a block more than once."""


def _dim(draw: Draw, first: torch.Tensor) -> str | None:
    """A dim; half of the time it is the longest one where that is long."""
    rank = first.dim()
    if not rank:
        return None
    dims = [*range(rank), *range(-rank, 0)]
    longest = max(range(rank), key=lambda dim: first.shape[dim])
    if first.shape[longest] > LONG:
        dims += [longest, longest - rank] * rank
    return str(draw(st.sampled_from(dims)))


def _dims(draw: Draw, first: torch.Tensor) -> str | None:
    rank = first.dim()
    if not rank:
        return None
    chosen = draw(
        st.lists(st.integers(0, rank - 1), min_size=1, max_size=rank, unique=True)
    )
    return str(tuple(chosen))


def _permutation(draw: Draw, first: torch.Tensor) -> str:
    return str(tuple(draw(st.permutations(range(first.dim())))))


def _reshape(draw: Draw, first: torch.Tensor) -> str:
    count = first.numel()
    if count == 0:
        return str(tuple(first.shape))
    left = count
    shape: list[int] = []
    while left > 1 and len(shape) < 4:
        divisors = [n for n in range(1, left + 1) if left % n == 0]
        extent = draw(st.sampled_from(divisors))
        shape.append(extent)
        left //= extent
    if left > 1:
        shape.append(-1)
    return str(tuple(shape))


def _expand(draw: Draw, first: torch.Tensor) -> str:
    shape = [n if n != 1 else draw(st.sampled_from([1, 3, 4])) for n in first.shape]
    extra = draw(st.lists(st.sampled_from([1, 2, 3]), max_size=1))
    return str((*extra, *shape))


def _slices(draw: Draw, first: torch.Tensor) -> str | None:
    if not first.dim():
        return None
    parts = []
    for extent in first.shape[: draw(st.integers(1, first.dim()))]:
        kind = draw(st.sampled_from(["all", "range", "step", "one", "tail"]))
        if kind == "one" and extent:
            parts.append(str(draw(st.integers(-extent, extent - 1))))
        elif kind == "range" and extent:
            low = draw(st.integers(0, extent - 1))
            parts.append(f"{low}:{draw(st.integers(low, extent))}")
        elif kind == "step":
            parts.append(f"{draw(st.integers(0, 1))}::{draw(st.integers(1, 3))}")
        elif kind == "tail":
            parts.append(f"-{draw(st.integers(1, 3))}:")
        else:
            parts.append(":")
    return ", ".join(parts)


def _indices(draw: Draw, first: torch.Tensor, dim: int = 0) -> str | None:
    if first.dim() <= dim or not first.shape[dim]:
        return None
    extent = first.shape[dim]
    low = draw(st.sampled_from([0, -extent]))
    chosen = draw(st.lists(st.integers(low, extent - 1), min_size=1, max_size=5))
    return f"torch.tensor({chosen})"


def _positions(draw: Draw, first: torch.Tensor) -> str | None:
    """Indices from 0 for gather and index_select."""
    if not first.dim() or not first.shape[0]:
        return None
    chosen = draw(st.lists(st.integers(0, first.shape[0] - 1), min_size=1, max_size=5))
    return f"torch.tensor({chosen})"


def _row_index(draw: Draw, first: torch.Tensor) -> str | None:
    """An index tensor of the first's shape, into its dim 0."""
    if not first.dim() or not first.numel():
        return None
    factor = draw(st.sampled_from([1, 3, 0]))
    rows, shape = first.shape[0], tuple(first.shape)
    return f"(torch.arange({first.numel()}) * {factor} % {rows}).reshape({shape})"


def _repeats(draw: Draw, first: torch.Tensor) -> str:
    rank = first.dim() + draw(st.integers(0, 1))
    return str(tuple(draw(st.integers(1, 2)) for _ in range(rank)))


def _pads(draw: Draw, first: torch.Tensor) -> str | None:
    if not first.dim():
        return None
    rank = draw(st.integers(1, min(first.dim(), 3)))
    return str(tuple(draw(st.integers(0, 2)) for _ in range(2 * rank)))


def _last(draw: Draw, first: torch.Tensor) -> str | None:
    return str(first.shape[-1]) if first.dim() else None


def _split_sizes(draw: Draw, first: torch.Tensor) -> str | None:
    if not first.dim() or not first.shape[0]:
        return None
    head = draw(st.integers(0, first.shape[0] - 1))
    return str([head, first.shape[0] - head])


def _as_strided(draw: Draw, first: torch.Tensor) -> str | None:
    """Size and strides that stay inside of what the first tensor reaches."""
    if not first.numel():
        return None
    pairs = zip(first.shape, first.stride(), strict=True)
    left = sum((n - 1) * step for n, step in pairs)
    size, strides = [], []
    for _ in range(draw(st.integers(1, 3))):
        step = draw(st.integers(0, 3))
        extent = draw(st.integers(1, min(left // step + 1, 4) if step else 3))
        left -= (extent - 1) * step
        size.append(extent)
        strides.append(step)
    return f"{tuple(size)}, {tuple(strides)}"


HOLES: dict[str, Callable[[Draw, torch.Tensor], str | None]] = {
    "dim": _dim,
    "dims": _dims,
    "perm": _permutation,
    "reshape": _reshape,
    "expand": _expand,
    "slices": _slices,
    "indices": _indices,
    "positions": _positions,
    "rows": _row_index,
    "repeats": _repeats,
    "pads": _pads,
    "last": _last,
    "split_sizes": _split_sizes,
    "as_strided": _as_strided,
}
"""Holes for text that depends on the first tensor."""
