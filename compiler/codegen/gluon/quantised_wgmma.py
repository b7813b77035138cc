"""A quantised matmul for many rows of activations: by wgmma, from shared memory.

Weights are upcast in registers and are the left operand of a warpgroup's instruction,
whose 64 rows are four warps' tiles of 16 output features: the words in memory are those
that ``mma`` takes. Activations are the right operand, which all warps of a program read
from shared memory. There, their input features are in the order of the fragments: the
memory's layout is the instruction's with that order of bits, and since a lane's vector
holds what four lanes' pairs become, ``stmatrix`` stores it.

Products run while the next words are upcast; only then are they waited for, and their
sums scaled. A step's activations are stored while products of the two steps before may
not be done in all warps, so they take buffers in turn.
"""

from algebra.bits import log2
from algebra.dims import OFFSET
from algebra.encodings.nvmma_shared import NvmmaShared
from compiler.mixed.fragments import ROWS, reorder_k
from compiler.mixed.tiling import BUFFERS, Problem, Tiling

from .quantised_matmul import ROWS_OF_ONE, TYPES, Writer
from .tensor_text import index_of, join_tree, linear_layout, unit_bases

ALIGNMENT = 1024
"""Of the instruction's blocks in shared memory [bytes]."""

SWIZZLED = 64
"""Input features of a row of the largest swizzled block."""


