"""Tiles of a product of matrices: rows by columns, the terms in a loop."""

from dataclasses import replace
from typing import Final, NoReturn

from compiler.errors import BuildError
from compiler.ir.expression import Expression, leaves
from compiler.ir.index import add, constant_value, index, mul
from compiler.ir.kernel import Kernel, Store
from compiler.ir.node import Axis
from compiler.ir.product import Factors, factors_of

from .tile import Access, MatrixFactors, Plan, TileAxis, flat_axis

NEIGHBOURS: Final = 8
"""Rows of tiles whose programs run together: the lines of a second-level cache that
16 tiles of 128 x 64 take are few, and each is read by eight of them."""

COPIED: Final = 16
"""What the bulk copy engine wants of addresses and steps [bytes]."""


def plan_product(kernel: Kernel) -> Plan:
    """Return the plan of a flat kernel that is a product of matrices.

    Raises:
        BuildError: it is none, or its factors have no constant steps from term to
            term.
    """
    tiling = kernel.product
    if tiling is None or factors_of(kernel) is None:
        _refuse(kernel, "is no product of two matrices of a half type")
    found = _oriented(kernel)
    assert found is not None
    y, kernel = flat_axis("y", kernel, found.rows)
    kernel = replace(kernel, outer=(*kernel.outer, y))
    x, kernel = flat_axis("x", kernel, found.columns)
    kernel = replace(kernel, outer=(y, x))
    found = factors_of(kernel)
    if found is not None and x in found.rows:
        found = _turned(found)
    terms = constant_value(kernel.inner[0].extent)
    if found is None or terms is None:
        _refuse(kernel, "has a number of terms that only the run knows")
    places, steps, rows = [], [], []
    for load, axis in ((found.left, y), (found.right, x)):
        step = Access(load.args[0], 1).stride(found.term.digit)
        if step is None:
            _refuse(kernel, f"reads {load.data} at no constant step")
        place = add(load.args[0], mul(found.term.digit, -step))
        assert found.term.digit not in leaves("digit", place)
        places.append(place)
        steps.append(step)
        rows.append(_row(place, axis, step))
    if not all(rows) or any(row * 2 % COPIED for row in rows):
        tiling = replace(tiling, descriptors=False)
    tile = (
        TileAxis(y.digit, y.extent, tiling.rows),
        TileAxis(x.digit, x.extent, tiling.columns),
    )
    return Plan(
        kernel=replace(
            kernel,
            inner=(),
            stages=tuple(s for s in kernel.stages if isinstance(s, Store)),
        ),
        tile=tile,
        programs=(),
        reduced=None,
        persistent=False,
        num_warps=tiling.warps,
        num_stages=tiling.stages,
        neighbours=_neighbours(tile[0]),
        factors=MatrixFactors(
            (str(found.left.data), str(found.right.data)),
            (places[0], places[1]),
            (steps[0], steps[1]),
            (rows[0], rows[1]),
            terms,
            found.left.dtype,
            found.result,
            tiling,
        ),
    )


def _oriented(kernel: Kernel) -> Factors | None:
    """Return the product, or the product of its transposes.

    Whichever has columns that are adjacent where the last result is stored: a tile is
    stored along its columns.
    """
    found = factors_of(kernel)
    last = kernel.stages[-1]
    if found is None or not isinstance(last, Store):
        return found
    stored = Access(last.target[0], 1)
    adjacent = any(stored.stride(axis.digit) == 1 for axis in found.rows)
    return _turned(found) if adjacent else found


def _turned(factors: Factors) -> Factors:
    """Return the product of the transposes."""
    return replace(
        factors,
        left=factors.right,
        right=factors.left,
        rows=factors.columns,
        columns=factors.rows,
    )


def without_descriptors(plan: Plan) -> Plan:
    """Return the plan with factors that come by plain loads, of any alignment."""
    factors = plan.factors
    assert factors is not None
    tiling = replace(factors.tiling, descriptors=False)
    return replace(plan, factors=replace(factors, tiling=tiling))


def _row(place: Expression, axis: Axis, step: int) -> int:
    """Return the step of a factor's dim that is not adjacent, 0 where there is none.

    Args:
        place: Of the factor's row or column, at the first term.
        axis: Over the rows or columns.
        step: From term to term [elements].
    """
    other = Access(place, 1).stride(axis.digit)
    if other is None or other <= 0 or step <= 0 or 1 not in (step, other):
        return 0
    if add(place, mul(axis.digit, -other)) is not index(0):
        return 0
    return other if step == 1 else step


def _neighbours(rows: TileAxis) -> int:
    """Return how many rows of tiles run together: the largest divisor that is few."""
    count = constant_value(rows.blocks) or 1
    return max(n for n in range(1, NEIGHBOURS + 1) if count % n == 0)


def _refuse(kernel: Kernel, why: str) -> NoReturn:
    raise BuildError(
        f"{kernel.name} {why}; the library must multiply",
        command="triton",
        output="refused",
    )
