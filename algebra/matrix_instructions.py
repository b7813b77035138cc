"""When a shared-memory access can be one ``ldmatrix`` or ``stmatrix`` instruction.

The instruction moves 8 x 8 matrices of 16-bit pieces, up to four at a time. Each row
of a matrix is 128 contiguous bits of memory, whose address one lane supplies: lane
``8 * m + r`` row r of matrix m. Every lane then holds 32 bits of each matrix:

* plain: lane ``4 * r + q`` holds the 32 bits at position q of row r. On offset bits:
  the elements of 32 bits are the lowest ones, then come lane bits 0 and 1. Any element
  of at most 32 bits will do.
* transposed: lane ``4 * c + q`` holds the 16 bits of column c of the rows 2q and
  2q + 1. The lowest offset bits are lane bits 2, 3, 4; for elements of 8 bits a
  register bit comes before, which selects the byte of a column.

All other hardware bits may go anywhere above the row, since every row has its own
address. Seen by the lanes that supply addresses, the access is an ordinary 128-bit
one (``row_access``), so swizzles and bank conflicts need no special case.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .bank_conflicts import WORD_BITS
from .bits import log2
from .dims import BLOCK, LANE, REGISTER
from .errors import DimMismatchError, UnsupportedLayoutError
from .layout import LinearLayout

_LANE_BITS = 5
_PIECES_BITS = 2  # log2 of the 32-bit pieces of a row
_MATRICES_BITS = 2
_TRANSPOSED_BITS = 16


@dataclass(frozen=True, slots=True)
class MatrixAccess:
    """A legal matrix instruction, and who supplies which address.

    Attributes:
        transposed: Whether it's the ``.trans`` form.
        element_registers: Register bits that select the elements of 32 bits.
        matrix_registers: Register bits that select the matrix (x1, x2 or x4).
        repeat_registers: Register bits that need an instruction each.
        addresses: lane, register, warp, ... -> memory: the start of the row that the
            lane supplies; a register bit for each repetition, and as many lane bits
            as there are rows to address.
    """

    transposed: bool
    element_registers: tuple[int, ...]
    matrix_registers: tuple[int, ...]
    repeat_registers: tuple[int, ...]
    addresses: LinearLayout

    @property
    def matrices(self) -> int:
        """Matrices of one instruction: 1, 2 or 4."""
        return 1 << len(self.matrix_registers)

    @property
    def instructions(self) -> int:
        """Instructions that move all registers."""
        return 1 << len(self.repeat_registers)


@dataclass(frozen=True, slots=True)
class NoMatrixAccess:
    """Why an access isn't a matrix instruction.

    Attributes:
        reason: What is needed and what was found.
    """

    reason: str


def matrix_access(
    access: LinearLayout, element_bits: int, *, transposed: bool = False
) -> MatrixAccess | NoMatrixAccess:
    """Return how an access is made of matrix instructions, or why it can't be.

    Law: the lane and register that the instruction fills from row
    ``addresses(lane, register)`` are those whose offset ``access`` gives.

    Args:
        access: register, lane, ... -> offset, ... (``shared_access``), the offset first
            [elements].
        element_bits: Size of an element [bits].
        transposed: Ask for the ``.trans`` form.

    Raises:
        DimMismatchError: an in-dim ``register`` or ``lane`` is missing.
        NotPowerOfTwoError: ``element_bits`` isn't a power of two.

    Example:
        >>> access = LinearLayout.from_bases(
        ...     {"register": [[1], [64]], "lane": [[2], [4], [8], [16], [32]]},
        ...     {"offset": 128})
        >>> found = matrix_access(access, 16)
        >>> found.matrices, found.instructions
        (2, 1)
        >>> matrix_access(access, 16, transposed=True).reason
        'offset bit 0 must be lane bit 2 alone, but it is register bit 0'

    Source: Triton ``lowerLdStMatrix``; PTX ISA, ``ldmatrix``.
    """
    _check_dims(access)
    count = log2(WORD_BITS) - log2(element_bits, what="element_bits")
    registers, lanes = access.in_columns(REGISTER), access.in_columns(LANE)
    reason = _unfit(count, registers, lanes, transposed) or _crossing(access)
    if reason:
        return NoMatrixAccess(reason)
    row: list[int] = []
    first = count - 1 if transposed else count
    for i in range(count + _PIECES_BITS):
        found = _sole_user(access, i)
        lane = i - first + 2 * transposed
        if i >= first and found != (LANE, lane):
            return NoMatrixAccess(_wanted(i, f"lane bit {lane} alone", found))
        if i < first:
            if found is None or found[0] != REGISTER:
                return NoMatrixAccess(_wanted(i, "one register bit alone", found))
            row.append(found[1])
    rest = [bit for bit in range(len(registers)) if bit not in row]
    elements = row + rest[: count - len(row)]
    rest = rest[count - len(row) :]
    order = elements + rest
    view = row_access(
        _with_registers(access, [registers[bit] for bit in order]),
        element_bits,
        transposed=transposed,
    )
    row_bits = count + _PIECES_BITS
    return MatrixAccess(
        transposed,
        tuple(elements),
        tuple(rest[:_MATRICES_BITS]),
        tuple(rest[_MATRICES_BITS:]),
        _with_registers(view, view.in_columns(REGISTER)[row_bits:]),
    )


def row_access(
    layout: LinearLayout, element_bits: int, *, transposed: bool = False
) -> LinearLayout:
    """Return a distributed layout as the lanes that supply addresses see it.

    Registers become the elements of one 128-bit row, lanes the rows of four matrices
    (or of as many as the registers make). The result serves as an access pattern of
    ``swizzle_for``: a memory that is good for it suits ``ldmatrix`` as well.

    Args:
        layout: register, lane, ... -> tensor.
        element_bits: Size of an element [bits].
        transposed: For the ``.trans`` form.

    Raises:
        DimMismatchError: an in-dim ``register`` or ``lane`` is missing.
        UnsupportedLayoutError: there aren't 5 lane bits, or not 32 bits of registers.
        NotPowerOfTwoError: ``element_bits`` isn't a power of two.

    Example:
        >>> layout = LinearLayout.from_bases(
        ...     {"register": [[0, 1], [8, 0]],
        ...      "lane": [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]]}, ["dim0", "dim1"])
        >>> row_access(layout, 16).bases["register"]
        ((0, 1), (0, 2), (0, 4))
    """
    _check_dims(layout)
    count = log2(WORD_BITS) - log2(element_bits, what="element_bits")
    registers, lanes = layout.in_columns(REGISTER), layout.in_columns(LANE)
    reason = _unfit(count, registers, lanes, transposed)
    if reason:
        raise UnsupportedLayoutError(reason, layout=layout, element_bits=element_bits)
    if transposed:
        row = registers[: count - 1] + lanes[2:]
        rows = registers[count - 1 : count] + lanes[:2]
    else:
        row, rows = registers[:count] + lanes[:2], lanes[2:]
    rest = registers[count:]
    columns = {
        name: row + rest[_MATRICES_BITS:]
        if name == REGISTER
        else rows + rest[:_MATRICES_BITS]
        if name == LANE
        else layout.in_columns(name)
        for name in layout.in_names
    }
    return _from_columns(layout, columns)


def _unfit(
    count: int, registers: Sequence[int], lanes: Sequence[int], transposed: bool
) -> str:
    """Say why a warp's data are no matrices whatever the memory, or nothing."""
    element_bits = WORD_BITS >> count if count >= 0 else WORD_BITS << -count
    if transposed and element_bits > _TRANSPOSED_BITS:
        return f"the transposed form moves {_TRANSPOSED_BITS} bits, got {element_bits}"
    if count < 0 or len(registers) < count:
        return (
            f"each lane must hold {WORD_BITS} bits of a matrix, got {len(registers)} "
            f"register bits of {element_bits}-bit elements"
        )
    if len(lanes) != _LANE_BITS:
        return f"a matrix instruction has 5 lane bits, got {len(lanes)}"
    return ""


