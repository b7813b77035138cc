"""Solving ``outer(C(x)) == inner(x)`` for C."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from . import bases as basis_vectors
from . import gauss, relabel
from .arguments import expect_layout
from .bits import set_bits
from .errors import DimMismatchError, NotInvertibleError, NotSolvableError
from .units import UNITS, UNITS_AND_ZERO

if TYPE_CHECKING:
    from .layout import LinearLayout


def aligned_columns(
    layout: "LinearLayout", names: tuple[str, ...], bits: tuple[int, ...]
) -> list[int]:
    """Return the columns with out-dims in the order and at the widths of another.

    Raises:
        DimMismatchError: a dim is missing, unexpected, or narrower than here.
    """
    if set(names) != set(layout.out_names) or len(names) != len(layout.out_names):
        raise DimMismatchError(
            f"dims must match in any order, got out_dims={list(layout.out_names)} "
            f"of the one and {list(names)} of the other; rename or reshape one",
            left=layout.out_names,
            right=names,
        )
    positions = [layout.out_names.index(name) for name in names]
    for p, name, width in zip(positions, names, bits, strict=True):
        if layout.out_bits[p] > width:
            raise DimMismatchError(
                f"{name} has size {1 << layout.out_bits[p]} in the one and only "
                f"{1 << width} in the other; resize or reshape one",
                dim=name,
                left=1 << layout.out_bits[p],
                right=1 << width,
            )
    fields = relabel.moves(layout.out_bits, positions, bits)
    return list(relabel.moved(layout.columns, fields))


def preimages(inner: "LinearLayout", outer: "LinearLayout") -> list[int]:
    """Return the columns of C; see ``LinearLayout.invert_and_compose``.

    In-dims on which both layouts agree are taken out of the system and mapped by the
    identity. Where the rest cannot be solved without them, nothing is taken out, and
    every column is the smallest preimage (as Triton 3.9 does).
    """
    expect_layout("outer", outer)
    targets: Sequence[int] = inner.columns
    if inner.out_names != outer.out_names or inner.out_bits != outer.out_bits:
        targets = aligned_columns(inner, outer.out_names, outer.out_bits)
    same = _identity_dims(inner, outer, targets)
    sources = list(outer.columns)
    wanted = list(targets)
    for here, there, bits in same:
        sources[there : there + bits] = wanted[here : here + bits] = [0] * bits
    solution = smallest_preimages(sources, wanted)
    if solution is not None:
        for here, there, bits in same:
            solution[here : here + bits] = [1 << there + i for i in range(bits)]
        return solution
    solution = smallest_preimages(outer.columns, targets) if same else None
    if solution is None:
        raise _unsolvable(outer, targets)
    return solution


def smallest_preimages(
    columns: Sequence[int], targets: Sequence[int]
) -> list[int] | None:
    """Return ``gauss.solve(columns, targets)``, by table where columns are units."""
    if not UNITS_AND_ZERO.issuperset(columns):
        return gauss.solve(columns, targets)
    count = len(columns)
    units = UNITS[:count] if count <= len(UNITS) else [1 << i for i in range(count)]
    where = dict(zip(reversed(columns), reversed(units), strict=False))
    where[0] = 0
    solution = []
    try:
        for target in targets:
            if target in where:
                solution.append(where[target])
                continue
            preimage = 0
            for bit in set_bits(target):
                preimage ^= where[1 << bit]
            solution.append(preimage)
    except KeyError:
        return None
    return solution


def not_invertible(layout: "LinearLayout") -> NotInvertibleError:
    """Return the error for a layout that is not a bijection."""
    kernel = gauss.kernel(layout.columns)
    sizes = f"{len(layout.columns)} input bits, {sum(layout.out_bits)} output bits"
    if not kernel:
        return NotInvertibleError(
            f"needed a bijection, got a layout that is not surjective ({sizes}); "
            "use invert_and_compose, or shrink the out-dims",
            kernel=None,
        )
    vector = basis_vectors.unpack((kernel[0],), layout.in_bits)[0]
    witness = dict(zip(layout.in_names, vector, strict=True))
    return NotInvertibleError(
        f"needed a bijection, got a layout that maps {witness} to zero as it does 0 "
        f"({sizes}); use pseudoinvert for a right inverse, or remove the broadcast",
        kernel=witness,
    )


def _identity_dims(
    inner: "LinearLayout", outer: "LinearLayout", targets: Sequence[int]
) -> list[tuple[int, int, int]]:
    """Return (first bit in inner, first bit in outer, bits) of equal in-dims."""
    same = []
    here = 0
    columns = outer.columns
    names, widths = outer.in_names, outer.in_bits
    for name, bits in zip(inner.in_names, inner.in_bits, strict=False):
        if name in names:
            where = names.index(name)
            there = sum(widths[:where])
            if widths[where] == bits and columns[there : there + bits] == tuple(
                targets[here : here + bits]
            ):
                same.append((here, there, bits))
        here += bits
    return same


def _unsolvable(outer: "LinearLayout", targets: Sequence[int]) -> NotSolvableError:
    """Return the error with an output that ``outer`` does not reach."""
    image = gauss.Echelon(outer.columns)
    missing = next(target for target in targets if target not in image)
    vector = basis_vectors.unpack((missing,), outer.out_bits)[0]
    witness = dict(zip(outer.out_names, vector, strict=True))
    return NotSolvableError(
        f"outer must reach every output of this layout, but {witness} has no preimage "
        "in outer; make outer surjective, or restrict this layout",
        missing=witness,
    )
