"""What all steps of a tile kernel print with: files, coordinates, conversions."""

from collections.abc import Sequence
from math import prod

from algebra.affine import AffineLayout
from algebra.errors import UnsupportedLayoutError
from algebra.layout import LinearLayout
from compiler.assign.assignment import Assignment
from compiler.assign.laws import renaming
from compiler.convert import Plan, plan
from compiler.convert.hardware import Hardware
from compiler.ir.expression import Expression, leaves
from compiler.ir.scalar import bits
from compiler.ir.tile import Step, Tile

from .conversion import FunctionText
from .declared import rounded
from .tile_registers import image, renamed
from .tile_scalars import TYPES, Arithmetic, Scalars

SHARED = "tile"
"""Name of the shared memory that the blocks of PTX have in common."""


class FilePrinter:
    """Lines of a kernel whose tiles are register files.

    Attributes:
        given: Graph and layouts.
        graph: The graph.
        hardware: A file of one register.
        threads: Threads of a block.
        functions: Functions that the kernel calls, by what they do.
        files: Log2 of the registers of the files that occur [bits].
        shared_bytes: Shared memory of the blocks of PTX [bytes].
        allocated: Shared memory that Triton allocates, without reuse [bytes].
        together: The largest part of it that is in use at the same time [bytes].
        lines: What has been printed.
        depth: Of indentation.
        moved: Conversions that have been printed.
        renamed: Operands that go by another name at the moment.
        stages: Slots of tiles that are copied ahead; 1 for none.
        memory: Factors that are in shared memory already: their text.
        arithmetic: What prints operations on values; None: Gluon's functions do them.
    """

    def __init__(
        self,
        given: Assignment,
        stages: int = 1,
        arithmetic: Arithmetic | None = None,
    ) -> None:
        self.given = given
        self.arithmetic = arithmetic
        self.graph = given.graph
        lanes, warps = given.threads.device.lane_bits, given.threads.warp_bits
        self.hardware = Hardware(0, lanes, warps, 0)
        self.threads = 1 << lanes + warps
        self.functions: dict[object, FunctionText] = {}
        self.files: set[int] = set()
        self.shared_bytes = 0
        self.allocated = self.together = 0
        self.lines: list[str] = []
        self.depth = 1
        self.moved: dict[tuple[Tile, LinearLayout], str] = {}
        self.names = 0
        self.renamed: dict[str, str] = {}
        self.stages = stages
        self.memory: dict[Tile, str] = {}

    def add(self, *lines: str) -> None:
        """Append lines at the present depth."""
        self.lines += ["    " * self.depth + line for line in lines]

    def allocate(
        self, name: str, dtype: str, shape: Sequence[int], memory: str
    ) -> None:
        """Append a line that allocates shared memory.

        Args:
            name: Of the memory.
            dtype: Of the elements.
            shape: Of what lies there [elements].
            memory: Layout.
        """
        self.add(
            f"{name} = gl.allocate_shared_memory({TYPES[dtype]}, {list(shape)}, "
            f"{memory})"
        )
        self.allocated += rounded(prod(shape) * max(8, bits(dtype)) // 8)

    def fresh(self, stem: str) -> str:
        """Return a new name."""
        self.names += 1
        return f"{stem}{self.names}"

    def file(self, count: int) -> str:
        """Return the name of the layout of files with so many register bits."""
        self.files.add(count)
        return f"FILE{count}"

    def settled(self, name: str, count: int) -> None:
        """Give a file the spelling of its layout that all others have."""
        self.add(f"{name} = gl.convert_layout({name}, {self.file(count)})")

    # what steps read

    def read(self, step: Step, number: int) -> str:
        """Return the name of an operand where its step reads it."""
        tile = step.operands[number]
        src, dst = self.given.layouts[tile], self.given.wanted[step, number]
        if src == dst:
            return tile.name
        if (tile, dst) not in self.moved:
            name = self.fresh(f"{tile.name}_c")
            self.add(f"{name} = {tile.name}")
            self._convert(name, tile.dtype, src, AffineLayout(dst))
            self.moved[tile, dst] = name
        return self.moved[tile, dst]

    def _convert(
        self, name: str, dtype: str, src: LinearLayout, dst: AffineLayout
    ) -> None:
        """Append lines that convert a file in place of its name."""
        free = renaming(src, dst)
        if free is not None:
            self.rename(name, free)
            return
        width = max(8, bits(dtype))
        if dtype == "bool":
            self.add(f"{name} = {name}.to(gl.int8)")
        found = plan(src, dst, width, self.given.threads.device.name)
        function = self._function(found)
        size = 1 << sum(src.in_bits)
        self.add(f"{name} = {function}(gl.reshape({name}, [{size}]))")
        count = dst.linear.in_bits[0]
        self.add(f"{name} = gl.reshape({name}, [{self.threads}, {1 << count}])")
        if dtype == "bool":
            self.add(f"{name} = {name} != 0")
        self.settled(name, count)

    def _function(self, found: Plan) -> str:
        key = (found.src, found.dst, found.element_bits)
        if key not in self.functions:
            name = f"convert{len(self.functions)}"
            tile = SHARED if found.shared_bytes else ""
            emitted = found.emit("hardware", name=name, tile=tile)
            self.functions[key] = emitted.function
            self.shared_bytes = max(self.shared_bytes, found.shared_bytes)
        return self.functions[key].name

    def tensor_function(self, src: LinearLayout, dst: LinearLayout, dtype: str) -> str:
        """Return the name of a function that converts a tensor, not a file."""
        found = plan(src, dst, max(8, bits(dtype)), self.given.threads.device.name)
        key = ("tensor", found.src, found.dst, found.element_bits)
        if key not in self.functions:
            name = f"convert{len(self.functions)}"
            tile = SHARED if found.shared_bytes else ""
            emitted = found.emit("tensor", name=name, tile=tile)
            self.functions[key] = emitted.function
            if emitted.is_planned:
                self.shared_bytes = max(self.shared_bytes, found.shared_bytes)
        return self.functions[key].name

    def rename(self, name: str, source: AffineLayout) -> None:
        """Append lines that rename the registers of a file."""
        lines = renamed(name, self.threads, source)
        if lines is None:
            raise UnsupportedLayoutError(
                f"registers are renamed bit by bit, got {source}; convert before"
            )
        if lines:
            self.add(*lines)
            self.settled(name, source.linear.in_bits[0])

    def coordinates(self, layout: LinearLayout, names: Sequence[str]) -> None:
        """Append lines that make the coordinates of a file's elements.

        Args:
            layout: Of the tile.
            names: One for each dim.
        """
        count = layout.in_bits[0]
        file = self.file(count)
        thread, register = self.fresh("thread"), self.fresh("register")
        self.add(
            f"{thread} = gl.expand_dims(gl.arange(0, {self.threads}, "
            f"gl.SliceLayout(1, {file})), 1)",
            f"{register} = gl.expand_dims(gl.arange(0, {1 << count}, "
            f"gl.SliceLayout(0, {file})), 0)",
        )
        low = 0
        for name, size in zip(names, layout.out_bits, strict=True):
            parts = [
                image(register, layout.columns[:count], low, size),
                image(thread, layout.columns[count:], low, size),
            ]
            mask = (1 << size) - 1 << low
            mine = [0, 0]
            for at, column in enumerate(layout.columns):
                mine[at >= count] |= column & mask
            sign = " ^ " if mine[0] & mine[1] else " + "
            text = sign.join(
                [
                    parts[0] or f"{register} * 0",
                    parts[1] or f"{thread} * 0",
                ]
            )
            self.add(f"{name} = {text}")
            low += size

    def scalars(
        self,
        step: Step | None,
        layout: LinearLayout,
        roots: Sequence[Expression],
        *,
        wide: bool = False,
    ) -> list[str]:
        """Append lines that compute expressions; return their names.

        Args:
            step: Whose operands they read, if any.
            layout: Where.
            roots: Over locals, digits and symbols.
            wide: Whether sizes are taken as int64.
        """
        digits = {str(leaf.data) for leaf in leaves("digit", *roots)}
        stem = self.fresh("e")
        named = {f"d{axis}": f"{stem}d{axis}" for axis in range(len(layout.out_bits))}
        if digits:
            self.coordinates(layout, list(named.values()))
        used = {str(leaf.data) for leaf in leaves("local", *roots)}
        read = {
            tile.name: self.renamed.get(tile.name) or self.read(step, number)
            for number, tile in enumerate(step.operands if step else ())
            if step and tile.name in used
        }

        def leaf(node: Expression) -> str:
            name = str(node.data)
            if node.op == "local":
                return read[name]
            if node.op == "digit":
                return named[name]
            return f"{name}.to(gl.int64)" if wide else name

        printer = Scalars(stem, leaf, self.arithmetic)
        texts = [printer.text(root) for root in roots]
        self.add(*printer.lines)
        return texts
