"""Products of matrices in parts: one that the library is fast with, and the rest.

What the library is fast with, and when parts are faster than one call, is decided where
a program is scheduled (:mod:`compiler.schedule.products`).
"""

from collections.abc import Callable
from typing import Any

import torch


def split_product(
    call: Callable[..., torch.Tensor],
    made: torch.Tensor,
    parts: tuple[int, int, int],
    /,
    *args: Any,
    **kwargs: Any,
) -> torch.Tensor:
    """Return memory after a product of matrices has been written there in parts.

    Law: equal to ``call(*args, **kwargs)`` but for the sums' rounding: the last terms
    and what is added are rounded to the type once, then the others are added to them
    as the library adds a product to a matrix. Nothing but the result is written.

    Args:
        call: ``torch.mm``, ``addmm``, ``bmm`` or ``baddbmm``.
        made: Of the result's shape.
        parts: Rows, columns and terms of the sums in the largest part; the others are
            the last columns of all rows, the last rows of these columns, and the last
            terms of these rows and columns [elements].
        args: The operator's.
        kwargs: The operator's.

    Example:
        >>> made, a, b = torch.empty(3, 9), torch.ones(3, 17), torch.ones(17, 9)
        >>> split_product(torch.mm, made, (3, 8, 16), a, b) is made
        True
        >>> bool((made == 17).all())
        True
    """
    if torch.is_grad_enabled():
        with torch.no_grad():
            return split_product(call, made, parts, *args, **kwargs)
    *added, left, right = args
    height, width, inner = parts
    rows, columns, terms = *made.shape[-2:], left.shape[-1]

    def part(top: int, end: int, first: int, last: int, upto: int) -> None:
        out = _some(_some(made, -2, top, end), -1, first, last)
        a, b = _some(left, -2, top, end), _some(right, -1, first, last)
        more = [_some(_some(m, -2, top, end), -1, first, last) for m in added]
        if upto == terms:
            call(*more, a, b, out=out, **kwargs)
            return
        rest = _some(a, -1, upto, terms), _some(b, -2, upto, terms)
        call(*more, *rest, out=out, **kwargs)
        add = out.baddbmm_ if out.dim() == 3 else out.addmm_
        a, b = _some(a, -1, 0, upto), _some(b, -2, 0, upto)
        add(a, b, alpha=kwargs.get("alpha", 1))

    part(0, height, 0, width, inner)
    if width < columns:
        part(0, rows, width, columns, terms)
    if height < rows:
        part(height, rows, 0, width, terms)
    return made


def _some(value: torch.Tensor, dim: int, first: int, end: int) -> torch.Tensor:
    """Return a range of a matrix along a dim, all of it where it is broadcast there."""
    if value.dim() < -dim or value.shape[dim] in (1, end - first):
        return value
    return value.narrow(dim, first, end - first)
