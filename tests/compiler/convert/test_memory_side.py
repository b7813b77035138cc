import pytest

from algebra import LinearLayout
from compiler.convert import Load, Select, Store, plan
from compiler.convert.instructions import Instruction
from compiler.convert.memory_side import word_moves
from compiler.convert.plan import Plan

Pair = tuple[LinearLayout, LinearLayout, int]


def access(found: Plan, kind: type[Store] | type[Load]) -> Store | Load:
    step = next(step for step in found.steps if isinstance(step, kind))
    assert isinstance(step, Store | Load)
    return step


def test_words_lie_in_the_order_of_memory(pairs: dict[str, Pair]) -> None:
    """What moves as words has its low offset bits in the low register bits."""
    src = LinearLayout.from_columns(
        {"register": 3, "lane": 5, "warp": 1},
        {"dim0": 9},
        [1 << i for i in (4, 1, 0, 2, 3, 5, 6, 7, 8)],
    )
    dst = LinearLayout.from_columns(
        {"register": 3, "lane": 5, "warp": 1},
        {"dim0": 9},
        [1 << i for i in (0, 1, 4, 2, 3, 5, 6, 8, 7)],
    )
    found = plan(src, dst, 8)
    store = access(found, Store)
    assert store.instruction.vector == 8
    assert store.address.linear.columns[:2] == (1, 2)
    load = access(found, Load)
    assert load.address.linear.columns[:2] == (1, 2)
    assert any(isinstance(step, Select) for step in found.steps)


@pytest.mark.parametrize(
    ("name", "vector", "moves"),
    [
        ("st.shared", 1, 24),
        ("ld.shared", 2, 8),
        ("ld.shared", 4, 0),
        ("ld.shared", 16, 0),
        ("stmatrix", 4, 0),
    ],
)
def test_narrow_accesses_cut_words(name: str, vector: int, moves: int) -> None:
    instruction = Instruction(name, vector, 8 * vector, 1, 1, 0)
    assert word_moves(instruction, 2, 5) == moves


def test_flips_stay_out_of_words() -> None:
    from algebra import AffineLayout

    columns = [1 << i for i in range(9)]
    dims = {"register": 3, "lane": 5, "warp": 1}
    src = LinearLayout.from_columns(dims, {"dim0": 9}, columns)
    dst = AffineLayout(src, {"dim0": 511})
    found = plan(src, dst, 8)
    load = access(found, Load)
    assert load.address.packed_offset & 3 == 0
    assert isinstance(found.steps[-1], Select)
    assert (found.simulate() == found.expected()).all()
