"""A Gluon kernel that multiplies activations with packed narrow weights.

Each lane reads its weights in whole vectors, upcasts them in registers and feeds them
to the matrix instruction: no shuffle, no shared memory. Activations are read from
global memory straight into their fragments too. Blocks of scales never divide an
instruction, so scales multiply accumulators in float32, once a block. Only the sums of
the warps that share output features go through shared memory, once at the end.

The text is specialised for a problem and a tiling and unrolled, so that all loads of
``stages`` steps are in flight before the first is used; activations are loaded some
slabs ahead.
"""

from dataclasses import dataclass

from algebra.bits import log2
from compiler.mixed.fragments import ROWS
from compiler.mixed.tiling import Problem, Tiling
from compiler.mixed.upcast import upcast

from .quantised_layouts import UNIT_WORDS, Cut
from .tensor_text import index_of, join_tree, split_last

KERNEL = "quantised_matmul"
BARRIERS = 15
"""Named barriers of a program besides the one that ``barrier()`` uses."""

ROWS_OF_ONE = 8
"""Rows of activations of one instruction."""

TYPES = {"bf16": "gl.bfloat16", "fp16": "gl.float16"}
_HEADER = '''"""Generated: see compiler/codegen/gluon/quantised_matmul.py."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy, mma_v2
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    warpgroup_mma,
    warpgroup_mma_wait,
)

start_copy = getattr(async_copy, "async_load", None)
start_copy = start_copy or async_copy.async_copy_global_to_shared

SYNCHRONISE = gl.barrier if hasattr(gl, "barrier") else gl.thread_barrier
'''


def _statement(text: str) -> tuple[str, ...]:
    """Return a line that puts an instruction without operands into the kernel."""
    return (
        f'gl.inline_asm_elementwise("{text} // $0", "=r", [], dtype=gl.int32, '
        "is_pure=False, pack=1)",
    )


def _gate(warps: int) -> str:
    """Return instructions whose result is 0, after all loads before them.

    The assembler moves loads to where their results are used, to save registers, and
    uses of early loads up between later ones. It does not move loads across a barrier,
    so what depends on a barrier's result comes after them. Each warp has a barrier of
    its own where there are enough; number 0 is Triton's.
    """
    together = 1
    while warps // together > BARRIERS:
        together *= 2
    threads = 32 * together
    return (
        "{ .reg .pred p; .reg .b32 b, n; mov.u32 b, %tid.x; "
        f"shr.u32 b, b, {log2(threads)}; add.u32 b, b, 1; setp.eq.u32 p, b, b; "
        f"barrier.cta.red.popc.aligned.u32 n, b, {threads}, p; "
        f"sub.u32 $0, n, {threads}; }}"
    )


@dataclass(frozen=True, slots=True)
class KernelText:
    """A module with one kernel, and how to launch it.

    Attributes:
        text: The module; its kernel is :data:`KERNEL`.
        signature: Parameter -> type in Triton's spelling.
        num_warps: Warps of a program.
        programs: Programs along output features and splits.
    """

    text: str
    signature: dict[str, str]
    num_warps: int
    programs: tuple[int, int]


def kernel_text(problem: Problem, tiling: Tiling, *, ragged: bool = True) -> KernelText:
    """Return the kernel of a problem.

    Its parameters are the packed weights (int32 words), scales, zero points (int32
    words, as packed), activations [m, k], result [m, n], float32 partial sums, int32
    counters (zeros; they are zeros again afterwards), ``alpha`` and ``m``.

    Args:
        problem: What is computed.
        tiling: How it is cut.
        ragged: Whether m may be no multiple of ``tiling.rows``.

    Raises:
        DimMismatchError: The tiling does not fit the problem.
    """
    tiling.check(problem)
    if tiling.wgmma:
        from .quantised_wgmma import WgmmaWriter

        return WgmmaWriter(problem, tiling, ragged).write()
    if tiling.programs:
        from .quantised_rounds import RoundsWriter

        return RoundsWriter(problem, tiling, ragged).write()
    return Writer(problem, tiling, ragged).write()


