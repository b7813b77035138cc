"""Kernels of the fusing compiler with assigned layouts, as they are built."""

from dataclasses import replace

from algebra.errors import LayoutError
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
"""Candidates of a tile: a compiler waits for the answer, and the best choice among
twice as many, found exactly, costs a percent less and takes ten times as long."""


def print_assigned(plan: Plan, printed: Printed) -> Printed:
    """Return a kernel of equal arguments and results with layouts of ours.

    It needs addresses that are multiples of 16 bytes.

    Args:
        plan: What was printed.
        printed: The kernel as Triton lays it out, which says what the arguments are.

    Raises:
        NotTiledError: tile graphs, or their printer, cannot express the kernel.
    """
    count = len(printed.parameters)
    names = dict(zip(printed.parameters, printed.arguments[:count], strict=True))
    sizes = dict(zip(printed.symbols, printed.arguments[count:], strict=True))
    try:
        graph = fused_tiles(plan, names, sizes, printed.name)
        found = assign(graph, plan.num_warps, most_layouts=MOST_LAYOUTS, most_cells=0)
        if not isinstance(found.prove(), Proved):
            raise NotTiledError("needed layouts that are proved")
        kernel = tile_kernel(
            found, arguments=printed.arguments, arithmetic=FusedArithmetic()
        )
    except NotTiledError:
        raise
    except (LayoutError, TileError) as error:
        raise NotTiledError(f"{printed.name} has no tiles of ours: {error}") from error
    left = len(found.conversions())
    note = f"#   layouts are assigned; conversions left: {left}\n"
    return replace(
        printed, source=kernel.text, comments=printed.comments + note, gluon=True
    )
