"""What eager mode leaves to chance, done the other way.

The order of a sum or a product decides where it overflows on the way: the terms of
either sign may be added apart, or in so many digits that nothing overflows. The bits
of a computed NaN beside those that make it one are what the machine puts there.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

SUMS = ("sum", "mean", "nansum")
"""Operators that add up elements of their first operand."""

CONTRACTED: Mapping[str, tuple[int, int, int]] = {
    **{"mm": (0, 1, 0), "mv": (0, 1, 0), "dot": (0, 0, 0), "bmm": (0, 2, 1)},
    **{"addmm": (1, 1, 0), "addmv": (1, 1, 0), "baddbmm": (1, 2, 1)},
}
"""Products of tensors: the first factor's place, and the summed dim of both factors."""

SCATTERED = ("index_add", "scatter_add")
"""Sums into places of the first operand, which the index tells."""

BLOCK = 16
"""Terms of a running sum that are added by themselves."""

_HALVES = (torch.float16, torch.bfloat16)


def in_other_order(
    func: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    run: int,
    generator: torch.Generator,
) -> torch.Tensor | None:
    """Return a sum or product whose order is another, None for other operators.

    Args:
        func: The operator.
        args: Its arguments.
        kwargs: Its arguments with names.
        run: 0 keeps parts of unlike signs, or sizes, apart, 1 counts in float64, and
            the others shuffle.
        generator: For the shuffles.
    """
    name = func._schema.name.partition("::")[2]
    if not args[0].dtype.is_floating_point:
        return None
    if name.removesuffix("_") in SCATTERED and run < 2:
        scattered = _scattered(func, args, kwargs, wide=run == 1)
        return args[0].copy_(scattered) if name[-1] == "_" else scattered
    if func._schema.is_mutable:
        return None
    if name in CONTRACTED:
        if run == 1:
            wide = [_double(a) for a in args]
            return _like(args[0], func(*wide, **kwargs))
        mixed = _shuffled(args, *CONTRACTED[name], generator)
        return _like(args[0], func(*mixed, **kwargs))
    if name == "embedding_dense_backward" and run < 2:
        return _rows_added(func, *args, wide=run == 1)
    if name == "cumsum" and run < 2:
        return _running(func, *args, wide=run == 1, **kwargs)
    if name not in (*SUMS, "prod"):
        return None
    x, *rest = args
    wanted = kwargs.get("dtype") or x.dtype
    if not wanted.is_floating_point:
        return None
    if run == 1:
        found = func(x.to(wanted).double(), *rest)
    else:
        x = x.to(torch.float32 if wanted in _HALVES else wanted)
        dims = rest[0] if rest else None
        if run == 0:
            found = _apart(func, name, x, rest)
        else:
            found = func(_in_any_order(x, dims, generator), *rest)
    made: torch.Tensor = found.to(wanted)
    return made


def _scattered(
    func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], wide: bool
) -> torch.Tensor:
    """Return a scattered sum that is rounded once, or with each term along the dim."""
    total: torch.Tensor = args[0]
    dim, index, source, *rest = args[1:]
    if wide:
        return _like(
            total, func(total.double(), dim, index, source.double(), *rest, **kwargs)
        )
    total, source = total.clone(), source.clone()
    along = dim if index.dim() > 1 else 0
    for i in range(index.shape[along] if index.dim() else 0):
        terms = source.narrow(dim, i, 1)
        total = func(total, dim, index.narrow(along, i, 1), terms, *rest, **kwargs)
    return total


def _rows_added(
    func: Any, slope: torch.Tensor, index: torch.Tensor, *rest: Any, wide: bool
) -> torch.Tensor:
    """Return sums of rows that are rounded once, or with each row."""
    if wide:
        return _like(slope, func(slope.double(), index, *rest))
    rows, places = slope.reshape(-1, slope.shape[-1]), index.reshape(-1)
    total: torch.Tensor = func(rows[:0], places[:0], *rest)
    for i in range(places.shape[0]):
        total = total + func(rows[i : i + 1], places[i : i + 1], *rest)
    return total


def _running(
    func: Any,
    x: torch.Tensor,
    dim: int,
    *,
    dtype: torch.dtype | None = None,
    wide: bool,
) -> torch.Tensor:
    """Return running sums in float64, or of blocks: equal terms round alike in turn."""
    wanted = dtype or x.dtype
    if not wanted.is_floating_point:
        return _to(func(x, dim, dtype=wanted), wanted)
    if wide or not x.dim() or not x.shape[dim]:
        return _to(func(x.to(torch.float64), dim), wanted)
    x = x.to(torch.float32 if wanted in _HALVES else wanted)
    found: list[torch.Tensor] = []
    before = torch.zeros_like(x.narrow(dim, 0, 1))
    for block in x.split(BLOCK, dim):
        found.append(func(block, dim) + before)
        before = found[-1].narrow(dim, block.shape[dim] - 1, 1)
    return _to(torch.cat(found, dim), wanted)


def _to(value: torch.Tensor, wanted: torch.dtype) -> torch.Tensor:
    return value.to(wanted)


def _double(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and value.dtype.is_floating_point:
        return value.double()
    return value


def _like(operand: torch.Tensor, found: torch.Tensor) -> torch.Tensor:
    return found.to(operand.dtype)


def _apart(func: Any, name: str, x: torch.Tensor, rest: Sequence[Any]) -> torch.Tensor:
    """Return what comes of two parts: those that cancel what the others add up to."""
    if name == "prod":
        large, one = x.abs() > 1, torch.ones_like(x)
        first = func(torch.where(large, x, one), *rest)
        product: torch.Tensor = first * func(torch.where(large, one, x), *rest)
        return product
    total: torch.Tensor = func(x.clamp(min=0), *rest) + func(x.clamp(max=0), *rest)
    return total


def _in_any_order(
    x: torch.Tensor, dims: Sequence[int] | int | None, generator: torch.Generator
) -> torch.Tensor:
    chosen = [dims] if isinstance(dims, int) else dims
    for dim in (chosen or range(x.dim())) if x.dim() else ():
        x = x.index_select(dim, torch.randperm(x.shape[dim], generator=generator))
    return x


def _shuffled(
    args: tuple[Any, ...],
    place: int,
    first: int,
    second: int,
    generator: torch.Generator,
) -> list[Any]:
    left, right = args[place : place + 2]
    order = torch.randperm(left.shape[first], generator=generator)
    both = left.index_select(first, order), right.index_select(second, order)
    return [*args[:place], *both, *args[place + 2 :]]


def set_bits_of_nans(value: torch.Tensor, ones: bool) -> torch.Tensor:
    """Set or clear the sign and the payload of each NaN, in place; all are quiet then.

    Example:
        >>> x = torch.tensor([1.0, float("nan")])
        >>> [hex(bits) for bits in set_bits_of_nans(x, True).view(torch.int32).tolist()]
        ['0x3f800000', '-0x1']
    """
    whole = {2: torch.int16, 4: torch.int32, 8: torch.int64}.get(value.element_size())
    if whole is None or not value.dtype.is_floating_point:
        return value
    payload = round(1 / torch.finfo(value.dtype).eps) // 2 - 1
    bits = value.view(whole)
    chosen = -1 if ones else torch.iinfo(whole).max & ~payload
    bits.masked_fill_(torch.isnan(value), chosen)
    return value
