"""An assignment as a Gluon kernel: explicit layouts, conversions by our own plans.

Each tile is a register file, a tensor [threads, registers] whose layout is the
identity, so that any linear layout can be had. Renaming registers compiles to nothing;
conversions, reductions, scans and gathers are blocks of PTX made from their plans.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from algebra.dims import dim_name
from algebra.errors import LayoutError, UnsupportedLayoutError
from algebra.layout import LinearLayout
from compiler.assign.assignment import Assignment
from compiler.assign.laws import bits_of, sources
from compiler.assign.scan import fetched
from compiler.convert import plan_gather, plan_reduction
from compiler.ir.expression import Expression, leaves
from compiler.ir.scalar import bits
from compiler.ir.tile import (
    Operator,
    Step,
    Tile,
    TileDot,
    TileGather,
    TileJoin,
    TileLoad,
    TileLoop,
    TileMap,
    TileReduce,
    TileScan,
    TileSplit,
    TileStore,
    TileUpcast,
    results_of,
    steps,
)
from compiler.ir.tile_leaves import sizes_of, tile_leaves

from .conversion import HEADER, FunctionText, file_layout, tile_function
from .declared import raising, rounded
from .gather import gather_function
from .reduction import reduction_function
from .tile_access import load_lines, store_lines
from .tile_dot import dot_lines, hoist
from .tile_gather import gather_lines
from .tile_pipeline import begin, each, factor, streams_of
from .tile_prefetch import early_loads, load_first, load_next
from .tile_printer import SHARED, FilePrinter
from .tile_scalars import TYPES, Arithmetic, Scalars

REDUCERS: Mapping[str, str] = {
    "sum": "sum",
    "maximum": "max",
    "minimum": "min",
    "xor": "xor",
}


@dataclass(frozen=True, slots=True)
class TileKernel:
    """A Gluon kernel.

    Attributes:
        name: Of the function.
        text: The module.
        parameters: Name -> type in Triton's spelling: pointers, then sizes.
        warps: Warps that it must be launched with.
    """

    name: str
    text: str
    parameters: Mapping[str, str]
    warps: int


def tile_kernel(
    given: Assignment,
    stages: int = 1,
    *,
    arguments: Sequence[str] = (),
    arithmetic: Arithmetic | None = None,
) -> TileKernel:
    """Return the kernel that carries out an assignment.

    Args:
        given: Graph and layouts, of one block.
        stages: Slots in shared memory of each tile that a loop copies ahead for its
            products, other loads being issued a round ahead; 1: loops load to
            registers, where they are written.
        arguments: Names of arrays and sizes in the order of the kernel's parameters;
            (): arrays as the graph has them, then the sizes that it reads.
        arithmetic: What prints operations on values; None: Gluon's functions do them.

    Raises:
        BuildError: an operation that Gluon has not.
        UnsupportedLayoutError: a type or an amount of shared memory that a plan's
            function does not take.
    """
    return _Printer(given, stages, arithmetic).kernel(arguments)


class _Printer(FilePrinter):
    def kernel(self, arguments: Sequence[str]) -> TileKernel:
        """Print everything."""
        self._sequence(self.graph.operators)
        sizes = sizes_of(self.graph)
        parameters = {
            name: "*" + _TRITON[buffer.dtype]
            for name, buffer in self.graph.buffers.items()
        } | dict.fromkeys(sizes, "i32")
        if arguments:
            parameters = {name: parameters.get(name, "i32") for name in arguments}
        warps = 1 << self.given.threads.warp_bits
        parts = [HEADER]
        declared = []
        if self.shared_bytes:
            made = tile_function(SHARED, self.shared_bytes, self.hardware)
            parts.append(_body(made))
            declared = [f"declare_{SHARED}()"]
            declared += raising(
                rounded(self.shared_bytes), self.allocated, self.together, warps
            )
        parts += map(_body, self.functions.values())
        named = [
            "import triton.language as tl",
            "from triton.experimental.gluon.language.nvidia.ampere import (",
            "    async_copy,",
            "    mma_v2,",
            ")",
            "from triton.experimental.gluon.language.nvidia.hopper import (",
            "    fence_async_shared,",
            "    warpgroup_mma,",
            ")",
            "",
            "PROPAGATE_NAN = gl.constexpr(tl.PropagateNan.ALL)",
            "# releases after 3.8 know it by this name only",
            "start_copy = getattr(async_copy, 'async_load', None)",
            "start_copy = start_copy or async_copy.async_copy_global_to_shared",
        ]
        for count in sorted(self.files):
            here = self.hardware.with_registers(count)
            named.append(f"FILE{count} = gl.constexpr({file_layout(here, count)})")
        called = [] if self.arithmetic is None else self.arithmetic.sources()
        if any("libdevice." in text for text in (*called, *self.lines)):
            named.insert(1, "from triton.language.extra import libdevice")
        lines = [
            *parts,
            *named,
            "",
            "",
            *called,
            "",
            "@gluon.jit",
            f"def {self.graph.name}({', '.join(parameters)}):",
            *(f"    {line}" for line in declared),
            *self._programs(),
            *self.lines,
            "",
        ]
        return TileKernel(
            self.graph.name,
            "\n".join(lines),
            parameters,
            warps,
        )

    def _programs(self) -> list[str]:
        used = {str(leaf.data) for leaf in tile_leaves(self.graph, "symbol")}
        return [
            f"    program{axis} = gl.program_id({axis})"
            for axis in range(3)
            if f"program{axis}" in used
        ]

    # steps

    def _sequence(self, operators: Sequence[Operator]) -> None:
        for operator in operators:
            if isinstance(operator, TileLoop):
                self._loop(operator)
            else:
                self._step(operator)

    def _loop(self, loop: TileLoop) -> None:
        for one in loop.carried:
            self.add(f"{one.argument.name} = {self.read(one, 0)}")
        printer = Scalars(self.fresh("n"), lambda node: str(node.data))
        rounds = printer.text(loop.rounds)
        self.add(*printer.lines)
        streams = streams_of(self, loop) if self.stages > 1 else []
        skipped = {one for stream in streams for one in stream.skipped}
        early = early_loads(self, loop, skipped) if self.stages > 1 else []
        before = self.allocated
        self._hoist(loop)
        if streams:
            begin(self, streams, loop, rounds)
        self.together = max(self.together, self.allocated - before)
        load_first(self, early, loop)
        self.add(f"for {loop.counter.data} in range({rounds}):")
        outside, stored = dict(self.moved), dict(self.memory)
        self.depth += 1
        if streams:
            each(self, streams, loop, rounds)
        for stream in streams:
            self.memory[stream.tile] = factor(self, stream, loop)
        load_next(self, early, loop)
        skipped |= set(early)
        self._sequence([one for one in loop.body if one not in skipped])
        handed = [(one.argument.name, self.read(one, 1)) for one in loop.carried]
        kept = []
        for argument, name in handed:
            if name != argument:
                self.add(f"{argument}_next = {name}")
                kept.append(argument)
        for argument in kept:
            self.add(f"{argument} = {argument}_next")
        if not loop.body:
            self.add("pass")
        self.depth -= 1
        self.moved, self.memory = outside, stored
        for one in loop.carried:
            self.add(f"{one.result.name} = {one.argument.name}")

    def _hoist(self, loop: TileLoop) -> None:
        """Convert and store before a loop what the loop does not change."""
        inside = {tile for one in loop.carried for tile in results_of(one)}
        body = list(steps(loop.body))
        inside |= {tile for step, _ in body for tile in results_of(step)}
        for step, _ in body:
            for number, tile in enumerate(step.operands):
                if tile in inside:
                    continue
                if isinstance(step, TileDot) and number < 2:
                    hoist(self, step, number)
                else:
                    self.read(step, number)

    def _step(self, step: Operator) -> None:
        given = self.given
        made = [given.layouts[tile] for tile in results_of(step)]
        match step:
            case TileLoad():
                load_lines(self, step, made[0])
            case TileStore():
                store_lines(self, step, given.wanted[step, 0])
            case TileMap(result=result, value=value):
                self._map(step, result, value, made[0])
            case TileReduce():
                self._reduce(step)
            case TileScan():
                self._scan(step)
            case TileGather():
                self._gather(step)
            case TileSplit(halves=halves):
                for which, half in enumerate(halves):
                    self._own(step, 0, half.name, made[which], which)
            case TileJoin(result=result):
                self._join(step, result, made[0])
            case TileUpcast(result=result):
                self._upcast(step, result, made[0])
            case TileDot():
                dot_lines(self, step)
            case _:
                self._own(step, 0, results_of(step)[0].name, made[0])

    def _map(
        self, step: TileMap, result: Tile, value: Expression, layout: LinearLayout
    ) -> None:
        (text,) = self.scalars(step, layout, [value])
        file = self.file(layout.in_bits[0])
        shape = [self.threads, 1 << layout.in_bits[0]]
        kind = TYPES[result.dtype]
        if value.op in ("constant", "symbol"):
            self.add(f"{result.name} = gl.full({shape}, {text}, {kind}, {file})")
            return
        if not leaves("local", value) and not leaves("digit", value):
            zero = f"gl.zeros({shape}, {kind}, {file})"
            self.add(f"{result.name} = ({text} + {zero}).to({kind})")
            return
        self.add(f"{result.name} = {text}")

    def _own(
        self,
        step: Step,
        number: int,
        name: str,
        result: LinearLayout,
        which: int = 0,
    ) -> None:
        """Append lines that take a result's registers from those of an operand."""
        operand = self.given.wanted[step, number]
        found = sources(step, operand, result, which)
        assert found is not None, "the assignment is proved"
        self.add(f"{name} = {self.read(step, number)}")
        self.rename(name, found)

    def _odd(self, layout: LinearLayout, bit: int) -> str:
        """Append lines that say where a bit of the element is set."""
        columns = [column >> bit & 1 for column in layout.columns]
        count = layout.in_bits[0]
        here = LinearLayout.from_columns(
            dict(zip(layout.in_names, layout.in_bits, strict=True)),
            {dim_name(0): 1},
            columns,
        )
        name = self.fresh("odd")
        self.coordinates(here, [name])
        shape = [self.threads, 1 << count]
        self.add(f"{name} = gl.zeros({shape}, gl.int32, {self.file(count)}) + {name}")
        return name

    def _join(self, step: TileJoin, result: Tile, layout: LinearLayout) -> None:
        halves = []
        for number in range(2):
            half = self.fresh(f"{result.name}_h")
            self._own(step, number, half, layout)
            halves.append(half)
        odd = self._odd(layout, sum(bits_of(result.shape)) - 1)
        self.add(f"{result.name} = gl.where({odd} == 0, {halves[0]}, {halves[1]})")

    def _upcast(self, step: TileUpcast, result: Tile, layout: LinearLayout) -> None:
        name = result.name
        pairs = self.fresh(f"{name}_p")
        self._own(step, 0, pairs, layout)
        odd = self._odd(layout, sum(bits_of(result.shape)[: step.axis]))
        shift = {"bfloat16": 6, "float16": 9, "float32": 22}[result.dtype]
        width, scale = bits(result.dtype), 14 if result.dtype == "float16" else 126
        self.add(
            f"{name} = {pairs}.to(gl.int32) >> ({odd} * 4)",
            f"{name} = ({name} & 7) << {shift} | ({name} & 8) << {width - 4}",
            f"{name} = {name}.to(gl.int{width}).to({TYPES[result.dtype]}, bitcast=True)"
            f" * {float(2**scale)}",
            f"{name} = {name}.to({TYPES[result.dtype]})",
        )

    def _reduce(self, step: TileReduce) -> None:
        layout, result = self.given.wanted[step, 0], step.result
        name = result.name
        found = plan_reduction(layout, [dim_name(step.axis)])
        kind = (REDUCERS[step.reducer], result.dtype)
        key = (found.src, found.dims, kind)
        if key not in self.functions:
            function = reduction_function(
                found, *kind, name=f"reduce{len(self.functions)}", tile=SHARED
            )
            self.functions[key] = function
            self.shared_bytes = max(self.shared_bytes, found.shared_bytes)
        call = self.functions[key].name
        size = 1 << sum(layout.in_bits)
        count = found.dst.linear.in_bits[0]
        self.add(
            f"{name} = {call}(gl.reshape({self.read(step, 0)}, [{size}]))",
            f"{name} = gl.reshape({name}, [{self.threads}, {1 << count}])",
        )
        self.settled(name, count)

    def _scan(self, step: TileScan) -> None:
        layout, result = self.given.wanted[step, 0], step.result
        name = result.name
        self.add(f"{name} = {self.read(step, 0)}")
        low = sum(bits_of(result.shape)[: step.axis])
        for bit in range(bits_of(result.shape)[step.axis]):
            other = self.fresh(f"{name}_s")
            self.add(f"{other} = {name}")
            there = fetched(layout, result.shape, step.axis, bit)
            self._convert(other, result.dtype, layout, there)
            odd = self._odd(layout, low + bit)
            text = _combined(step.reducer, result.dtype).format(other, name)
            self.add(f"{name} = gl.where({odd} != 0, {text}, {name})")

    def _gather(self, step: TileGather) -> None:
        src, dst = self.given.wanted[step, 0], self.given.wanted[step, 1]
        result = step.result
        name, width = result.name, bits(result.dtype)
        source, index = self.read(step, 0), self.read(step, 1)
        try:
            found = plan_gather(src, dst, dim_name(step.axis))
        except LayoutError:
            gather_lines(self, step, source, index)
            return
        if width > 32:
            raise UnsupportedLayoutError(
                f"a gather by shuffles takes elements of a word, got {result.dtype}; "
                "gather its halves"
            )
        key = ("gather", found.src, found.dst, found.dim)
        if key not in self.functions:
            call = f"gather{len(self.functions)}"
            self.functions[key] = gather_function(found, name=call)
        call = self.functions[key].name
        word = self.fresh(f"{name}_w")
        narrow = f"gl.int{max(8, width)}"
        bitcast = "" if result.dtype == "bool" else ", bitcast=True"
        self.add(
            f"{word} = {source}.to({narrow}{bitcast}).to(gl.int32)",
            f"{name} = {call}(gl.reshape({word}, [{1 << sum(src.in_bits)}]), "
            f"gl.reshape({index}, [{1 << sum(dst.in_bits)}]))",
            f"{name} = gl.reshape({name}, [{self.threads}, {1 << dst.in_bits[0]}])",
        )
        back = f"{name}.to({narrow}).to({TYPES[result.dtype]}{bitcast})"
        self.add(f"{name} = {back if bitcast else f'{name} != 0'}")
        self.settled(name, dst.in_bits[0])


_TRITON: Mapping[str, str] = {
    "bool": "i1",
    "uint8": "u8",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "float8_e4m3fn": "fp8e4nv",
    "float8_e5m2": "fp8e5",
    "float16": "fp16",
    "bfloat16": "bf16",
    "float32": "fp32",
    "float64": "fp64",
}


def _combined(reducer: str, dtype: str) -> str:
    if reducer in ("sum", "xor"):
        return "{0} + {1}" if reducer == "sum" else "{0} ^ {1}"
    nan = ", propagate_nan=PROPAGATE_NAN" if "float" in dtype else ""
    return f"gl.{reducer}({{0}}, {{1}}{nan})"


def _body(function: FunctionText) -> str:
    """Return a function's text without the imports of its module."""
    return function.text.replace(HEADER, "").strip("\n") + "\n\n"
