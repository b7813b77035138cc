"""What one kernel of a quantised matmul computes, and how its work is cut."""

from dataclasses import dataclass
from typing import Final

from algebra.bits import is_power_of_two
from algebra.errors import DimMismatchError, OutOfRangeError
from compiler.mixed.formats import WeightFormat
from compiler.mixed.fragments import ROWS, scale_groups, slab, unit_depth

SHARED_BYTES: Final = 227 * 1024
"""Shared memory of a program on sm_90 [bytes]."""

MOST_WARPS: Final = 32

WARPGROUP: Final = 4
"""Warps that multiply together by wgmma."""

MOST_COLUMNS: Final = 256
"""Columns of a result of wgmma."""

BUFFERS: Final = 4
"""Steps whose activations have shared memory of their own, for wgmma."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """``out[m, n] = alpha * sum over k of x[m, k] * w[n, k]`` with packed weights.

    Attributes:
        format: Of the weights.
        target: Type of activations and result: ``"bf16"`` or ``"fp16"``.
        n: Output features.
        k: Input features.
        group: Input features that share a scale.
        zeros: Whether int4 weights have zero points.
    """

    format: WeightFormat
    target: str
    n: int
    k: int
    group: int
    zeros: bool = False

    def __post_init__(self) -> None:
        unit = unit_depth(self.format.bits)
        if self.n < 1 or self.k < 1 or self.k % unit:
            raise DimMismatchError(
                f"{self.format.name} weights come in units of {unit} input features, "
                f"got n={self.n}, k={self.k}; pad the input features with zeros",
                n=self.n,
                k=self.k,
            )
        short = self.format.block or 32
        if self.group != self.k and (
            not is_power_of_two(self.group) or self.group < short or self.k % self.group
        ):
            raise DimMismatchError(
                f"group must be a power of two from {short} up that divides k, or k "
                f"itself, got group={self.group}, k={self.k}; repeat the scales of "
                "other groups",
                group=self.group,
                k=self.k,
            )

    @property
    def row_tiles(self) -> int:
        """Number of tiles of 16 output features, the last one padded."""
        return -(-self.n // ROWS)

    @property
    def groups(self) -> int:
        """Number of scales of a row."""
        return self.k // self.group

    @property
    def padded_groups(self) -> int:
        """Number of scales of a row in memory."""
        vector = self.scale_vector
        return -(-self.groups // vector) * vector

    @property
    def scale_vector(self) -> int:
        """Number of scales of a row that lie together in memory."""
        return scale_groups(self.format.scale_bits, self.group)

    @property
    def weight_bytes(self) -> int:
        """Bytes of packed weights, scales and zero points, padding included."""
        rows = self.row_tiles * ROWS
        scales = rows * self.padded_groups * self.format.scale_bits // 8
        zeros = 2 * rows * self.padded_groups if self.zeros else 0
        return rows * self.k * self.format.bits // 8 + scales + zeros


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiling:
    """How a kernel cuts a problem.

    A program has ``warps_n`` x ``warps_k`` warps. Each warp multiplies ``row_tiles``
    tiles of 16 output features with ``rows`` rows of activations, ``depth`` input
    features at a time; the warps along k take turns and their sums meet in shared
    memory at the end. ``splits`` programs share the input features of one tile.

    Attributes:
        rows: Rows of activations, a multiple of 8.
        row_tiles: Tiles of 16 output features of a warp.
        warps_k: Warps along the input features.
        warps_n: Warps along the output features.
        depth: Input features of a step of a warp.
        stages: Steps that are loaded ahead.
        splits: Programs along the input features.
        dependent: Whether the kernel starts before the one before it has ended, and
            waits for it only before it reads activations (programmatic dependent
            launch).
        ahead: Rows of activations, of all slabs together, that are loaded ahead: what
            registers hold. Slabs of more rows are loaded where they are used.
        copied: Whether weights are copied into shared memory while nothing waits, and
            leave the registers to activations.
        programs: Programs along the output features that keep their activations in
            registers and take tile after tile; 0 for a program a tile. All warps along
            k together must take all input features in one step.
        wgmma: Whether activations go through shared memory, and four warps along the
            output features multiply together; for many rows, on sm_90 alone.
    """

    rows: int
    row_tiles: int = 1
    warps_k: int = 4
    warps_n: int = 1
    depth: int = 128
    stages: int = 4
    splits: int = 1
    dependent: bool = False
    ahead: int = 32
    copied: bool = False
    programs: int = 0
    wgmma: bool = False

    def __post_init__(self) -> None:
        for name in ("rows", "row_tiles", "warps_k", "warps_n", "depth", "stages"):
            value = getattr(self, name)
            low = {"rows": 8, "depth": 32}.get(name, 1)
            if (name != "stages" and not is_power_of_two(value)) or value < low:
                raise OutOfRangeError(
                    f"{name} must be a power of two from {low} up, got {name}={value}"
                )
        if self.ahead < 0:
            raise OutOfRangeError(f"ahead must not be negative, got {self.ahead}")
        if self.programs < 0 or (self.programs and (self.copied or self.splits > 1)):
            raise OutOfRangeError(
                "programs must not be negative, and 0 with splits or copied weights, "
                f"got programs={self.programs}, splits={self.splits}, "
                f"copied={self.copied}"
            )
        if self.wgmma and (
            self.warps_k > 1
            or self.warps_n % WARPGROUP
            or self.rows > MOST_COLUMNS
            or self.stages not in (1, 2, 4)
            or self.copied
            or self.programs
        ):
            raise OutOfRangeError(
                f"wgmma needs warps_k=1, warps_n a multiple of {WARPGROUP}, rows up to "
                f"{MOST_COLUMNS}, stages of 1, 2 or 4, nothing copied and no programs, "
                f"got warps_k={self.warps_k}, warps_n={self.warps_n}, rows={self.rows},"
                f" stages={self.stages}, copied={self.copied}, "
                f"programs={self.programs}"
            )
        if self.splits < 1 or self.warps > MOST_WARPS:
            raise OutOfRangeError(
                f"splits must be positive and warps at most {MOST_WARPS}, got "
                f"splits={self.splits}, warps_k * warps_n={self.warps}"
            )

    @property
    def warps(self) -> int:
        """Warps of a program."""
        return self.warps_k * self.warps_n

    @property
    def columns(self) -> int:
        """Output features of a program."""
        return ROWS * self.row_tiles * self.warps_n

    def check(self, problem: Problem) -> None:
        """Raise where a problem cannot be cut like this.

        Raises:
            DimMismatchError: ``depth`` does not fit; names what it must divide or hold.
        """
        unit = unit_depth(problem.format.bits)
        fits = (
            self.depth % unit == 0
            and problem.k % self.depth == 0
            and self.depth % slab(problem.group) == 0
            and (
                self.depth % problem.group == 0
                if self.depth > problem.group
                else problem.group % self.depth == 0
            )
        )
        if not fits:
            raise DimMismatchError(
                f"depth must be a multiple of {unit} that divides k={problem.k}, and "
                f"divides or is a multiple of group={problem.group}, got "
                f"depth={self.depth}",
                depth=self.depth,
            )
        if self.programs and self.warps_k * self.depth != problem.k:
            raise DimMismatchError(
                f"programs that keep their activations need warps_k * depth == k, got "
                f"warps_k={self.warps_k}, depth={self.depth}, k={problem.k}",
                depth=self.depth,
            )
        if self.warps_k * self.columns * self.rows * 4 > SHARED_BYTES:
            raise DimMismatchError(
                f"the warps' sums must fit into {SHARED_BYTES} bytes of shared memory, "
                f"got warps_k={self.warps_k}, {self.columns} x {self.rows} each; use "
                "fewer rows or warps along k",
            )
        if self.wgmma and BUFFERS * self.rows * self.depth * 2 > SHARED_BYTES:
            raise DimMismatchError(
                f"{BUFFERS} steps of activations must fit into {SHARED_BYTES} bytes of "
                f"shared memory for wgmma, got rows={self.rows}, depth={self.depth}; "
                "use fewer of either",
                rows=self.rows,
                depth=self.depth,
            )
        held = self.columns * self.warps_k * self.depth * problem.format.bits // 8
        held *= min(self.stages, self.steps(problem))
        if self.copied and held > SHARED_BYTES:
            raise DimMismatchError(
                f"copied weights must fit into {SHARED_BYTES} bytes of shared memory, "
                f"got {held} for stages={self.stages} of {self.columns} output and "
                f"{self.warps_k} x {self.depth} input features; use fewer stages",
                stages=self.stages,
            )

    def steps(self, problem: Problem) -> int:
        """Return the number of steps of a warp."""
        return -(-problem.k // (self.depth * self.warps_k * self.splits))

    def tiles(self, problem: Problem) -> int:
        """Return the number of programs along the output features."""
        return -(-problem.row_tiles // (self.row_tiles * self.warps_n))
