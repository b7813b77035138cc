"""Kernels of the fusing compiler as tile graphs, whose layouts can be assigned.

A plan says which tile a program computes; here its stages become operators on that
tile. A value is a tile over those of its dims that it depends on, broadcast where it
meets others, so that what belongs to a row is computed once a row. What is loaded once
is one tile, whoever reads it. Arithmetic stays that of the plan's expressions: values
that may be off by some last bits, because they are rounded to a half type afterwards,
carry the mark ``fused_reductions.COARSE``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from compiler.assign.clone import read_operators
from compiler.codegen.triton.coarse import coarse_nodes
from compiler.codegen.triton.flat import expressions, recombined
from compiler.codegen.triton.tile import (
    Plan,
    TileAxis,
    block_of,
    lane_of,
    programs_of,
    tiles_apart,
)
from compiler.errors import NotTiledError
from compiler.ir.expression import (
    INDEX,
    Expression,
    leaves,
    loads,
    make,
    nodes,
    substitute,
)
from compiler.ir.index import (
    Index,
    add,
    constant_value,
    digit,
    from_terms,
    mul,
    symbol,
    terms,
)
from compiler.ir.kernel import Reduction, Store
from compiler.ir.ranges import Ranges
from compiler.ir.tile import Tile, TileGraph, TileMap, coordinate
from compiler.ir.tile_builder import TileBuilder, both, less, read

from .fused_products import multiply
from .fused_reductions import COARSE, quotient, reduce_tile

_INT32 = 1 << 31
_TYPICAL = 1000
"""What a size that is not constant counts as, to weigh accesses with."""
_INDEX_OPS = ("add", "mul", "floordiv", "mod", "minimum", "maximum")
_PROGRAM = digit("program")
Guards = tuple[Expression, ...]


def fused_tiles(
    plan: Plan, names: Mapping[str, str], sizes: Mapping[Expression, str], name: str
) -> TileGraph:
    """Return what one program of a plan does, as a tile graph.

    Law: program ``program0`` of ``plan.tiles`` many stores what that program of the
    plan's kernel stores; a sum may be taken in another order.

    Args:
        plan: Of a kernel without parts or loops over rows; tiles not taken apart.
        names: Buffer -> its name in the graph.
        sizes: Symbol -> its name in the graph.
        name: Of the graph.

    Raises:
        NotTiledError: the kernel does something that no tile operator does.
    """
    reduced = plan.reduced is not None
    if plan.parts or plan.folded or not plan.tile:
        raise NotTiledError("needed a tile without parts or folded sums")
    if reduced and not plan.persistent:
        raise NotTiledError("needed rows that fit a tile, got a loop over them")
    if constant_value(plan.tiles) == 0:
        raise NotTiledError("needed a kernel with points")
    return Lowering(plan, names, sizes, name).graph()


@dataclass(frozen=True, slots=True)
class Value:
    """A tile, and the dims of the plan's tile that it varies along."""

    tile: Tile
    dims: frozenset[int]


