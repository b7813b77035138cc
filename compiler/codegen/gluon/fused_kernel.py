"""Kernels of the fusing compiler with assigned layouts, as they are built."""

from dataclasses import replace

from algebra.errors import LayoutError, UnsupportedLayoutError
from algebra.verdict import Proved
from compiler.assign import assign
from compiler.codegen.triton.printer import Printed
from compiler.codegen.triton.tile import Plan
from compiler.errors import NotTiledError
from compiler.ir.tile_check import TileError

from .fused_scalars import FusedArithmetic
from .fused_tiles import fused_tiles
from .tile_kernel import tile_kernel

MOST_LAYOUTS = 8
"""Candidates of a tile: who compiles waits for the answer."""

FEWEST_COLUMNS = 64
"""Of a product's tile."""


def print_assigned(plan: Plan, printed: Printed) -> Printed:
    """Return a kernel of equal arguments and results with layouts of ours.

    It needs addresses that are multiples of 16 bytes. The tile of a product is made
    smaller where it would not fit the memory that a conversion may declare.

    Args:
        plan: What was printed.
        printed: The kernel as Triton lays it out, which says what the arguments are.

    Raises:
        NotTiledError: tile graphs, or their printer, cannot express the kernel.
    """
    try:
        return _assigned(plan, printed)
    except UnsupportedLayoutError as error:
        smaller = _narrower(plan)
        if smaller is None:
            raise _refusal(printed, error) from error
        return print_assigned(smaller, printed)
    except (LayoutError, TileError) as error:
        if isinstance(error, NotTiledError):
            raise
        raise _refusal(printed, error) from error


def _refusal(printed: Printed, error: Exception) -> NotTiledError:
    return NotTiledError(f"{printed.name} has no tiles of ours: {error}")


def _assigned(plan: Plan, printed: Printed) -> Printed:
    count = len(printed.parameters)
    names = dict(zip(printed.parameters, printed.arguments[:count], strict=True))
    sizes = dict(zip(printed.symbols, printed.arguments[count:], strict=True))
    graph = fused_tiles(plan, names, sizes, printed.name)
    found = assign(graph, plan.num_warps, most_layouts=MOST_LAYOUTS, most_cells=0)
    if not isinstance(found.prove(), Proved):
        raise NotTiledError("needed layouts that are proved")
    kernel = tile_kernel(
        found,
        plan.num_stages if plan.factors is not None else 1,
        arguments=printed.arguments,
        arithmetic=FusedArithmetic(),
    )
    left = len(found.conversions())
    note = f"#   layouts are assigned; conversions left: {left}\n"
    return replace(
        printed,
        source=kernel.text,
        comments=printed.comments + note,
        grid=plan.tiles,
        num_warps=plan.num_warps,
        gluon=True,
    )


def _narrower(plan: Plan) -> Plan | None:
    """Return the plan of a product with tiles of half the columns."""
    factors = plan.factors
    if factors is None or factors.tiling.columns < 2 * FEWEST_COLUMNS:
        return None
    tiling = factors.tiling
    columns, warps = tiling.columns // 2, max(tiling.warps // 2, 4)
    tiling = replace(tiling, columns=columns, warps=warps)
    rows, across = plan.tile
    return replace(
        plan,
        tile=(rows, replace(across, block=columns)),
        num_warps=warps,
        factors=replace(factors, tiling=tiling),
    )
