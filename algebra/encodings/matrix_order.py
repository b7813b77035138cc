"""Orders of the dims of (batches of) matrices, the fastest first."""

from functools import cache


@cache
def matrix_order(rank: int, row_major: bool) -> tuple[int, ...]:
    """Return the dims of a batch of matrices, the fastest first.

    Example:
        >>> matrix_order(3, True), matrix_order(3, False)
        ((2, 1, 0), (1, 2, 0))

    Source: Triton ``getMatrixOrder``.
    """
    order = list(range(rank))[::-1]
    if not row_major:
        order[0], order[1] = order[1], order[0]
    return tuple(order)


def operand_order(op_idx: int, rank: int) -> tuple[int, ...]:
    """Return K, the other matrix dim, the batch: the order of a dot operand.

    Example:
        >>> operand_order(0, 2), operand_order(1, 2)
        ((1, 0), (0, 1))

    Source: Triton ``getOrderForDotOperand`` with K contiguous.
    """
    return matrix_order(rank, op_idx == 0)
