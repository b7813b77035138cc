"""What assignment would do with a kernel that Triton has compiled to TTGIR.

The dump is read back as a tile graph: addresses become index expressions, what moves or
combines elements an operator, and all other arithmetic a map of its operands. Layouts
in the dump are forgotten. What has no operator here (matrix instructions that read
shared memory, atomics, descriptors) is named, and nothing is said about the kernel.
"""

from dataclasses import dataclass

from compiler.assign import Assignment, assign
from compiler.assign.conversion_cost import conversion_cost
from compiler.ir.scalar import bits
from compiler.ir.tile_check import TileError
from verify.mlir import Module

from .graph import NotModelledError, graph_of


@dataclass(frozen=True, slots=True)
class Instead:
    """What assignment would do.

    Attributes:
        assignment: Graph and layouts; None where the kernel is not modelled.
        reason: Why it is not.
        verdict: Name of the verdict of the assignment's proof.
    """

    assignment: Assignment | None
    reason: str = ""
    verdict: str = ""

    @property
    def costs(self) -> list[tuple[str, str, float]]:
        """Type and shape, way and cost of each conversion that it would leave."""
        given = self.assignment
        if given is None:
            return []
        name = given.threads.device.name
        found = []
        for edge in given.conversions():
            width = max(8, bits(edge.tile.dtype))
            cost = conversion_cost(edge.src, edge.dst, width, name)
            shape = "x".join(map(str, edge.tile.shape))
            found.append((f"{edge.tile.dtype} {shape}", given.plan(edge).way, cost))
        return found


def instead_of(module: Module, target: str = "sm_90") -> Instead:
    """Return what assignment would do with the first function of a dump.

    Args:
        module: What ``verify.mlir.read_module`` returned for TTGIR.
        target: As in ``compiler.convert.plan``.
    """
    warps = module.attributes.get("ttg.num-warps", 4)
    try:
        graph = graph_of(module)
        found = assign(graph, int(getattr(warps, "value", warps)), target)
    except (NotModelledError, TileError) as error:
        return Instead(None, str(error))
    return Instead(found, "", type(found.prove()).__name__)
