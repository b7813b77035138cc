"""What a plan says of itself."""

from algebra import gauss
from compiler.permuting.index_map import IndexMap
from compiler.permuting.vector_plan import VectorPlan
from compiler.permuting.vector_search import plan_vectors


def reversal(width: int, bits: int) -> VectorPlan:
    map = IndexMap(tuple(1 << i for i in reversed(range(bits))))
    choice = plan_vectors(map, width, line_bits=(256 // width).bit_length() - 1)
    assert choice is not None
    return choice.plan


def test_sizes_of_a_bit_reversal() -> None:
    for width, vector, word in ((1, 4, 2), (2, 3, 1), (4, 2, 0)):
        plan = reversal(width, 24)
        assert (plan.vector_bits, plan.word_bits) == (vector, word)
        assert plan.tile_bits == 2 * plan.line_bits
        assert plan.block_bits == 2 * vector and plan.access_bits == vector
        assert plan.tile_bits + len(plan.programs) == 24


def test_both_views_are_of_the_same_memory() -> None:
    """A vector's offset is the same whether lines or blocks are asked."""
    plan = reversal(2, 24)
    line = plan.line_bits - plan.word_bits
    words = gauss.inverse([r << line | c for r, c in plan.line_view(plan.word_bits)])
    assert words is not None
    for vector in (*plan.loads, *plan.threads):
        place = plan.coordinates(vector) >> plan.word_bits
        assert gauss.apply(words, place) == plan.offset(vector) >> plan.word_bits


def test_a_transpose_in_a_thread_is_its_own_inverse() -> None:
    columns, offset = reversal(4, 20).in_thread()
    assert offset == 0 and gauss.matmul(columns, columns) == [1, 2, 4, 8]
