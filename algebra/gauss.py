"""Linear algebra over F2 on columns packed in Python ints.

A matrix is a sequence of columns; ``columns[i]`` is the image of the unit vector
``1 << i``. Elimination keeps, for each pivot column, the pair (value, tag) in one
int: the value in the high bits, the set of columns that were added in the low bits.
Then one row operation is one xor, and ``candidate ^ row < candidate`` says that the
candidate has the row's leading bit. Rows are used in the order of their creation:
row k has no leading bit of rows before it, so one sweep reduces completely, without
sorting and without back substitution.

Pivots are taken greedily from column 0 up, so solutions have zeros at every other
column: they are the numerically smallest preimages. Source: reduced row echelon form,
M. Albrecht et al., M4RI; Triton ``lstsq``.
"""

from collections.abc import Iterable, Sequence


class Echelon:
    """The span of some columns, growing, with the recipe of each of its elements.

    Attributes:
        rows: Reduced pivots ``value << tag_bits | tag`` in order of creation.
        pivots: Index of the column that made each row.
        kernel: Tags of the columns that were dependent: each is a nonzero input
            whose image is zero; together a basis of the kernel.
    """

    __slots__ = ("kernel", "pivots", "rows", "tag_bits")

    def __init__(self, columns: Sequence[int], tag_bits: int | None = None) -> None:
        """Eliminate ``columns`` from the first to the last.

        Args:
            columns: Images of the unit vectors.
            tag_bits: Width kept for tags; default is the number of columns. A larger
                width leaves room for ``add``.
        """
        self.tag_bits = len(columns) if tag_bits is None else tag_bits
        self.rows: list[int] = []
        self.pivots: list[int] = []
        self.kernel: list[int] = []
        for index, column in enumerate(columns):
            self.add(column, index)

    def add(self, column: int, index: int) -> bool:
        """Append one column; return whether it enlarged the span."""
        candidate = column << self.tag_bits | 1 << index
        for row in self.rows:
            reduced = candidate ^ row
            if reduced < candidate:
                candidate = reduced
        if candidate >> self.tag_bits:
            self.rows.append(candidate)
            self.pivots.append(index)
            return True
        self.kernel.append(candidate)
        return False

    @property
    def rank(self) -> int:
        """Dimension of the span."""
        return len(self.rows)

    def reduce(self, vector: int) -> tuple[int, int]:
        """Return (remainder, tag) with ``vector == remainder ^ image(tag)``.

        The remainder is zero exactly when ``vector`` lies in the span; then the tag
        is its smallest preimage.
        """
        candidate = vector << self.tag_bits
        for row in self.rows:
            reduced = candidate ^ row
            if reduced < candidate:
                candidate = reduced
        return candidate >> self.tag_bits, candidate & (1 << self.tag_bits) - 1

    def __contains__(self, vector: int) -> bool:
        return self.reduce(vector)[0] == 0


def rank(columns: Iterable[int]) -> int:
    """Return the dimension of the span of ``columns``.

    Example:
        >>> rank([0b01, 0b10, 0b11, 0])
        2
    """
    rows: list[int] = []
    for column in columns:
        for row in rows:
            reduced = column ^ row
            if reduced < column:
                column = reduced
        if column:
            rows.append(column)
    return len(rows)


def apply(columns: Sequence[int], vector: int) -> int:
    """Return the matrix times ``vector``: the xor of the selected columns.

    Example:
        >>> apply([0b01, 0b11], 0b11)
        2
    """
    image = 0
    while vector:
        low = vector & -vector
        image ^= columns[low.bit_length() - 1]
        vector ^= low
    return image


def matmul(outer: Sequence[int], inner: Sequence[int]) -> list[int]:
    """Return the columns of ``outer`` times ``inner`` (``inner`` acts first).

    Law: ``apply(matmul(f, g), x) == apply(f, apply(g, x))``.
    """
    return [apply(outer, column) for column in inner]


def kernel(columns: Sequence[int]) -> list[int]:
    """Return a basis of the inputs that map to zero.

    Law: ``len(kernel(c)) == len(c) - rank(c)`` and each maps to 0. Theorem
    ``kernel_dimension_is_broadcast_factor``.

    Example:
        >>> kernel([1, 1, 2])
        [3]
    """
    return Echelon(columns).kernel


def inverse(columns: Sequence[int]) -> list[int] | None:
    """Return the columns of the inverse of a square matrix, or None.

    Example:
        >>> inverse([0b10, 0b01])
        [2, 1]
        >>> inverse([1, 1]) is None
        True
    """
    if any(column >> len(columns) for column in columns):
        return None
    return solve(columns, [1 << i for i in range(len(columns))])


def solve(columns: Sequence[int], targets: Sequence[int]) -> list[int] | None:
    """Return x with ``apply(columns, x[j]) == targets[j]``, smallest first, or None.

    Each ``x[j]`` is zero at every column that is not a pivot (see the module).

    Example:
        >>> solve([1, 1, 2], [3])
        [5]
    """
    echelon = Echelon(columns)
    preimages = []
    for target in targets:
        remainder, preimage = echelon.reduce(target)
        if remainder:
            return None
        preimages.append(preimage)
    return preimages


def complement(columns: Iterable[int], bits: int) -> list[int]:
    """Return unit vectors that complete the span of ``columns`` to all ``bits``.

    Law: ``rank(columns + complement) == bits`` and the spans meet in zero only.

    Example:
        >>> complement([0b011], 3)
        [1, 4]
    """
    rows: list[int] = []
    for column in columns:
        reduced = _reduce(rows, column)
        if reduced:
            rows.append(reduced)
    chosen = []
    for i in range(bits):
        reduced = _reduce(rows, 1 << i)
        if reduced:
            rows.append(reduced)
            chosen.append(1 << i)
    return chosen


def intersection(left: Sequence[int], right: Sequence[int]) -> list[int]:
    """Return a basis of the meet of two spans.

    Law: ``len(meet) == rank(left) + rank(right) - rank(left + right)``.

    Example:
        >>> intersection([1, 2], [2, 4])
        [2]
    """
    left_mask = (1 << len(left)) - 1
    rows: list[int] = []
    meet: list[int] = []
    for tag in kernel([*left, *right]):
        common = apply(left, tag & left_mask)
        reduced = _reduce(rows, common)
        if reduced:
            rows.append(reduced)
            meet.append(common)
    return meet


def _reduce(rows: Sequence[int], vector: int) -> int:
    """Reduce ``vector`` by rows in order of their creation."""
    for row in rows:
        reduced = vector ^ row
        if reduced < vector:
            vector = reduced
    return vector
