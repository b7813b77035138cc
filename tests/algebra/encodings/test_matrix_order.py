"""Orders of matrix dims."""

from algebra.encodings.matrix_order import matrix_order, operand_order


def test_batches_come_last() -> None:
    for rank in (2, 3, 4):
        for row_major in (True, False):
            order = matrix_order(rank, row_major)
            assert sorted(order) == list(range(rank))
            assert set(order[:2]) == {rank - 1, rank - 2}
            assert order[2:] == tuple(range(rank - 3, -1, -1))


def test_operands_start_with_k() -> None:
    assert operand_order(0, 3)[0] == 2
    assert operand_order(1, 3)[0] == 1
