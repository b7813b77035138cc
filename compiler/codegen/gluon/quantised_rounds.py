"""A quantised matmul whose programs keep their activations and take tiles in turn.

Few rows of activations fit into the registers of a program's warps, each of which has
its share of the input features. So a program as large as a multiprocessor loads them
once and multiplies tile after tile of output features with them, and the weights of the
next tiles are on their way while it does.

The sums of the warps meet in shared memory, between two barriers. If a program's tiles
are few and of few rows, their sums stay in registers and meet there all at once.
"""

from .quantised_layouts import UNIT_WORDS
from .quantised_matmul import ROWS_OF_ONE, Writer
from .tensor_text import join_tree

MOST_TOGETHER = 8
"""Tiles of a program whose sums stay in registers."""


class RoundsWriter(Writer):
    """Writes the lines of a kernel of ``tiling.programs`` programs."""

    @property
    def turns(self) -> int:
        """Tiles of a program, those past the end too."""
        return -(-self.tiling.tiles(self.problem) // self.tiling.programs)

    @property
    def at_once(self) -> int:
        """Tiles, a power of two, whose sums meet at once; 1: each tile's alone."""
        tiling = self.tiling
        alone = tiling.rows != ROWS_OF_ONE or tiling.row_tiles > 1
        if alone or self.turns > MOST_TOGETHER:
            return 1
        return 1 << (self.turns - 1).bit_length()

    @property
    def sum_columns(self) -> int:
        """Output features whose sums meet at once."""
        return self.tiling.columns * self.at_once

    def body(self) -> None:
        """Write what follows the pointers."""
        self.stages = min(self.tiling.stages, self.turns)
        for stage in range(self.stages):
            self._load(stage, str(stage))
        self.wait_for_others()
        for number in range(self.slabs):
            self._activations(number, number, "0")
        self.add_gate()
        for number in range(self.slabs):
            self._take_fragments(number, f"{number}_")
        self.add("first = tile")
        if self.at_once > 1:
            self._turns_at_once()
        else:
            self._turns_apart()

    def _turns_at_once(self) -> None:
        for turn in range(self.turns):
            ahead = turn + self.stages
            if ahead < self.turns:
                self._load(ahead % (self.stages + 1), str(ahead))
            self._multiply_tile(turn % (self.stages + 1))
            self.add(f"sum_{turn} = acc")
        last = self.turns - 1
        names = [f"sum_{min(turn, last)}" for turn in range(self.at_once)]
        bits = self.at_once.bit_length() - 1
        order = [0, *(3 + bit for bit in reversed(range(bits))), 1, 2]
        shape = [self.tiling.warps_k, self.sum_columns, self.tiling.rows]
        self.add(
            f"acc = gl.permute({join_tree(names)}, {order})",
            f"acc = gl.reshape(acc, {shape})",
        )
        self._finish()

    def _turns_apart(self) -> None:
        """Multiply as many tiles a round as are loaded ahead."""
        kinds = "wsz" if self.problem.zeros else "ws"
        self.add(f"for base in range(0, {self.turns}, {self.stages}):")
        kept, self.lines = self.lines, []
        for stage in range(self.stages):
            self._load(self.stages, f"(base + {stage + self.stages})")
            self._multiply_tile(stage)
            self.add(f"tile = first + (base + {stage}) * {self.tiling.programs}")
            self._finish()
            self.add(*(f"{kind}{stage} = {kind}{self.stages}" for kind in kinds))
        self.lines = kept + ["    " + line for line in self.lines]

    def _multiply_tile(self, stage: int) -> None:
        tiling = self.tiling
        shape = [tiling.warps_k, tiling.columns, tiling.rows]
        self.add_gate()
        self.add(f"acc = gl.zeros({shape}, gl.float32, MMA)")
        self.words_and_scales(stage)
        for number in range(self.slabs):
            self.multiply_slab(number, f"{number}_")

    def column(self) -> str:
        """Return the output feature of sum ``n``."""
        columns = self.tiling.columns
        if self.at_once == 1:
            return super().column()
        away = self.tiling.programs * columns
        return f"first * {columns} + n // {columns} * {away} + n % {columns}"

    def guards(self) -> list[str]:
        """Return what holds for results that there are: programs have as many turns."""
        found = [f"(column < {self.problem.n})", *super().guards()]
        if self.at_once > self.turns:
            found.append(f"(n < {self.turns * self.tiling.columns})")
        return list(dict.fromkeys(found))

    def _load(self, stage: int, step: str) -> None:
        """Load the weights, scales and zero points of a turn."""
        tiling, problem = self.tiling, self.problem
        tiles = tiling.row_tiles * tiling.warps_n * tiling.programs

        def guard(tile: str) -> str:
            return f", mask={tile} + {step} * {tiles} < {problem.row_tiles}, other=0"

        words = tiles * self.all_units * UNIT_WORDS
        self.add(
            f"w{stage} = gl.load(weights + {step} * {words}{guard('row_tile')}, "
            'eviction_policy="evict_first")'
        )
        kinds = [("scale", 2), *([("zero", 1)] if problem.zeros else [])]
        for name, width in kinds:
            place = self._group_place(f"{name}_chunk", "0", width)
            away = tiles * problem.padded_groups * 8 * width
            self.add(
                f"{name[0]}{stage} = gl.load({name}s + {place} + {step} * {away}"
                f"{guard(f'{name}_tile')})"
            )
