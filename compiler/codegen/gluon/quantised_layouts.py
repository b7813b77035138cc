"""The numbers and layouts of a quantised matmul's kernel.

Tensors of weights and scales start with the same dims: warps along k, tiles of 16 rows
of a warp, warps along n. What follows are bits that the derived orders of
``compiler.mixed.fragments`` put next to each other in memory, so loads are vectors.
"""

from algebra.bits import log2
from compiler.mixed.fragments import slab, unit_depth
from compiler.mixed.tiling import Problem, Tiling

from .tensor_text import linear_layout, unit_bases

UNIT_WORDS = 128
"""32-bit words that a warp reads in one load."""


class Cut:
    """A problem and a tiling, and the numbers that follow.

    Attributes:
        units: Loads of a step and row tile.
        all_units: Loads of a whole row tile.
        slab: Input features of a load of activations.
        slabs: Loads of activations of a step.
        groups: Groups of scales of a step.
        vector: Groups whose scales lie together; ``together`` of them in a step.
        vectors: Vectors of scales of a step.
        chunks: Steps of all warps.
        steps: Steps of a warp.
        even: Whether all warps have as many steps.
        whole: Whether all programs have as many row tiles.
        words: Words of one instruction.
    """

    def __init__(self, problem: Problem, tiling: Tiling) -> None:
        """Compute them."""
        self.problem, self.tiling = problem, tiling
        self.bits = problem.format.bits
        self.units = tiling.depth // unit_depth(self.bits)
        self.all_units = problem.k // unit_depth(self.bits)
        self.slab = slab(problem.group)
        self.slabs = tiling.depth // self.slab
        self.groups = max(1, tiling.depth // problem.group)
        self.vector = problem.scale_vector
        # scales of a step: so many vectors, of so many groups each
        self.together = min(self.vector, self.groups)
        self.vectors = self.groups // self.together
        self.chunks = problem.k // tiling.depth
        self.steps = tiling.steps(problem)
        self.even = self.chunks == self.steps * tiling.warps_k * tiling.splits
        per_tile = tiling.row_tiles * tiling.warps_n
        self.whole = problem.row_tiles % per_tile == 0
        # words of one mma instruction
        self.words = 1 if self.bits == 4 else 2

    @property
    def tile(self) -> list[int]:
        """Extents along warps k, row tiles, warps n: what all tensors start with."""
        tiling = self.tiling
        return [tiling.warps_k, tiling.row_tiles, tiling.warps_n]

    def _warps(self, rank: int) -> list[list[int]]:
        tiling = self.tiling
        along_n = unit_bases(rank, 2, tiling.warps_n)
        return [*along_n, *unit_bases(rank, 0, tiling.warps_k)]

    def layouts(self) -> dict[str, str]:
        """Return the spelling of each layout, by its name in the kernel."""
        tile, tiling = self.tile, self.tiling
        slab_bits = log2(self.slab) - 2
        along_n = [[0, 0, 0]] * log2(tiling.warps_n)
        layouts = {
            "MMA": "gl.NVMMADistributedLayout(version=[2, 0], warps_per_cta="
            f"{[tiling.warps_k, tiling.warps_n, 1]}, instr_shape=[1, 16, 8])",
            "A": "gl.DotOperandLayout(0, MMA, 2)",
            "B": "gl.DotOperandLayout(1, MMA, 2)",
            # [warp, row tile, warp, unit, word]
            "WEIGHTS": linear_layout(
                [*tile, self.units, UNIT_WORDS],
                [
                    *unit_bases(5, 4, 4),
                    *unit_bases(5, 3, self.units),
                    *unit_bases(5, 1, tiling.row_tiles),
                ],
                unit_bases(5, 4, 32, 4),
                self._warps(5),
            ),
            # [warp, row tile, warp, row, lane along k]
            "WORDS": linear_layout(
                [*tile, 8, 4],
                unit_bases(5, 1, tiling.row_tiles),
                [*unit_bases(5, 4, 4), *unit_bases(5, 3, 8)],
                self._warps(5),
            ),
            # [warp, row tile, warp, vector, row, group and row + 8]
            "SCALES": self._scale_layout(2),
            # [warp, k, m]
            "ACTIVATIONS": linear_layout(
                [tiling.warps_k, self.slab, tiling.rows],
                [
                    *unit_bases(3, 1, 1 << slab_bits),
                    *unit_bases(3, 2, tiling.rows // 8, 8),
                ],
                [*unit_bases(3, 1, 4, 1 << slab_bits), *unit_bases(3, 2, 8)],
                [*along_n, *unit_bases(3, 0, tiling.warps_k)],
            ),
            "SUMS": self._sums(),
        }
        if self.problem.zeros:
            layouts["ZEROS"] = self._scale_layout(1)
        return layouts

    def _scale_layout(self, width: int) -> str:
        rank = 6
        return linear_layout(
            [*self.tile, self.vectors, 8, width * self.together],
            [
                *unit_bases(rank, 5, width * self.together),
                *unit_bases(rank, 3, self.vectors),
                *unit_bases(rank, 1, self.tiling.row_tiles),
            ],
            [[0] * rank, [0] * rank, *unit_bases(rank, 4, 8)],
            self._warps(rank),
        )

    @property
    def sum_columns(self) -> int:
        """Output features whose sums meet at once."""
        return self.tiling.columns

    def _sums(self) -> str:
        """Return the layout of the sums: a thread has those of all warps along k."""
        tiling = self.tiling
        columns, rows = self.sum_columns, tiling.rows
        share = columns * rows // (32 * tiling.warps)
        each = max(1, min(4, share, columns // 8))
        lanes_n = min(32, columns // each)
        warps_n = min(tiling.warps, columns // (each * lanes_n))
        return (
            f"gl.BlockedLayout([{tiling.warps_k}, {each}, 1], "
            f"[1, {lanes_n}, {32 // lanes_n}], "
            f"[1, {warps_n}, {tiling.warps // warps_n}], [1, 2, 0])"
        )
