"""How many elements a thread can move at once, and which copies are superfluous.

Registers of one thread that hold consecutive, aligned elements travel in one
instruction. On bits this is a statement about columns: ``2**k`` consecutive elements
need k registers whose images are the k lowest memory bits, and no other hardware bit
may touch these low bits (else the group wouldn't be aligned for every thread).

The dual question is replication: hardware bits that do not change the element. A
thread whose index has one of those bits set holds a copy, so it need not store.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .arguments import expect_layout
from .bits import log2
from .dims import REGISTER
from .errors import DimMismatchError, OutOfRangeError
from .layout import LinearLayout

MAX_ACCESS_BITS = 128


@dataclass(frozen=True, slots=True)
class Vectorisation:
    """A group of registers that move together in one access.

    Attributes:
        registers: Register bits of the group, least significant element bit first.
    """

    registers: tuple[int, ...]

    @property
    def elements(self) -> int:
        """Elements of one access [elements]."""
        return 1 << len(self.registers)


def largest_vectorisation(
    access: LinearLayout, element_bits: int, *, max_bits: int = MAX_ACCESS_BITS
) -> Vectorisation:
    """Return the widest legal access of a map from hardware to memory offsets.

    Law: after moving ``registers`` to the front, ``access`` is left-divisible by the
    identity of ``elements`` from register to the first out-dim, and of no larger one
    within ``max_bits``.

    Args:
        access: Layout whose first in-dim may be anything, with an in-dim ``register``;
            its first out-dim is the memory offset [elements].
        element_bits: Size of an element [bits].
        max_bits: Widest instruction [bits].

    Returns:
        The registers of one access; none of them if only single elements are legal.

    Raises:
        NotPowerOfTwoError: ``element_bits`` or ``max_bits`` isn't a power of two.
        DimMismatchError: ``access`` has no in-dim ``register`` or no out-dim.

    Example:
        >>> access = LinearLayout.from_bases(
        ...     {"register": [[4], [1]], "lane": [[2], [8]]}, {"offset": 16}
        ... )
        >>> largest_vectorisation(access, 16)
        Vectorisation(registers=(1,))

    Source: Triton ``largestVectorisation``.
    """
    expect_layout("access", access)
    return Vectorisation(
        _aligned_registers(access, _access_bits(element_bits, max_bits))
    )


def vector_of(access: LinearLayout, elements: int) -> Vectorisation | None:
    """Return the registers that make an access of ``elements``, or None if illegal.

    Example:
        >>> access = LinearLayout.identity_1d(4, "register", "offset")
        >>> vector_of(access, 4)
        Vectorisation(registers=(0, 1))
        >>> vector_of(access, 8) is None
        True
    """
    expect_layout("access", access)
    wanted = log2(elements, what="vector")
    registers = _aligned_registers(access, wanted)
    return Vectorisation(registers) if len(registers) == wanted else None


def contiguity(layout: LinearLayout, order: Sequence[str]) -> int:
    """Return how many consecutive elements each thread holds, aligned.

    Law: ``contiguity(layout, order)`` divides the number of registers, and does not
    shrink when ``order`` gets longer.

    Args:
        layout: Distributed layout: an in-dim ``register``, and others.
        order: Out-dims that are dense in memory, the fastest first. Name only the
            fastest one if its lines are padded or strided.

    Returns:
        A power of two [elements].

    Raises:
        DimMismatchError: a name in ``order`` is repeated or isn't an out-dim, or the
            layout has no in-dim ``register``.

    Example:
        >>> layout = LinearLayout.from_bases(
        ...     {"register": [[0, 1], [0, 2]], "lane": [[1, 0]]}, ["dim0", "dim1"]
        ... )
        >>> contiguity(layout, ["dim1", "dim0"]), contiguity(layout, ["dim0"])
        (4, 1)
    """
    expect_layout("layout", layout)
    access = _in_memory_order(layout, order)
    dense_bits = sum(map(layout.get_out_dim_size_log2, order))
    return 1 << len(_aligned_registers(access, dense_bits))


def vector_width(
    layout: LinearLayout,
    order: Sequence[str],
    element_bits: int,
    *,
    alignment: int = 1 << 30,
    max_bits: int = MAX_ACCESS_BITS,
) -> int:
    """Return how many elements a thread moves in one global-memory instruction.

    Law: at most ``contiguity(layout, order)`` elements, ``max_bits`` bits, and the
    largest power of two that divides ``alignment``.

    Args:
        layout: Distributed layout.
        order: Out-dims that are dense in memory, the fastest first.
        element_bits: Size of an element [bits].
        alignment: Known divisor of the base address and of all strides [elements].
        max_bits: Widest instruction [bits].

    Raises:
        OutOfRangeError: ``alignment`` isn't positive.
        NotPowerOfTwoError: as ``largest_vectorisation``.
        DimMismatchError: as ``contiguity``.

    Example:
        >>> layout = LinearLayout.identity_1d(16, "register", "dim0")
        >>> vector_width(layout, ["dim0"], 16), vector_width(
        ...     layout, ["dim0"], 16, alignment=12
        ... )
        (8, 4)
    """
    expect_layout("layout", layout)
    if alignment < 1:
        raise OutOfRangeError(
            f"alignment must be a number of elements >= 1, got alignment={alignment}",
            alignment=alignment,
        )
    limit = 1 << _access_bits(element_bits, max_bits)
    return min(contiguity(layout, order), limit, alignment & -alignment)


def broadcast_masks(layout: LinearLayout) -> dict[str, int]:
    """Return, for each in-dim, the bits that select copies of the same element.

    Law: the points with ``index & mask == 0`` on every in-dim hold each element that
    the layout reaches exactly once.

    Example:
        >>> layout = LinearLayout.from_bases(
        ...     {"register": [[1]], "lane": [[0], [2]]}, ["dim0"]
        ... )
        >>> broadcast_masks(layout)
        {'register': 0, 'lane': 1}

    Source: Triton ``getFreeVariableMasks``; theorem
    ``kernel_dimension_is_broadcast_factor``.
    """
    expect_layout("layout", layout)
    return dict(layout.get_free_variable_masks())


def replication(layout: LinearLayout) -> int:
    """Return how many hardware points hold each element that is held at all.

    Law: the product over the in-dims of 2 to the number of bits in its mask.

    Example:
        >>> replication(LinearLayout.zeros_1d(4, "lane", "dim0"))
        4
    """
    expect_layout("layout", layout)
    return 1 << sum(layout.in_bits) - layout.rank


def is_representative(layout: LinearLayout, point: Mapping[str, int]) -> bool:
    """Say whether ``point`` is the one that speaks for its element.

    Law: see ``broadcast_masks``; it's what a store is predicated on.

    Raises:
        DimMismatchError: ``point`` does not name exactly the in-dims.

    Example:
        >>> layout = LinearLayout.zeros_1d(4, "lane", "dim0")
        >>> [is_representative(layout, {"lane": lane}) for lane in range(4)]
        [True, False, False, False]
    """
    expect_layout("layout", layout)
    masks = broadcast_masks(layout)
    if set(point) != set(masks):
        raise DimMismatchError(
            f"a point needs the in-dims {list(masks)}, got point={dict(point)}",
            needed=tuple(masks),
            point=dict(point),
        )
    return all(point[dim] & mask == 0 for dim, mask in masks.items())


def _access_bits(element_bits: int, max_bits: int) -> int:
    """Return log2 of the elements that fit in the widest instruction, at least 0."""
    fitting = log2(max_bits, what="max_bits") - log2(element_bits, what="element_bits")
    return max(fitting, 0)


def _aligned_registers(access: LinearLayout, limit: int) -> tuple[int, ...]:
    """Return register bits whose images are 1, 2, 4, ... and own these bits alone."""
    if REGISTER not in access.in_names or not access.out_names:
        raise DimMismatchError(
            "an access maps an in-dim 'register' to memory, got "
            f"in_dims={list(access.in_names)}, out_dims={list(access.out_names)}",
            in_dims=access.in_names,
            out_dims=access.out_names,
        )
    images = access.in_columns(REGISTER)
    registers: list[int] = []
    for i in range(min(limit, access.out_bits[0])):
        users = [column for column in access.columns if column >> i & 1]
        if users != [1 << i] or 1 << i not in images:
            break
        registers.append(images.index(1 << i))
    return tuple(registers)


def _in_memory_order(layout: LinearLayout, order: Sequence[str]) -> LinearLayout:
    """Flatten the out-dims to one, the dims of ``order`` first."""
    if len(set(order)) != len(order) or not set(order) <= set(layout.out_names):
        raise DimMismatchError(
            f"order must name out-dims {list(layout.out_names)} once each, "
            f"got order={list(order)}",
            out_dims=layout.out_names,
            order=tuple(order),
        )
    rest = [name for name in layout.out_names if name not in order]
    return layout.transpose_outs([*order, *rest]).flatten_outs()
