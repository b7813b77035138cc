"""Expressions as lines of Triton.

Every distinct expression is printed once in the scope where it is first needed. A
value is a scalar or a tensor over some dims of the tile and broadcasts to the others;
a load is masked by exactly the dims that its address depends on, and by the guards
around it.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from compiler.errors import BuildError
from compiler.ir.expression import INDEX, Expression, make, nodes
from compiler.ir.index import constant_value, digit, index
from compiler.ir.kernel import Store
from compiler.ir.ranges import Ranges

from . import library
from .coarse import coarse_nodes
from .flat import expressions
from .operations import operands, operation
from .spelling import TYPES, atom, constant, identifier
from .tile import Plan, TileAxis, block_of, lane_of, programs_of, rounded
from .vectors import neighbours

_INT32: Final = 1 << 31

_COMPARISONS: Final = ("eq", "ne", "lt", "le", "gt", "ge")

Guards = tuple[Expression, ...]

_TAKEN: Final = {
    *(f"{axis.upper()}BLOCK" for axis in "xyr"),
    *(f"{axis}_inside" for axis in "xyr"),
    *(name for name, value in vars(library).items() if hasattr(value, "fn")),
}
"""Names that mean something in every kernel."""


class Emitter:
    """Prints the expressions of one kernel.

    Attributes:
        lines: What is printed so far.
        functions: Names of library functions that were used.
        asserts: Whether an index is checked when the kernel runs.
        chosen: Buffers that a variable points to for the time being, and its name.
        inverses: Float32 values in [1, 2**126), or NaN, with known inverses.
        deterministic: Whether atomic sums of floats are refused.
    """

    def __init__(self, plan: Plan, *, fast: bool = True) -> None:
        self.plan = plan
        self.deterministic = False
        self.lines: list[str] = []
        self.functions: dict[str, None] = {}
        self.asserts = False
        self.taken: set[str] = set(_TAKEN)
        self.pointers: dict[str, str] = {}
        self.chosen: dict[str, str] = {}
        self.symbols: dict[Expression, str] = {}
        self.indent = 1
        self.eviction = ""
        self.inverses: dict[Expression, str] = {}
        self._scopes: list[dict[tuple[Expression, Guards], str]] = [{}]
        self._locals: dict[Expression, tuple[str, frozenset[str]]] = {}
        self._dims: dict[Expression, frozenset[str]] = {}
        self._wide: dict[Expression, bool] = {}
        self._guarded: dict[Expression, bool] = {}
        self._reads: dict[Expression, frozenset[str]] = {}
        self._stored: dict[str, tuple[Expression, str]] = {}
        self._axes = {axis.digit: axis for axis in plan.tile}
        self._axes.update({lane_of(axis): axis for axis in plan.tile})
        self._programs = programs_of(plan)
        self._blocks = {block_of(axis): axis for axis in plan.shared}
        extents = {axis.digit: axis.extent for axis in plan.programs}
        for axis in plan.tile:
            extents[axis.digit] = rounded(axis.extent, axis.block)
            extents[block_of(axis)] = axis.blocks
            extents[lane_of(axis)] = index(axis.block)
        extents[digit("program")] = plan.tiles
        self._ranges = Ranges(extents)
        self._uses = _count_uses(plan)
        self._neighbours = neighbours(plan)
        self._coarse = coarse_nodes(_roots(plan)) if fast else frozenset()

    # names and lines

    def line(self, text: str) -> None:
        """Print a line."""
        self.lines.append("    " * self.indent + text)

    def name(self, wish: str) -> str:
        """Return a fresh name close to the wish."""
        return identifier(wish, self.taken)

    def pointer(self, buffer: str) -> str:
        """Return the parameter of a buffer: in, out, or both.

        Names say nothing of the graph, so that equal kernels have equal sources.
        """
        if buffer in self.chosen:
            return self.chosen[buffer]
        if buffer not in self.pointers:
            stages = self.plan.kernel.stages
            stored = {s.buffer for s in stages if isinstance(s, Store)}
            read = any(buffer in self.reads(root) for root in _roots(self.plan))
            kind = ("inout" if read else "out") if buffer in stored else "in"
            self.pointers[buffer] = self.name(f"{kind}{len(self.pointers)}")
        return self.pointers[buffer]

    def function(self, name: str) -> str:
        """Return the name of a library function, and remember it."""
        self.functions[name] = None
        return name

    def shape(self, dims: frozenset[str] | None = None) -> str:
        """Return the shape of a tensor over some dims, by default the tile's."""
        sizes = [
            f"{axis.name.upper()}BLOCK" if dims is None or axis.name in dims else "1"
            for axis in self.plan.tile
        ]
        return f"[{', '.join(sizes)}]"

    @property
    def all_dims(self) -> frozenset[str]:
        """Return the names of all dims of the tile."""
        return frozenset(axis.name for axis in self.plan.tile)

    # scopes

    def open(self) -> None:
        """Enter a loop: what is printed inside is unknown outside."""
        self.indent += 1
        self._scopes.append({})

    def close(self) -> None:
        """Leave the loop."""
        self.indent -= 1
        self._scopes.pop()

    def bind(self, name: str, dtype: str, text: str, dims: frozenset[str]) -> None:
        """Say what a local of the kernel is called."""
        self._locals[make("local", (), dtype, name)] = (text, dims)
        self._dims.clear()

    def stored(self, buffer: str, address: Expression, text: str) -> None:
        """Forget what was read of a buffer: it was just written at an address."""
        for scope in self._scopes:
            for key in [k for k in scope if buffer in self.reads(k[0])]:
                del scope[key]
        self._stored[buffer] = (address, text)

    # facts

    def dims(self, root: Expression) -> frozenset[str]:
        """Return the dims of the tile that a value depends on."""
        if root in self._dims:
            return self._dims[root]
        for node in nodes(root):
            if node in self._dims:
                continue
            if node.op == "local":
                found = self._local(node)[1]
            elif node.op == "digit":
                found = frozenset(
                    (self._axes[node].name,) if node in self._axes else ()
                )
            else:
                found = frozenset().union(*(self._dims[arg] for arg in node.args))
            self._dims[node] = found
        return self._dims[root]

    def reads(self, root: Expression) -> frozenset[str]:
        """Return the names of the buffers that a value loads."""
        if root in self._reads:
            return self._reads[root]
        for node in nodes(root):
            if node not in self._reads:
                own = (str(node.data),) if node.op == "load" else ()
                parts = (self._reads[arg] for arg in node.args)
                self._reads[node] = frozenset(own).union(*parts)
        return self._reads[root]

    def _local(self, node: Expression) -> tuple[str, frozenset[str]]:
        if node not in self._locals:
            raise BuildError(
                f"the local {node.data!r} is read before a stage makes it; "
                "the schedule is wrong",
                command="triton",
                output="refused",
            )
        return self._locals[node]

    def is_wide(self, root: Expression) -> bool:
        """Return whether an index, or a step on the way to it, may leave int32."""
        if root in self._wide:
            return self._wide[root]
        for node in nodes(root):
            if node.dtype != INDEX or node in self._wide:
                continue
            args = [arg for arg in node.args if arg.dtype == INDEX]
            wide = any(self._wide[arg] for arg in args) or not self._fits(node)
            if node.op == "checked_index":
                wide = not self._fits(node)
            if node.op == "add" and not wide:
                bounds = [self._ranges.bounds(arg) for arg in args]
                lows = [constant_value(low) or 0 for low, _ in bounds if low]
                highs = [constant_value(high) or 0 for _, high in bounds if high]
                low = sum(min(bound, 0) for bound in lows)
                high = sum(max(bound, 0) for bound in highs)
                wide = low < -_INT32 or high >= _INT32
            self._wide[node] = wide
        return self._wide[root]

    def _fits(self, node: Expression) -> bool:
        low, high = self._ranges.bounds(node)
        if low is None or high is None:
            return False
        least, most = constant_value(low), constant_value(high)
        if least is None or most is None:
            return False
        return least >= -_INT32 and most < _INT32

    # printing

    def header(self, share: str = "") -> None:
        """Print the tile's coordinates and masks.

        Args:
            share: What a program takes the numbers of its tiles from, and enters a
                loop over; "": it has one tile.
        """
        for axis in self.plan.tile:
            self.line(f"{axis.name.upper()}BLOCK: tl.constexpr = {axis.block}")
        if share:
            self.line(f"for program in {share}:")
            self.open()
        elif self._programs:
            wide = self.is_wide(digit("program"))
            cast = ".to(tl.int64)" if wide else ""
            self.line(f"program = tl.program_id(0){cast}")
        self._scopes[-1][digit("program"), ()] = "program"
        for number, (name, place) in enumerate(self._programs.items()):
            text = self.value(place)
            tiled = self._blocks.get(name)
            fresh = self.name(f"p{number}" if tiled is None else str(name.data))
            self.line(f"{fresh} = {text}")
            self._scopes[-1][name, ()] = fresh
            if tiled is not None:
                self.coordinate(tiled, f"{fresh} * {tiled.name.upper()}BLOCK")
        reduced = self.plan.reduced
        if reduced is not None and self.plan.persistent:
            self.coordinate(reduced, "")

    @property
    def looped(self) -> TileAxis:
        """Return the dim of the tile that a program loops over."""
        axis = self.plan.folded or self.plan.reduced
        assert axis is not None
        return axis

    def loop(self) -> None:
        """Print the head of a loop over tiles along ``r`` or rows, and enter it."""
        axis = self.looped
        start = self.name("start")
        extent = self.value(axis.extent)
        step = f"{axis.name.upper()}BLOCK"
        loop = f"range(0, {extent}, {step})"
        if self.plan.folded is not None and self.plan.num_stages > 1:
            # without a product of matrices only this asks for a pipeline
            stages = self.plan.num_stages
            loop = f"tl.range(0, {extent}, {step}, num_stages={stages})"
        self.line(f"for {start} in {loop}:")
        self.open()
        tile = block_of(axis)
        if tile in self._uses:
            self.line(f"{tile.data} = {start} // {step}")
            self._scopes[-1][tile, ()] = str(tile.data)
        self.coordinate(axis, start)

    def lanes(self, axis: TileAxis) -> str:
        """Return the numbers of a tile's points along an axis, spread over the tile."""
        lanes = f"tl.arange(0, {axis.name.upper()}BLOCK)"
        if self.is_wide(axis.digit):
            lanes = f"{lanes}.to(tl.int64)"
        if len(self.plan.tile) > 1:
            spread = [":" if a is axis else "None" for a in self.plan.tile]
            lanes += f"[{', '.join(spread)}]"
        return lanes

    def coordinate(self, axis: TileAxis, start: str) -> None:
        """Print the coordinates of a tile along an axis, and its mask."""
        lanes = self.lanes(axis)
        lane = lane_of(axis)
        if start and lane in self._uses:
            self.line(f"{axis.name}_lane = {lanes}")
            self._scopes[-1][lane, ()] = lanes = f"{axis.name}_lane"
        text = f"{start} + {lanes}" if start else lanes
        self.line(f"{axis.name} = {text}")
        group = self._neighbours.get(axis.name)
        if group is not None:
            sizes = ", ".join(str(group if a is axis else 1) for a in self.plan.tile)
            hinted = f"tl.multiple_of({axis.name}, [{sizes}])"
            self.line(f"{axis.name} = tl.max_contiguous({hinted}, [{sizes}])")
        self._scopes[-1][axis.digit, ()] = axis.name
        if not axis.exact:
            limit = self.value(axis.extent)
            self.line(f"{axis.name}_inside = {axis.name} < {limit}")

    def mask(self, dims: frozenset[str], guards: Guards = ()) -> str:
        """Return the mask of the points of some dims, "" if all are inside."""
        parts = [
            f"{axis.name}_inside"
            for axis in self.plan.tile
            if axis.name in dims and not axis.exact
        ]
        parts += [self.value(guard, guards[:i]) for i, guard in enumerate(guards)]
        return " & ".join(dict.fromkeys(atom(part) for part in parts))

    def value(self, root: Expression, guards: Guards = ()) -> str:
        """Return the text of an expression, after printing what it needs."""
        for node in self._order(root, guards):
            self._print(node, guards)
        return self._find(root, guards) or ""

    def _order(self, root: Expression, guards: Guards) -> Iterator[Expression]:
        """Yield what is to be printed, operands first; guards hide their values."""
        stack = [(root, False)]
        seen: set[Expression] = set()
        while stack:
            node, ready = stack.pop()
            if ready:
                yield node
            elif node not in seen and self._find(node, guards) is None:
                seen.add(node)
                stack.append((node, True))
                stack.extend((a, False) for a in reversed(self._operands(node)))

    def _operands(self, node: Expression) -> tuple[Expression, ...]:
        """Return the operands to print: indices compare as they are, in int32."""
        found = operands(node)
        if node.op not in _COMPARISONS or node.args[0].dtype != "int64":
            return found
        narrow: list[Expression] = []
        for arg in node.args:
            if arg.op == "from_index" and not self.is_wide(arg.args[0]):
                narrow.append(arg.args[0])
            elif arg.op == "constant" and abs(int(str(arg.data))) < _INT32:
                narrow.append(index(int(str(arg.data))))
            else:
                return found
        return tuple(narrow)

    def _key(self, node: Expression, guards: Guards) -> tuple[Expression, Guards]:
        if guards and not self._is_guarded(node):
            return node, ()
        return node, guards

    def _is_guarded(self, root: Expression) -> bool:
        """Return whether guards change how a value is computed."""
        if root in self._guarded:
            return self._guarded[root]
        for node in nodes(root):
            if node not in self._guarded:
                own = node.op in ("load", "checked_index")
                self._guarded[node] = own or any(self._guarded[a] for a in node.args)
        return self._guarded[root]

    def _find(self, node: Expression, guards: Guards) -> str | None:
        if node.op == "constant":
            if node.dtype == INDEX:
                return str(node.data)
            return constant(node.data, node.dtype)
        if node.op == "local":
            return self._local(node)[0]
        if node.op == "symbol":
            return self.symbol(node)
        _, guards = self._key(node, guards)
        for count in range(len(guards), -1, -1):  # fewer guards: loaded more widely
            for scope in reversed(self._scopes):
                if (node, guards[:count]) in scope:
                    return scope[node, guards[:count]]
        return None

    def symbol(self, node: Expression) -> str:
        """Return the parameter of a size."""
        if node not in self.symbols:
            self.symbols[node] = self.name(f"size{len(self.symbols)}")
        return self.symbols[node]

    def _print(self, node: Expression, guards: Guards) -> None:
        if self._find(node, guards) is not None:
            return
        key = self._key(node, guards)
        if node.op == "digit":
            raise BuildError(
                f"the digit {node.data!r} is not one of this kernel's axes",
                command="triton",
                output="refused",
            )
        if node.op == "load":
            self._scopes[-1][key] = self._load(node, guards)
            return
        if node.op == "checked_index":
            self._scopes[-1][key] = self._checked(node, guards)
            return
        if node.dtype == INDEX:
            text = self._index(node, guards)
        elif node.op == "guard":
            condition, value, other = node.args
            inner = self.value(value, (*guards, condition))
            outside = self.value(other, guards)
            text = f"tl.where({self.value(condition, guards)}, {inner}, {outside})"
        elif node.op == "from_index":
            inner = atom(self.value(node.args[0], guards))
            if node.args[0].op in ("constant", "symbol"):
                inner = f"tl.full((), {inner}, tl.int64)"
            text = f"{inner}.to({TYPES[node.dtype]})"
        else:
            args = [self.value(arg, guards) for arg in self._operands(node)]
            text = operation(self, node, args)
        if node.dtype == INDEX and self._uses.get(node, 0) <= 1:
            self._scopes[-1][key] = text
            return
        wish = "i" if node.dtype == INDEX else "t"
        fresh = self.name(f"{wish}{len(self.taken)}")
        self.line(f"{fresh} = {text}")
        self._scopes[-1][key] = fresh

    def _index(self, node: Expression, guards: Guards) -> str:
        args = [atom(self.value(arg, guards)) for arg in node.args]
        if self.is_wide(node) and not any(map(self.is_wide, node.args)):
            place = next(
                (i for i, arg in enumerate(node.args) if arg.op != "constant"), None
            )
            if place is not None:
                args[place] += ".to(tl.int64)"
        if node.op in ("add", "mul"):
            return (" + " if node.op == "add" else " * ").join(args)
        if node.op in ("minimum", "maximum"):
            return f"tl.{node.op}({args[0]}, {args[1]})"
        if node.op not in ("floordiv", "mod"):
            raise BuildError(
                f"no index operation {node.op!r}", command="triton", output="refused"
            )
        if self._ranges.at_least(node.args[0], 0):
            return f"{args[0]} {'//' if node.op == 'floordiv' else '%'} {args[1]}"
        name = "floor_divide" if node.op == "floordiv" else "floor_remainder"
        return f"{self.function(name)}({args[0]}, {args[1]})"

    def _load(self, node: Expression, guards: Guards) -> str:
        buffer, address = str(node.data), node.args[0]
        known = self._stored.get(buffer)
        if known is not None:
            if known[0] is not address:
                raise BuildError(
                    f"{buffer} is read at another place than it was written at in "
                    f"kernel {self.plan.kernel.name}; the schedule is wrong",
                    command="triton",
                    output="refused",
                )
            return known[1]
        place = atom(self.value(address, guards))
        dims = self.dims(address).union(*map(self.dims, guards))
        mask = self.mask(dims, guards)
        pointer = self.pointer(buffer)
        if dims != self.dims(address):  # a mask has no more dims than its pointer
            fill = "broadcast_to" if self.dims(address) else "full"
            shape = self.shape(dims)
            order = (place, shape) if self.dims(address) else (shape, place, "tl.int64")
            place = f"tl.{fill}({', '.join(map(str, order))})"
        source = f"{pointer} + {place}"
        if place == "0":
            source = pointer
        options = f", mask={mask}, other=0" if mask else ""
        options += self.eviction if self.dims(address) else ""
        fresh = self.name(f"{pointer}_{len(self.taken)}")
        self.line(f"{fresh} = tl.load({source}{options})")
        return fresh

    def _checked(self, node: Expression, guards: Guards) -> str:
        """Print a checked index: outside its extent the kernel stops with an error."""
        self.asserts = True
        found = atom(self.value(node.args[0], guards))
        extent = atom(self.value(node.args[1], guards))
        fresh = self.name(f"i{len(self.taken)}")
        if node.data:
            self.line(f"{fresh} = tl.where({found} < 0, {found} + {extent}, {found})")
        else:
            self.line(f"{fresh} = {found}")
        inside = f"({fresh} >= 0) & ({fresh} < {extent})"
        dims = self.dims(node.args[0]).union(*map(self.dims, guards))
        mask = self.mask(dims, guards)
        where = f", mask={mask}" if mask else ""
        self.line(f'tl.device_assert({inside}, "index out of range"{where})')
        width = "int64" if self.is_wide(node) else "int32"
        self.line(f"{fresh} = {fresh}.to(tl.{width})")
        return fresh

    def is_used(self, node: Expression) -> bool:
        """Return whether the kernel has this expression."""
        return node in self._uses

    def is_coarse(self, node: Expression) -> bool:
        """Return whether a value is only used rounded to a half type."""
        return node in self._coarse

    def _in_loop(self, root: Expression) -> bool:
        """Return whether a value changes from tile to tile of the loop."""
        if self.looped.name in self.dims(root):
            return True
        tile = block_of(self.looped)
        return tile in self._uses and any(node is tile for node in nodes(root))

    def hoist(self, roots: Sequence[Expression]) -> None:
        """Print before a loop what does not depend on it."""
        seen: set[Expression] = set()
        stack = list(roots)
        while stack:
            node = stack.pop()
            if node in seen or node.op in ("constant", "digit", "local", "symbol"):
                continue
            seen.add(node)
            if self._in_loop(node):
                stack.extend(operands(node))
            elif node.dtype != INDEX or self._uses.get(node, 0) > 1:
                self.value(node)


def _roots(plan: Plan) -> list[Expression]:
    return [part for stage in plan.kernel.stages for part in expressions(stage)]


def _count_uses(plan: Plan) -> dict[Expression, int]:
    uses: dict[Expression, int] = {}
    roots = _roots(plan)
    for root in roots:
        uses[root] = uses.get(root, 0) + 1
    for node in nodes(*roots):
        for arg in node.args:
            uses[arg] = uses.get(arg, 0) + 1
    return uses