class WgmmaWriter(Writer):
    """Writes the lines of a kernel whose warps are warpgroups."""

    def __init__(self, problem: Problem, tiling: Tiling, ragged: bool) -> None:
        super().__init__(problem, tiling, ragged)
        self.chunk = min(SWIZZLED, problem.group, tiling.depth)
        self.products = tiling.depth // self.chunk
        self.pending = False

    @property
    def sums_shape(self) -> list[int]:
        """Extents of the accumulators."""
        return [self.tiling.columns, self.tiling.rows]

    def layouts(self) -> dict[str, str]:
        """Return the spelling of each layout, by its name in the kernel."""
        tiling = self.tiling
        warps, rows = tiling.warps_n, tiling.rows
        layouts = super().layouts()
        del layouts["B"]
        layouts["MMA"] = (
            f"gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=[{warps}, 1], "
            f"instr_shape=[16, {rows}, 16])"
        )
        # [m, k]: a lane's vector, and the lanes that have a slab
        vector = self.slab // 4
        held = min(rows, ROWS_OF_ONE * warps)
        spread = unit_bases(2, 0, held // ROWS_OF_ONE, ROWS_OF_ONE)
        spread += [[0, 0]] * (log2(warps) - len(spread))
        layouts["ACTIVATIONS"] = linear_layout(
            [rows, self.chunk],
            [
                *unit_bases(2, 1, vector),
                *unit_bases(2, 1, self.chunk // self.slab, self.slab),
                *unit_bases(2, 0, rows // held, held),
            ],
            [*unit_bases(2, 1, 4, vector), *unit_bases(2, 0, ROWS_OF_ONE)],
            spread,
        )
        block = NvmmaShared(swizzle_byte_width=2 * self.chunk, element_bit_width=16)
        layouts["SHARED"] = (
            f"gl.NVMMASharedLayout(swizzle_byte_width={2 * self.chunk}, "
            "element_bitwidth=16, rank=2)"
        )
        order = reorder_k(
            block.to_linear_layout([rows, self.chunk]), self.problem.group
        )
        bases = [list(basis) for basis in order.bases[OFFSET]]
        layouts["REORDERED"] = f"gl.SharedLinearLayout({bases}, alignment={ALIGNMENT})"
        return layouts

    def activation_pointers(self) -> list[str]:
        """Return the lines that say where activations are and start the sums."""
        problem, tiling = self.problem, self.tiling
        shape = [tiling.rows, self.chunk]
        row = f"strip * {tiling.rows} + {index_of('ACTIVATIONS', shape, 0)}"
        if self.ragged:  # the last row again, instead of masks: they cost registers
            row = f"gl.minimum({row}, m - 1)"
        return [
            f"x_row = {row}",
            f"xs = x + x_row * {problem.k} + part * {tiling.depth} + "
            f"{index_of('ACTIVATIONS', shape, 1)}",
            f"acc = gl.zeros({self.sums_shape}, gl.float32, MMA)",
            f"product = gl.zeros({self.sums_shape}, gl.float32, MMA)",
        ]

    def body(self) -> None:
        """Write what follows the pointers."""
        self.stages = min(self.tiling.stages, self.steps)
        turns = min(BUFFERS, self.steps)
        kind = TYPES[self.problem.target]
        shape = [self.tiling.rows, self.chunk]
        self.add(
            *(
                f"{name} = gl.allocate_shared_memory({kind}, {shape}, REORDERED)"
                for turn in range(turns)
                for name in self._memory(turn)
            )
        )
        for stage in range(self.stages):
            self._load(stage, str(stage))
        self.wait_for_others()
        self._load_activations("0")
        last = turns + self.steps % turns
        looped = self.steps - last
        if looped:
            self.add(f"for base in range(0, {looped}, {turns}):")
            kept, self.lines = self.lines, []
            for number in range(turns):
                self._step(number, "base", 2 * turns)
            self._scale_pending()
            self.lines = kept + ["    " + line for line in self.lines]
        for number in range(last):
            self._step(number, str(looped), last)
        self._scale_pending()
        self.add(f"acc = gl.reshape(acc, {[1, *self.sums_shape]})")
        self._finish()

    def _memory(self, number: int) -> list[str]:
        """Return the names of a step's buffers: one for each product."""
        turn = number % BUFFERS
        return [f"memory_{turn}_{product}" for product in range(self.products)]

    def _step(self, number: int, start: str, there: int) -> None:
        """Multiply what a step loaded.

        Args:
            number: Which step from ``start`` on.
            start: Number of a step, as an expression.
            there: Steps from ``start`` on that may be loaded ahead.
        """
        stage, memory = number % self.stages, self._memory(number)
        for product, name in enumerate(memory):
            self.add(f"{name}.store(f_{product})")
        # the fence waits for loads too, so what comes next is loaded after it
        self.add("fence_async_shared()")
        if number + 1 < there:
            self._load_activations(f"({start} + {number + 1})")
        self.add_gate()
        self.words_and_scales(stage)
        per_group = max(1, self.products // self.groups)
        for product, name in enumerate(memory):
            group, place = divmod(product, per_group)
            self._left_operand(product, group)
            if product == 0:
                self.add("SYNCHRONISE()")
            self._multiply_chunk(name, first=place == 0)
            if place == per_group - 1:
                self.add(f"held = g_{group}")
                self.pending = True
        if number + self.stages < there:
            self._load(stage, f"({start} + {number + self.stages})")

    def _multiply_chunk(self, memory: str, first: bool) -> None:
        """Issue a product, after those of the block before are done and scaled."""
        if first:
            self._scale_pending()
        kind, shape = TYPES[self.problem.target], [self.tiling.rows, self.chunk]
        self.add(
            f"b = {memory}._reinterpret({kind}, {shape}, SHARED)",
            "product = warpgroup_mma(a, b.permute([1, 0]), product, "
            f"use_acc={not first}, is_async=True)",
        )

    def _scale_pending(self) -> None:
        if self.pending:
            self.add(
                "product = warpgroup_mma_wait(0, deps=[product])",
                "acc += product * held",
            )
        self.pending = False

    def _left_operand(self, product: int, group: int) -> None:
        """Upcast the words of a product and join them."""
        instructions = self.chunk // ROWS
        names: list[str] = []
        for instruction in range(instructions):
            names += self.upcast_words(product * instructions + instruction, group)
        bits = [8 + bit for bit in reversed(range(log2(instructions)))]
        self.add(
            f"a = {join_tree(names)}",
            f"a = gl.permute(a, {[0, 1, 2, 7, 3, *bits, 6, 4, 5]})",
            f"a = gl.reshape(a, {[self.tiling.columns, self.chunk]})",
            "a = gl.convert_layout(a, A, assert_trivial=True)",
        )

    def _load_activations(self, step: str) -> None:
        """Load a step's activations."""
        tiling = self.tiling
        guard = ""
        if not self.even:
            guard = f"part + {step} * {tiling.splits} < {self.chunks}"
            guard = f", mask={guard}, other=0.0"
        away = f"{step} * {tiling.splits * tiling.depth}"
        for product in range(self.products):
            self.add(
                f"f_{product} = gl.load(xs + ({away} + {product * self.chunk}){guard})"
            )
