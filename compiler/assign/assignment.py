"""A tile graph with a layout on every edge."""

from collections.abc import Mapping
from dataclasses import dataclass

from algebra.layout import LinearLayout
from algebra.verdict import Verdict
from compiler.convert import Plan
from compiler.ir.scalar import bits
from compiler.ir.tile import Step, Tile, TileGraph, results_of, steps

from .choices import Threads
from .conversion_cost import is_free, planned


@dataclass(frozen=True, slots=True)
class Edge:
    """A use of a tile in another layout than it has.

    Attributes:
        tile: What is used.
        src: Where it is.
        dst: Where the users want it.
        users: The steps, with the number of the operand.
    """

    tile: Tile
    src: LinearLayout
    dst: LinearLayout
    users: tuple[tuple[Step, int], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """A graph and the layouts of its tiles.

    Attributes:
        graph: The graph; tiles that are made twice are twice in it.
        threads: What it runs on.
        layouts: Tile -> where it is when it has been made.
        wanted: (step, number of the operand) -> where the step reads it.
        cost: What a warp takes, rounds of loops weighed [cycles].
        exact: Whether no choice of the candidates costs less.
    """

    graph: TileGraph
    threads: Threads
    layouts: Mapping[Tile, LinearLayout]
    wanted: Mapping[tuple[Step, int], LinearLayout]
    cost: float
    exact: bool

    def edges(self) -> list[Edge]:
        """Return the uses of tiles in other layouts, one for each distinct layout.

        Uses that only rename registers are among them.
        """
        found: dict[tuple[Tile, LinearLayout], list[tuple[Step, int]]] = {}
        for step, _ in steps(self.graph.operators):
            for number, tile in enumerate(step.operands):
                layout = self.wanted[step, number]
                if layout != self.layouts[tile]:
                    found.setdefault((tile, layout), []).append((step, number))
        return [
            Edge(tile, self.layouts[tile], layout, tuple(users))
            for (tile, layout), users in found.items()
        ]

    def conversions(self) -> list[Edge]:
        """Return the edges on which elements change their thread."""
        return [edge for edge in self.edges() if not is_free(edge.src, edge.dst)]

    def plan(self, edge: Edge) -> Plan:
        """Return how an edge is converted."""
        width = max(8, bits(edge.tile.dtype))
        return planned(edge.src, edge.dst, width, self.threads.device.name)

    def prove(self) -> Verdict:
        """Prove that each element of each edge is where the next step reads it."""
        from .prove import prove  # judges come after what they judge

        return prove(self)

    def explain(self) -> str:
        """Return the layouts and conversions in words."""
        lines = [
            f"{self.graph.name} on {1 << self.threads.warp_bits} warps of "
            f"{self.threads.device.name}: {self.cost:.1f} cycles a warp"
            + ("" if self.exact else " (greedy)")
        ]
        for step, _ in steps(self.graph.operators):
            for tile in results_of(step):
                lines.append(f"  {tile.name} {list(tile.shape)} {type(step).__name__}:")
                bases = {k: v for k, v in self.layouts[tile].bases.items() if v}
                lines += [f"    {name}: {list(v)}" for name, v in bases.items()]
        for edge in self.conversions():
            users = ", ".join(type(step).__name__ for step, _ in edge.users)
            lines.append(f"  conversion of {edge.tile.name} for {users}:")
            plan = self.plan(edge)
            lines.append(f"    {plan.way}, {plan.cost:.1f} cycles")
        return "\n".join(lines)