class Lowering:
    """A plan's stages on their way to operators.

    Attributes:
        plan: With tiles taken apart.
        builder: The graph so far.
        used: All values of the kernel.
        coarse: Those that are rounded to a half type afterwards.
        shared: Values that are tiles of their own.
        locals: Results of stages.
        inverses: Divisors in [1, 2**126) whose inverses are known.
    """

    def __init__(
        self,
        plan: Plan,
        names: Mapping[str, str],
        sizes: Mapping[Expression, str],
        name: str,
    ) -> None:
        self.plan = plan = tiles_apart(plan)
        self.names = names
        self.sizes = {size: symbol(text) for size, text in sizes.items()}
        self.builder = TileBuilder(name)
        for key, text in names.items():
            buffer = plan.kernel.buffers[key]
            self.builder.buffer(text, buffer.dtype, [1])
        for text in sizes.values():
            self.builder.size(text, typical=_TYPICAL)
        self.axes: dict[Expression, int] = {}
        self.places = dict(programs_of(plan))
        for number, axis in enumerate(plan.tile):
            here: Index = coordinate(number)
            self.axes[axis.digit] = self.axes[lane_of(axis)] = number
            self.places[lane_of(axis)] = coordinate(number)
            if axis in plan.shared:
                here = add(mul(self.places[block_of(axis)], axis.block), here)
            self.places[axis.digit] = add(here)
        known = constant_value(plan.tiles)
        programs = _INT32 if known is None else known
        extents: dict[Expression, Index] = {_PROGRAM: programs}
        for number, axis in enumerate(plan.tile):
            extents[coordinate(number)] = axis.block
        self.ranges = Ranges(extents)
        roots = [part for stage in plan.kernel.stages for part in expressions(stage)]
        self.used = frozenset(nodes(*roots))
        self.coarse = coarse_nodes(roots)
        self.shared = _shared(roots)
        self.locals: dict[Expression, Value] = {}
        self.inverses: dict[Expression, Value] = {}
        self.known: dict[tuple[Expression, Guards], Value] = {}
        self.stored: dict[str, tuple[Expression, Value] | None] = {}
        self._dims: dict[Expression, frozenset[int]] = {}

    def graph(self) -> TileGraph:
        """Lower all stages."""
        if self.plan.factors is not None:
            multiply(self)
        for stage in self.plan.kernel.stages:
            if isinstance(stage, Store):
                self._store(stage)
            elif isinstance(stage, Reduction):
                reduce_tile(self, stage)
            else:
                raise NotTiledError(f"needed stores and reductions, got a {stage.kind}")
        self.builder.operators = list(read_operators(tuple(self.builder.operators)))
        found = self.builder.graph()
        written = {found.buffers[self.names[key]].dtype for key in self.stored}
        # memory is taken over by arrays of the same type
        changed = {key for key, one in found.buffers.items() if one.dtype in written}
        return replace(found, changed=frozenset(changed))

    # dims and indices

    @property
    def all_dims(self) -> frozenset[int]:
        """Return the numbers of all dims."""
        return frozenset(range(len(self.plan.tile)))

    def shape(self, dims: frozenset[int]) -> list[int]:
        """Return the shape of a tile that varies along some dims."""
        return [
            axis.block if number in dims else 1
            for number, axis in enumerate(self.plan.tile)
        ]

    def dims(self, root: Expression) -> frozenset[int]:
        """Return the dims that a value depends on."""
        for node in nodes(root):
            if node in self._dims:
                continue
            if node.op == "local":
                self._dims[node] = self._local(node).dims
            elif node.op == "digit":
                number = self.axes.get(node)
                self._dims[node] = frozenset(() if number is None else (number,))
            else:
                parts = (self._dims[arg] for arg in node.args)
                self._dims[node] = frozenset[int]().union(*parts)
        return self._dims[root]

    def _local(self, node: Expression) -> Value:
        if node not in self.locals:
            raise NotTiledError(f"needed a stage that makes {node.data} before")
        return self.locals[node]

    def index(self, value: Expression, *, address: bool = False) -> Expression:
        """Return an index over a program's coordinates.

        Args:
            value: Over the plan's digits.
            address: Whether it is only split into what varies in a tile, which takes
                32 bits, and the rest, which takes 64.
        """
        for node in nodes(value):
            if node.args and node.op not in _INDEX_OPS:
                raise NotTiledError(f"needed index arithmetic, got {node.op}")
        placed = recombined(self.ranges.simplify(substitute(value, self.places)))
        narrow = placed
        if address:
            varying: dict[Expression | None, int] = {
                f: c for f, c in terms(placed).items() if f and _varies(f)
            }
            narrow = from_terms(varying)
        for node in nodes(placed):
            if node.op in ("floordiv", "mod") and not self.ranges.at_least(
                node.args[0], 0
            ):
                raise NotTiledError("needed quotients of what is not negative")
        for node in nodes(narrow):  # sizes are 64 bits, and so is what they are in
            if not leaves("symbol", node) and not self._fits(node):
                raise NotTiledError("needed offsets in a tile that fit 32 bits")
        known = {**self.sizes, _PROGRAM: symbol("program0")}
        return substitute(placed, known)

    def _fits(self, node: Expression) -> bool:
        low, high = self.ranges.bounds(node)
        least = None if low is None else constant_value(low)
        most = None if high is None else constant_value(high)
        return (
            least is not None
            and most is not None
            and least >= -_INT32
            and (most < _INT32)
        )

    def inside(self, axis: TileAxis) -> Expression:
        """Return whether a coordinate is no larger than its axis."""
        limit = substitute(axis.extent, self.sizes)
        return less(self.index(axis.digit), limit)

    # values

    def value(self, root: Expression, guards: Guards = ()) -> Value:
        """Return the tile of a value, over the dims that it depends on."""
        key = (root, guards if loads(root) else ())
        if key not in self.known:
            if root.op == "load":
                self.known[key] = self._load(root, key[1])
            elif root.op == "local":
                self.known[key] = self._local(root)
            else:
                dims = self._reach(root, key[1])
                self.known[key] = self._map(root, key[1], dims)
        return self.known[key]

    def _reach(self, root: Expression, guards: Guards) -> frozenset[int]:
        return self.dims(root).union(*map(self.dims, guards if loads(root) else ()))

    def _map(self, root: Expression, guards: Guards, dims: frozenset[int]) -> Value:
        operands: list[Tile] = []
        value = self.inlined(root, guards, dims, operands, root)
        return self.computed(value, operands, dims)

    def computed(
        self, value: Expression, operands: Sequence[Tile], dims: frozenset[int]
    ) -> Value:
        """Append an operator that computes a value of operands of its shape."""
        result = self.builder.tile(self.shape(dims), value.dtype)
        used = tuple(dict.fromkeys(operands))
        self.builder.operators.append(TileMap(result, used, value))
        return Value(result, dims)

    def kept(self, tile: Tile, dims: frozenset[int]) -> Value:
        """Return a tile with the dims that it varies along."""
        return Value(tile, dims)

    def fitted(self, value: Value, dims: frozenset[int]) -> Tile:
        """Return a tile broadcast to more dims."""
        return self.builder.fit(value.tile, self.shape(dims))

    def inlined(
        self,
        node: Expression,
        guards: Guards,
        dims: frozenset[int],
        operands: list[Tile],
        root: Expression | None = None,
    ) -> Expression:
        """Return a value over operands of the shape that some dims have."""
        if node.op == "constant":
            return node
        if node.op == "from_index":
            return make("from_index", (self.index(node.args[0]),), node.dtype)
        if node.op in ("checked_index", "random_bits") or node.dtype == INDEX:
            raise NotTiledError(f"needed arithmetic on values, got {node.op}")
        if node is not root:
            mine = self._reach(node, guards)
            small = mine != dims and bool(loads(node) or leaves("local", node))
            if node.op in ("load", "local") or small or node in self.shared:
                tile = self.fitted(self.value(node, guards), dims)
                operands.append(tile)
                return read(tile)
        if node.op == "guard":
            condition, value, other = node.args
            parts = [
                self.inlined(condition, guards, dims, operands),
                self.inlined(value, (*guards, condition), dims, operands),
                self.inlined(other, guards, dims, operands),
            ]
            return make("where", tuple(parts), node.dtype)
        args = [self.inlined(a, guards, dims, operands) for a in node.args]
        if node.op == "truediv" and node.args[1] in self.inverses:
            tile = self.fitted(self.inverses[node.args[1]], dims)
            operands.append(tile)
            return quotient(args[0], args[1], read(tile), node in self.coarse)
        marked = node.op in ("exp", "truediv") and node in self.coarse
        data = COARSE if marked else node.data
        return make(node.op, tuple(args), node.dtype, data)

    # memory

    def _conditions(
        self, dims: frozenset[int], guards: Guards
    ) -> tuple[Expression | None, list[Tile]]:
        """Return the condition of an access over some dims, and what it reads."""
        found = [
            self.inside(axis)
            for number, axis in enumerate(self.plan.tile)
            if number in dims and not axis.exact
        ]
        operands: list[Tile] = []
        for number, guard in enumerate(guards):
            found.append(self.inlined(guard, guards[:number], dims, operands))
            casts = (n for n in nodes(found[-1]) if n.op in ("cast", "bitcast"))
            if any(node.dtype == "bool" for node in casts):
                # where neighbours have one mask is read off comparisons
                raise NotTiledError("needed guards that compare")
        return (both(*found) if found else None), operands

    def _load(self, node: Expression, guards: Guards) -> Value:
        buffer, address = str(node.data), node.args[0]
        if buffer in self.stored:
            known = self.stored[buffer]
            if known is None or known[0] is not address:
                raise NotTiledError(f"needed {buffer} read where it was written")
            return known[1]
        dims = self.dims(address).union(*map(self.dims, guards))
        condition, operands = self._conditions(dims, guards)
        tile = self.builder.load(
            self.names[buffer],
            [self.index(address, address=True)],
            self.shape(dims),
            condition,
            operands=tuple(dict.fromkeys(operands)),
        )
        return Value(tile, dims)

    def _store(self, stage: Store) -> None:
        if stage.mode != "set" or not stage.injective:
            raise NotTiledError("needed stores of points apart")
        dims = self.all_dims
        if self.plan.reduced is not None and not stage.inner:
            dims -= {len(self.plan.tile) - 1}
        guards = () if stage.condition is None else (stage.condition,)
        if stage.value.op == "constant":
            found = self.computed(stage.value, (), frozenset())
        else:
            found = self.value(stage.value, guards)
        condition, operands = self._conditions(dims, guards)
        tile = self.fitted(found, dims)
        self.builder.store(
            self.names[stage.buffer],
            [self.index(stage.target[0], address=True)],
            tile,
            condition,
            operands=[one for one in dict.fromkeys(operands) if one is not tile],
        )
        for key in list(self.known):
            if stage.buffer in {load.data for load in loads(key[0])}:
                del self.known[key]
        kept = (stage.target[0], Value(tile, dims))
        self.stored[stage.buffer] = None if guards else kept


def _shared(roots: Sequence[Expression]) -> frozenset[Expression]:
    """Return the values that several expressions have in common, the largest ones."""
    seen: dict[Expression, int] = {}
    for root in dict.fromkeys(roots):
        for node in nodes(root):
            seen[node] = seen.get(node, 0) + 1
    common = {
        node
        for node, count in seen.items()
        if count > 1 and node.args and node.dtype != INDEX and node.op != "from_index"
    }
    inner = {arg for node in common for arg in node.args}
    return frozenset(common - inner)


def _varies(factor: Expression) -> bool:
    return any(leaf is not _PROGRAM for leaf in leaves("digit", factor))