def _crossing(access: LinearLayout) -> str:
    """Say which input reaches the memory of another block, or nothing."""
    offset_bits = access.out_bits[0]
    for name in access.in_names:
        for bit, column in enumerate(access.in_columns(name)):
            own = 1 << bit if name == BLOCK else 0
            if column >> offset_bits not in (0, own):
                return (
                    "a matrix instruction stays in its block, but "
                    f"{name} bit {bit} reaches another one"
                )
    return ""


def _sole_user(access: LinearLayout, offset_bit: int) -> tuple[str, int] | None:
    """Return the input bit that alone makes an offset bit, and makes nothing else."""
    users = [
        (name, bit, column)
        for name in access.in_names
        for bit, column in enumerate(access.in_columns(name))
        if column >> offset_bit & 1
    ]
    if len(users) != 1 or users[0][2] != 1 << offset_bit:
        return None
    return users[0][:2]


def _wanted(offset_bit: int, wanted: str, found: tuple[str, int] | None) -> str:
    """Say what an offset bit must be and what it is."""
    is_now = (
        "it is mixed or unused" if found is None else f"it is {found[0]} bit {found[1]}"
    )
    return f"offset bit {offset_bit} must be {wanted}, but {is_now}"


def _with_registers(layout: LinearLayout, registers: Sequence[int]) -> LinearLayout:
    """Return the layout with other register columns."""
    columns = {name: layout.in_columns(name) for name in layout.in_names}
    return _from_columns(layout, columns | {REGISTER: tuple(registers)})


def _from_columns(
    layout: LinearLayout, columns: Mapping[str, Sequence[int]]
) -> LinearLayout:
    """Return a layout with the out-dims of ``layout`` and these columns."""
    return LinearLayout.from_columns(
        {name: len(images) for name, images in columns.items()},
        dict(zip(layout.out_names, layout.out_bits, strict=True)),
        [column for images in columns.values() for column in images],
    )


def _check_dims(layout: LinearLayout) -> None:
    """Refuse a layout without registers or lanes."""
    if not {REGISTER, LANE} <= set(layout.in_names):
        raise DimMismatchError(
            "a matrix instruction needs the in-dims ['register', 'lane'], got "
            f"in_dims={list(layout.in_names)}",
            in_dims=layout.in_names,
        )
