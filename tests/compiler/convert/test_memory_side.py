from collections import Counter
from collections.abc import Iterator

import pytest

from algebra import LinearLayout, gauss
from algebra.matrix_instructions import MatrixAccess, matrix_access
from compiler.convert import Load, Select, Store, plan, plans
from compiler.convert.hardware import hardware_of
from compiler.convert.instructions import Instruction
from compiler.convert.memory_side import word_moves
from compiler.convert.plan import Plan
from compiler.convert.simulate import images
from verify.oracle.random_conversions import random_pairs

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


def rows_of(step: Store | Load, bits: int) -> Iterator[list[int]]:
    """Yield the byte addresses of the rows of each matrix that warp 0 moves."""
    offset_bits, repetition_bits, blocks = step.address.linear.out_bits
    here = hardware_of(step.address)
    whole = LinearLayout.from_columns(
        here.dims,
        {"offset": offset_bits + repetition_bits, "block": blocks},
        step.address.linear.columns,
    )
    transposed = step.instruction.name.endswith(".trans")
    found = matrix_access(whole, bits, transposed=transposed)
    assert isinstance(found, MatrixAccess)
    lanes = found.addresses.in_columns("lane")
    for repeat in range(found.instructions):
        place = gauss.apply([1 << bit for bit in found.repeat_registers], repeat)
        start = step.address.packed_offset ^ gauss.apply(
            step.address.linear.columns, place
        )
        if start >> offset_bits & (1 << repetition_bits) - 1 == step.repetition:
            rows = [start ^ gauss.apply(lanes, lane) for lane in range(1 << len(lanes))]
            for first in range(0, len(rows), 8):
                matrix = rows[first : first + 8]
                yield [(row & (1 << offset_bits) - 1) * bits // 8 for row in matrix]


def vectors_of(step: Store | Load, bits: int) -> Iterator[list[list[int]]]:
    """Yield, for each instruction of warp 0, the words that groups of lanes touch."""
    here = hardware_of(step.address)
    offset_bits, repetition_bits, _ = step.address.linear.out_bits
    packed = images(step.address).reshape(-1, 32, 1 << here.registers)[0]
    offsets = (packed & (1 << offset_bits) - 1) * bits // 8
    repetitions = packed >> offset_bits & (1 << repetition_bits) - 1
    size = step.instruction.vector_bits // 8
    silent = step.silent if isinstance(step, Store) else 0
    seen = set()
    for register in range(1 << here.registers):
        group = int(offsets[0, register]) // size
        mine = repetitions[0, register] == step.repetition
        if not mine or register & silent or group in seen:
            continue
        seen.add(group)
        lanes = 32 if size <= 4 else 128 // size
        yield [
            [
                int(offsets[lane, register]) // size * size // 4 + word
                for lane in range(first, first + lanes)
                if not lane << here.registers & silent
                for word in range(max(1, size // 4))
            ]
            for first in range(0, 32, lanes)
        ]


def test_wavefronts_are_at_least_those_of_the_exact_addresses() -> None:
    """Bank by bank, for every way of random conversions and both kinds of access.

    Stores of copies may take less than what is counted.
    """
    seen: set[str] = set()
    for pair in random_pairs(41, 80):
        for found in plans(pair.src, pair.dst, pair.element_bits):
            if hardware_of(found.src).lanes != 5:
                continue
            for step in found.steps:
                if not isinstance(step, Store | Load):
                    continue
                exact = 0
                if step.instruction.is_matrix:
                    for rows in rows_of(step, pair.element_bits):
                        banks = Counter(row // 16 % 8 for row in set(rows))
                        exact += max(banks.values())
                elif pair.element_bits <= 64:
                    for groups in vectors_of(step, pair.element_bits):
                        for words in groups:
                            banks = Counter(word % 32 for word in set(words))
                            exact += max(banks.values(), default=0)
                assert exact <= step.instruction.wavefronts, (pair, found.way)
                seen.add(step.instruction.name)
    assert {"st.shared", "ld.shared", "stmatrix", "ldmatrix.trans"} <= seen