class Writer(Cut):
    """Writes the lines of a kernel, of a program a tile."""

    def __init__(self, problem: Problem, tiling: Tiling, ragged: bool) -> None:
        super().__init__(problem, tiling)
        self.ragged = ragged
        self.casts = upcast(problem.format, problem.target, zeros=problem.zeros)
        self.lead = 1
        self.stages = 1
        self.lines: list[str] = []

    def write(self) -> KernelText:
        """Return the kernel."""
        problem, tiling = self.problem, self.tiling
        self.lines = []
        self._start()
        self.body()
        layouts = self.layouts()
        parameters = {
            "weight": "*i32",
            "scale": f"*{problem.target}" if problem.format.scale == "float" else "*u8",
            "zero": "*i32",
            "x": f"*{problem.target}",
            "out": f"*{problem.target}",
            "partial": "*fp32",
            "counter": "*i32",
            "alpha": "fp32",
            "m": "i32",
        }
        text = "\n".join(
            [
                _HEADER,
                f"UPCAST = gl.constexpr({self.casts.text!r})",
                f"GATE = gl.constexpr({_gate(tiling.warps)!r})",
                *(f"{name} = gl.constexpr({value})" for name, value in layouts.items()),
                "",
                "",
                "@gluon.jit",
                f"def {KERNEL}({', '.join(parameters)}):",
                *("    " + line for line in self.lines),
                "",
            ]
        )
        return KernelText(
            text,
            parameters,
            tiling.warps,
            (tiling.programs or tiling.tiles(problem), tiling.splits),
        )

    @property
    def sums_shape(self) -> list[int]:
        """Extents of the accumulators."""
        return [self.tiling.warps_k, self.tiling.columns, self.tiling.rows]

    def body(self) -> None:
        """Write what follows the pointers."""
        tiling = self.tiling
        stages = min(tiling.stages, self.steps)
        while self.steps % stages:
            stages -= 1
        self.stages = stages
        if tiling.copied:
            shape = [*self.tile, self.units, UNIT_WORDS]
            self.add(
                f"memory = gl.allocate_shared_memory(gl.int32, {[stages, *shape]}, "
                "gl.SwizzledSharedLayout(1, 1, 1, [4, 3, 2, 1, 0]))"
            )
        for stage in range(stages):
            self._load(stage, str(stage))
        self.wait_for_others()
        self._set_lead()
        for number in range(self.lead):
            self._activations(number, number % self.slabs, str(number // self.slabs))
        if self.steps > stages:
            self.add(f"for base in range(0, {self.steps - stages}, {stages}):")
            kept, self.lines = self.lines, []
            for stage in range(stages):
                self._multiply(stage, "base", 2 * stages, stages - 1)
                self._load(stage, f"(base + {stage + stages})")
            self.lines = kept + ["    " + line for line in self.lines]
        for stage in range(stages):
            self._multiply(stage, str(self.steps - stages), stages, stages - 1 - stage)
        self._finish()

    def wait_for_others(self) -> None:
        """Let the next kernel start, and wait for the one before, if launched so."""
        if self.tiling.dependent:
            self.add(
                *_statement("griddepcontrol.launch_dependents;"),
                *_statement("griddepcontrol.wait;"),
            )

    def add(self, *lines: str) -> None:
        """Add lines to the kernel."""
        self.lines += lines

    def _start(self) -> None:
        problem, tiling, tile = self.problem, self.tiling, self.tile
        shape = [*tile, self.units, UNIT_WORDS]
        per_tile = tiling.row_tiles * tiling.warps_n

        def rows_of(layout: str, shape: list[int]) -> str:
            return (
                f"tile * {per_tile} + {index_of(layout, shape, 1)} * {tiling.warps_n}"
                f" + {index_of(layout, shape, 2)}"
            )

        self.add(
            "tile = gl.program_id(0)",
            "part = gl.program_id(1)",
            "strip = gl.program_id(2)",
            f"row_tile = {rows_of('WEIGHTS', shape)}",
            f"chunk = part * {tiling.warps_k} + {index_of('WEIGHTS', shape, 0)}",
            f"unit = chunk * {self.units} + {index_of('WEIGHTS', shape, 3)}",
            f"weights = weight + (row_tile * {self.all_units} + unit) * {UNIT_WORDS}"
            f" + {index_of('WEIGHTS', shape, 4)}",
        )
        if not self.whole:
            self.add(f"weight_mask = row_tile < {problem.row_tiles}")
        groups = problem.padded_groups
        kinds = [("scale", "SCALES", 2)]
        if problem.zeros:
            kinds.append(("zero", "ZEROS", 1))
        for name, layout, width in kinds:
            shape = [*tile, self.vectors, 8, width * self.together]
            vector = self.vector * width
            self.add(
                f"{name}_tile = {rows_of(layout, shape)}",
                f"{name}_chunk = part * {tiling.warps_k} + "
                f"{index_of(layout, shape, 0)}",
                f"{name}s = {name} + {name}_tile * {groups * 8 * width} + "
                f"{name}_chunk * 0 + {index_of(layout, shape, 3)} * {8 * vector} + "
                f"{index_of(layout, shape, 4)} * {vector} + "
                f"{index_of(layout, shape, 5)}",
            )
            if not self.whole:
                self.add(f"{name}_mask = {name}_tile < {problem.row_tiles}")
        self.add(*self.activation_pointers())

    def activation_pointers(self) -> list[str]:
        """Return the lines that say where activations are and start the sums."""
        problem, tiling = self.problem, self.tiling
        shape = [tiling.warps_k, self.slab, tiling.rows]
        return [
            f"x_chunk = part * {tiling.warps_k} + {index_of('ACTIVATIONS', shape, 0)}",
            f"x_row = strip * {tiling.rows} + {index_of('ACTIVATIONS', shape, 2)}",
            f"xs = x + x_row * {problem.k} + x_chunk * {tiling.depth} + "
            f"{index_of('ACTIVATIONS', shape, 1)}",
            f"acc = gl.zeros({self.sums_shape}, gl.float32, MMA)",
        ]

    def _guard(self, rows: str, chunk: str, step: str) -> str:
        """Return the arguments of a load that leave out what is past the end."""
        parts = []
        if not self.whole:
            parts.append(rows)
        if not self.even:
            per_step = self.tiling.warps_k * self.tiling.splits
            parts.append(f"({chunk} + {step} * {per_step} < {self.chunks})")
        return f", mask={' & '.join(parts)}, other=0" if parts else ""

    def _load(self, stage: int, step: str) -> None:
        """Load the weights, scales and zero points of a step of each warp."""
        per_step = self.tiling.warps_k * self.tiling.splits
        words = per_step * self.units * UNIT_WORDS
        guard = self._guard("weight_mask", "chunk", step)
        if self.tiling.copied:
            guard = guard.removesuffix(", other=0")  # copies leave zeros there
            self.add(
                f"start_copy(memory.index({stage}), weights + {step} * {words}{guard})",
                "async_copy.commit_group()",
            )
        else:
            self.add(
                f"w{stage} = gl.load(weights + {step} * {words}{guard}, "
                'eviction_policy="evict_first")'
            )
        guard = self._guard("scale_mask", "scale_chunk", step)
        place = self._group_place("scale_chunk", step, 2)
        self.add(f"s{stage} = gl.load(scales + {place}{guard})")
        if self.problem.zeros:
            guard = self._guard("zero_mask", "zero_chunk", step)
            place = self._group_place("zero_chunk", step, 1)
            self.add(f"z{stage} = gl.load(zeros + {place}{guard})")

    def _group_place(self, chunk: str, step: str, width: int) -> str:
        """Return where in a row tile the scales of a step begin [elements]."""
        if self.problem.groups == 1:
            return "0"
        per_step = self.tiling.warps_k * self.tiling.splits
        here = f"({chunk} + {step} * {per_step})"
        if self.problem.group > self.tiling.depth:
            here = f"({here} // {self.problem.group // self.tiling.depth})"
        whole = 8 * self.vector * width
        if self.vectors > 1 or self.together == self.vector:
            return f"{here} * {self.vectors * whole}"
        steps = self.vector // self.together
        return (
            f"({here} // {steps} * {whole} + "
            f"{here} % {steps} * {self.together * width})"
        )

    def _set_lead(self) -> None:
        """Choose how many slabs of activations are loaded, and used, together.

        They take two places in turn. A loop's rounds must all begin with the same one,
        so an even number of turns is made in each.
        """
        slabs = self.stages * self.slabs
        turns = 2 if self.steps > self.stages else 1
        lead = min(slabs, self.tiling.ahead // self.tiling.rows)
        while lead and slabs % (turns * lead):
            lead -= 1
        self.lead = lead

    def _multiply(self, stage: int, start: str, stages: int, pending: int) -> None:
        """Multiply what a step loaded and add it to the accumulators.

        Args:
            stage: Which step from ``start`` on.
            start: Number of a step, as an expression.
            stages: Steps from ``start`` on whose activations may be loaded ahead.
            pending: Steps whose copies may still be on their way.
        """
        tiling = self.tiling
        if tiling.copied:
            self.add(
                f"async_copy.wait_group({pending})",
                f"w{stage} = memory.index({stage}).load(WEIGHTS)",
            )
        self.words_and_scales(stage)
        for number in range(self.slabs):
            here = stage * self.slabs + number
            if here % (self.lead or self.slabs) == 0:
                self._advance(here, start, stages)
            if not self.lead:
                self._activations(0, number, f"({start} + {stage})")
            self._take_fragments(here % (2 * self.lead) if self.lead else 0)
            self.multiply_slab(number)

    def words_and_scales(self, stage: int) -> None:
        """Take the words and scales of a step apart."""
        tile = self.tile
        count = self.units * 4
        self.add(
            f"w = gl.reshape(w{stage}, {[*tile, self.units, 8, 4, 4]})",
            "w = gl.permute(w, [0, 1, 2, 4, 5, 3, 6])",
            f"w = gl.reshape(w, {[*tile, 8, 4, count]})",
            *split_last("w", [*tile, 8, 4], count),
        )
        self._scales(stage)

    def multiply_slab(self, number: int, prefix: str = "") -> None:
        """Multiply a slab with its fragments ``x_{prefix}0``, ..."""
        tiling = self.tiling
        per_group = self.slabs // self.groups
        # a single tile's products would wait for each other: two sums take turns, if
        # there are enough of them to be worth an addition
        products = per_group * (self.slab // 16)
        alone = tiling.row_tiles * tiling.rows == ROWS_OF_ONE
        chains = 2 if alone and products > 2 else 1
        group, place = divmod(number, per_group)
        if place == 0:
            self.add(
                *(
                    f"part_{chain} = gl.zeros({self.sums_shape}, gl.float32, MMA)"
                    for chain in range(chains)
                )
            )
        for i in range(self.slab // 16):
            product = number * (self.slab // 16) + i
            self._fragment(product, group)
            part = f"part_{product % chains}"
            self.add(f"{part} = mma_v2(a, x_{prefix}{i}, {part})")
        if place == per_group - 1:
            parts = " + ".join(f"part_{chain}" for chain in range(chains))
            self.add(f"acc += ({parts}) * g_{group}")

    def _scales(self, stage: int) -> None:
        """Bring the scales of a step to the accumulators' rows, as float32."""
        tile = self.tile
        self.add(
            f"g = gl.reshape(s{stage}, {[*tile, self.vectors, 8, self.together, 2]})",
            "g = gl.permute(g, [0, 1, 2, 6, 4, 3, 5])",
            f"g = gl.reshape(g, {[*tile, 2, 8, self.groups]})",
            *split_last("g", [*tile, 2, 8], self.groups),
        )
        shape = self.sums_shape
        last = len(shape) - 1
        for group in range(self.groups):
            name = f"g_{group}"
            self.add(
                f"{name} = gl.reshape({name}, {shape[:last]})",
                f"{name} = gl.convert_layout({name}, gl.SliceLayout({last}, MMA), "
                "assert_trivial=True)",
                f"{name} = gl.expand_dims({self._scale_value(name)}, {last})",
            )
        if self.problem.zeros:
            self.add(
                f"z = gl.permute(z{stage}, [0, 1, 2, 4, 3, 5])",
                f"z = gl.reshape(z, {[*tile, 8, self.groups]})",
                *split_last("z", [*tile, 8], self.groups),
            )
            for group in range(self.groups):
                self.add(
                    f"zero_{group} = gl.expand_dims(gl.convert_layout(z_{group}, "
                    "gl.SliceLayout(4, WORDS), assert_trivial=True), 4)"
                )

    def _scale_value(self, name: str) -> str:
        if self.problem.format.scale == "float":
            return f"{name}.to(gl.float32)"
        if self.problem.format.scale == "e8m0":
            # code 0 is 2 ** -127, a subnormal
            bits = f"gl.maximum({name}.to(gl.int32) << 23, 0x400000)"
            return f"{bits}.to(gl.float32, bitcast=True)"
        # the bits of e4m3, without its sign, as float32 are too small by 2 ** 120
        bits = f"(({name}.to(gl.int32) & 0x7f) << 20)"
        return f"({bits}.to(gl.float32, bitcast=True) * {2.0**120!r})"

    def _advance(self, here: int, start: str, stages: int) -> None:
        """Load the slabs after the next ones; only then let the next ones be used."""
        for ahead in range(here + self.lead, here + 2 * self.lead):
            if ahead < stages * self.slabs:
                step = f"({start} + {ahead // self.slabs})"
                slot = ahead // self.lead % 2
                self._activations(
                    slot * self.lead + ahead % self.lead, ahead % self.slabs, step
                )
        self.add_gate()

    def add_gate(self) -> None:
        """Keep what follows after the loads so far."""
        self.add(
            'gate = gl.inline_asm_elementwise(GATE, "=r", [], dtype=gl.int32, '
            "is_pure=False, pack=1)"
        )

    def _activations(self, slot: int, number: int, step: str) -> None:
        """Load a slab of activations of a step."""
        tiling = self.tiling
        per_step = tiling.warps_k * tiling.splits
        guards = []
        if self.ragged:
            guards.append("(x_row < m)")
        if not self.even:
            guards.append(f"(x_chunk + {step} * {per_step} < {self.chunks})")
        guard = f", mask={' & '.join(guards)}, other=0.0" if guards else ""
        start = f"{step} * {per_step * tiling.depth} + {number * self.slab}"
        self.add(f"f{slot} = gl.load(xs + {start}{guard})")

    def _take_fragments(self, slot: int, prefix: str = "") -> None:
        """Take the fragments of a slab of activations apart."""
        warps, rows = self.tiling.warps_k, self.tiling.rows
        if self.slab == 32:
            self.add(
                f"f = gl.reshape(f{slot}, {[warps, 4, 2, 2, 2, rows]})",
                "f = gl.permute(f, [0, 3, 1, 4, 5, 2])",
                f"x_{prefix}0, x_{prefix}1 = gl.split(f)",
            )
        else:
            self.add(
                f"f = gl.reshape(f{slot}, {[warps, 4, 2, 2, rows]})",
                f"x_{prefix}0 = gl.permute(f, [0, 2, 1, 3, 4])",
            )
        for i in range(self.slab // 16):
            self.add(
                f"x_{prefix}{i} = gl.reshape(x_{prefix}{i}, {[warps, 16, rows]})",
                f"x_{prefix}{i} = gl.convert_layout(x_{prefix}{i}, B, "
                "assert_trivial=True)",
            )

    def _fragment(self, number: int, group: int) -> None:
        """Upcast the words of one instruction and join them to its operand."""
        names = self.upcast_words(number, group)
        self.add(
            f"a = {join_tree(names)}",
            # [..., row, k lane, pair?, ...]: see join_tree
            "a = gl.permute(a, [0, 1, 2, 7, 3, 6, 4, 5])",
            f"a = gl.reshape(a, {[self.tile[0], self.tiling.columns, ROWS]})",
            "a = gl.convert_layout(a, A, assert_trivial=True)",
        )

    def upcast_words(self, number: int, group: int) -> list[str]:
        """Upcast the words of one instruction.

        Returns:
            The names of the results: bits of a name's number are the pair, the half and
            the row + 8.
        """
        outputs = self.casts.outputs
        kind = TYPES[self.problem.target]
        names: list[str] = []
        for half in range(self.words):
            word = f"w_{number * self.words + half}"
            made = [f"e{number}_{half}_{i}" for i in range(outputs)]
            extra = f", zero_{group}, gate" if self.problem.zeros else ", gate"
            self.add(
                f"{word} = gl.convert_layout({word}, WORDS, assert_trivial=True)",
                f"{', '.join(made)} = gl.inline_asm_elementwise(UPCAST, "
                f'"{self.casts.constraints}", [{word}{extra}], dtype=({kind},) * '
                f"{outputs}, is_pure=True, pack=1)",
            )
            names += made
        order = [
            pair + 2 * row + 4 * half
            for row in (0, 1)
            for half in (0, 1)
            for pair in (0, 1)
        ]
        return [names[i] for i in order]

    def column(self) -> str:
        """Return the output feature of sum ``n``."""
        return f"tile * {self.tiling.columns} + n"

    def guards(self) -> list[str]:
        """Return what holds for results that there are."""
        found = []
        if self.problem.n % self.tiling.columns:
            found.append(f"(column < {self.problem.n})")
        if self.ragged:
            found.append("(row < m)")
        return found

    def _finish(self) -> None:
        """Add the sums of the warps, and of the splits, and store."""
        problem, tiling = self.problem, self.tiling
        kind = TYPES[problem.target]
        shape = [self.sum_columns, tiling.rows]
        layout = "gl.SliceLayout(0, SUMS)"
        self.add(
            "total = gl.sum(gl.convert_layout(acc, SUMS), axis=0)",
            f"n = {index_of(layout, shape, 0)}",
            f"r = {index_of(layout, shape, 1)}",
            f"column = {self.column()}",
            f"row = strip * {tiling.rows} + r",
        )
        guards = self.guards()
        guard = f", mask={' & '.join(guards)}" if guards else ""
        store = [
            f"gl.store(out + row * {problem.n} + column, "
            f"(total * (alpha * {self.casts.factor!r})).to({kind})"
            f"{guard})"
        ]
        if tiling.splits > 1:
            each = tiling.columns * tiling.rows
            self.add(
                f"here = strip * {tiling.tiles(problem)} + tile",
                f"places = partial + here * {tiling.splits * each} + n * {tiling.rows}"
                " + r"
                if tiling.rows > tiling.columns
                else f"places = partial + here * {tiling.splits * each} + "
                f"r * {tiling.columns} + n",
                f"gl.store(places + part * {each}, total)",
                "SYNCHRONISE()",
                "arrived = gl.atomic_add(counter + here, 1, sem='acq_rel')",
                f"if arrived == {tiling.splits - 1}:",
                "    total = gl.load(places, cache_modifier='.cg')",
                *(
                    f"    total += gl.load(places + {number * each}, "
                    "cache_modifier='.cg')"
                    for number in range(1, tiling.splits)
                ),
                "    gl.store(counter + here, 0)",
            )
            store = ["    " + line for line in store]
        self.add(*store)
