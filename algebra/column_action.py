"""Permutations and selections of one in-dim's bits, applied to layouts and values.

Reordering the bases of the register dim of a layout and reordering the values that a
thread holds are one action; keeping it as data lets both sides stay in step.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from .arguments import expect_integers, expect_layout, expect_names
from .dims import REGISTER
from .errors import DimMismatchError, NotInvertibleError
from .layout import LinearLayout

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ColumnAction:
    """New bit i of ``dim`` is old bit ``action[i]``; bits not named are dropped.

    Law: for ``new = a.apply(layout)`` and ``values[x]`` the value at index x,
    ``a.apply_values(values)[y]`` is the value at ``x = sum of bit_i(y) <<
    action[i]``, and ``new`` at y equals ``layout`` at x.

    Attributes:
        action: Old bit positions, distinct.
        dim: The in-dim.
        in_size_log2: Number of bits of ``dim`` before.

    Raises:
        DimMismatchError: ``action`` repeats a bit or names one that is not there.

    Example:
        >>> ColumnAction((1, 0), "register", 2).apply_values(["a", "b", "c", "d"])
        ['a', 'c', 'b', 'd']

    Source: Triton ``ColumnAction``.
    """

    action: tuple[int, ...]
    dim: str
    in_size_log2: int

    def __post_init__(self) -> None:
        """Check that the bits exist and differ."""
        object.__setattr__(self, "action", expect_integers("action", self.action))
        expect_names("dim", [self.dim])
        expect_integers("in_size_log2", [self.in_size_log2])
        distinct = len(set(self.action)) == len(self.action)
        if not distinct or not all(0 <= bit < self.in_size_log2 for bit in self.action):
            raise DimMismatchError(
                f"action must name distinct bits of 0..{self.in_size_log2 - 1}, got "
                f"action={list(self.action)}",
                needed=self.in_size_log2,
                got=self.action,
            )

    @classmethod
    def identity(cls, dim: str, in_size_log2: int) -> "ColumnAction":
        """Return the action that changes nothing."""
        return cls(tuple(range(in_size_log2)), dim, in_size_log2)

    @property
    def is_identity(self) -> bool:
        """Whether nothing moves and nothing is dropped."""
        return self.action == tuple(range(self.in_size_log2))

    def apply(self, layout: LinearLayout) -> LinearLayout:
        """Reorder the bases of ``dim``.

        Raises:
            DimMismatchError: ``dim`` is missing or has another size.
        """
        expect_layout("layout", layout)
        if layout.get_in_dim_size_log2(self.dim) != self.in_size_log2:
            raise DimMismatchError(
                f"{self.dim} must have {self.in_size_log2} bits, got "
                f"{layout.get_in_dim_size_log2(self.dim)}",
                dim=self.dim,
            )
        columns: list[int] = []
        in_dims = {}
        for name in layout.in_names:
            mine = layout.in_columns(name)
            if name == self.dim:
                mine = tuple(mine[bit] for bit in self.action)
            in_dims[name] = len(mine)
            columns += mine
        outs = dict(zip(layout.out_names, layout.out_bits, strict=True))
        return LinearLayout.from_columns(in_dims, outs, columns)

    def apply_values(self, values: Sequence[T]) -> list[T]:
        """Reorder one value for each index of ``dim``.

        Raises:
            DimMismatchError: not ``2**in_size_log2`` values.
        """
        if len(values) != 1 << self.in_size_log2:
            raise DimMismatchError(
                f"needed {1 << self.in_size_log2} values, got len(values)="
                f"{len(values)}",
                needed=1 << self.in_size_log2,
                got=len(values),
            )
        result = []
        for index in range(1 << len(self.action)):
            source = sum((index >> i & 1) << bit for i, bit in enumerate(self.action))
            result.append(values[source])
        return result

    def inverse(self) -> "ColumnAction":
        """Return the action that undoes this one.

        Raises:
            NotInvertibleError: bits were dropped.
        """
        if len(self.action) != self.in_size_log2:
            raise NotInvertibleError(
                f"only a permutation can be undone, got action={list(self.action)} on "
                f"{self.in_size_log2} bits",
                kernel=None,
            )
        inverse = tuple(self.action.index(bit) for bit in range(self.in_size_log2))
        return ColumnAction(inverse, self.dim, self.in_size_log2)

    def left_compose(self, first: "ColumnAction") -> "ColumnAction":
        """Return the action of ``first``, then this one.

        Law: ``self.left_compose(first).apply(L) == self.apply(first.apply(L))``.

        Raises:
            DimMismatchError: another dim, or ``first`` leaves another number of bits.
        """
        if first.dim != self.dim or len(first.action) != self.in_size_log2:
            raise DimMismatchError(
                f"first must leave {self.in_size_log2} bits of {self.dim}, got "
                f"{len(first.action)} bits of {first.dim}",
                needed=self.in_size_log2,
                got=len(first.action),
            )
        composed = tuple(first.action[bit] for bit in self.action)
        return ColumnAction(composed, self.dim, first.in_size_log2)


def action_remove_broadcasted_regs(layout: LinearLayout) -> ColumnAction:
    """Return the action that keeps the register bits with a nonzero basis.

    Source: Triton ``actionRemoveBroadcastedRegs``.
    """
    expect_layout("layout", layout)
    columns = layout.in_columns(REGISTER)
    kept = tuple(i for i, column in enumerate(columns) if column)
    return ColumnAction(kept, REGISTER, len(columns))


def broadcast_as(values: Sequence[T], layout: LinearLayout) -> list[T]:
    """Repeat one value for each distinct register over the broadcast registers.

    Law: inverse of ``action_remove_broadcasted_regs(layout).apply_values`` on values
    that agree wherever the layout broadcasts.

    Raises:
        DimMismatchError: another number of values than distinct registers.

    Source: Triton ``broadcastAs``.
    """
    expect_layout("layout", layout)
    action = action_remove_broadcasted_regs(layout)
    values = list(values)
    if len(values) != 1 << len(action.action):
        raise DimMismatchError(
            f"needed {1 << len(action.action)} values, got len(values)={len(values)}",
            needed=1 << len(action.action),
            got=len(values),
        )
    return [
        values[sum((index >> bit & 1) << i for i, bit in enumerate(action.action))]
        for index in range(1 << action.in_size_log2)
    ]


def reg_perm_for_divide(
    layout: LinearLayout, tile: LinearLayout, left: bool = True
) -> ColumnAction | None:
    """Return a register permutation after which ``layout`` has ``tile``'s registers.

    The tile's register bases are brought to the front (``left``) or, scaled by the
    size of the rest, to the back; the others keep their order. None if one of them
    is not a basis of ``layout``.

    Law: if ``layout`` permuted by any action is divisible by ``tile`` then it is so
    permuted by this one.

    Raises:
        DimMismatchError: ``layout`` has no in-dim ``register``.

    Source: Triton ``regPermForDivide``.
    """
    expect_layout("layout", layout)
    expect_layout("tile", tile)
    layout.in_columns(REGISTER)
    bases = list(layout.bases[REGISTER])
    wanted = []
    for vector in tile.bases.get(REGISTER, ()):
        place = dict(zip(tile.out_names, vector, strict=True))
        scale = {
            name: 1
            if left or name not in tile.out_dims
            else layout.out_dims[name] // tile.out_dims[name]
            for name in layout.out_names
        }
        wanted.append(tuple(place.get(n, 0) * scale[n] for n in layout.out_names))
    chosen: list[int] = []
    for vector in wanted:
        where = next(
            (i for i, b in enumerate(bases) if b == vector and i not in chosen), None
        )
        if where is None:
            return None
        chosen.append(where)
    rest = [i for i in range(len(bases)) if i not in chosen]
    action = chosen + rest if left else rest + chosen
    return ColumnAction(tuple(action), REGISTER, len(bases))


def action_additive_strides(layout: LinearLayout) -> tuple[int, ColumnAction]:
    """Bring to the front the register bits whose addresses can be added.

    A register's basis that shares no bit with any other basis moves the address by
    plain addition, an immediate of the instruction, where the others need an xor.

    Args:
        layout: (register, lane, warp, block) to memory offset.

    Returns:
        The number of registers reached by addition (a power of two), and the action
        that puts their bits first.

    Source: Triton ``actionAdditiveStrides``.
    """
    expect_layout("layout", layout)
    registers = layout.in_columns(REGISTER)
    start = sum(layout.in_bits[: layout.in_names.index(REGISTER)])
    others = layout.columns[:start] + layout.columns[start + len(registers) :]
    used = 0
    for column in others:
        used |= column
    additive = list(range(len(registers)))
    while True:
        xored = [i for i in range(len(registers)) if i not in additive]
        blocked = used
        for i in xored:
            blocked |= registers[i]
        kept = []
        taken = blocked
        for i in additive:
            if not registers[i] & taken:
                kept.append(i)
                taken |= registers[i]
        if kept == additive:
            break
        additive = kept
    rest = [i for i in range(len(registers)) if i not in additive]
    action = ColumnAction((*additive, *rest), REGISTER, len(registers))
    return 1 << len(additive), action
