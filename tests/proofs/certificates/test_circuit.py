"""Each word operation, on every input of a small width, by propagation alone."""

from collections.abc import Callable, Sequence
from itertools import product

import pytest

from proofs.certificates.circuit import FALSE, TRUE, Circuit

WIDTH = 3
MASK = 2**WIDTH - 1


def outcome(circuit: Circuit, inputs: dict[int, bool], outputs: Sequence[int]) -> int:
    """Propagate the inputs through the definitions and read the outputs."""
    true = {literal if value else -literal for literal, value in inputs.items()}
    progress = True
    while progress:
        progress = False
        for clause in circuit.clauses:
            if not any(literal in true for literal in clause):
                left = [literal for literal in clause if -literal not in true]
                assert left, "the definitions contradict the inputs"
                if len(left) == 1:
                    true.add(left[0])
                    progress = True
    assert all((bit in true) != (-bit in true) for bit in outputs)
    return sum(1 << i for i, bit in enumerate(outputs) if bit in true)


def bits(value: int, literals: Sequence[int]) -> dict[int, bool]:
    return {literal: bool(value >> i & 1) for i, literal in enumerate(literals)}


BINARY: dict[str, tuple[Callable[..., list[int]], Callable[[int, int], int]]] = {
    "sum": (Circuit.sum, lambda a, b: a + b & MASK),
    "sum with carry": (
        lambda c, a, b: c.sum(a, b, TRUE),
        lambda a, b: a + b + 1 & MASK,
    ),
    "difference": (Circuit.difference, lambda a, b: a - b & MASK),
    "less": (lambda c, a, b: [c.less(a, b)], lambda a, b: int(a < b)),
    "equal": (lambda c, a, b: [c.equal(a, b)], lambda a, b: int(a == b)),
    "left": (lambda c, a, b: c.barrel(a, b, left=True), lambda a, b: a << b & MASK),
    "right": (lambda c, a, b: c.barrel(a, b, left=False), lambda a, b: a >> b),
    "and": (
        lambda c, a, b: [c.conjunction(x, y) for x, y in zip(a, b, strict=True)],
        lambda a, b: a & b,
    ),
    "or": (
        lambda c, a, b: [c.disjunction(x, y) for x, y in zip(a, b, strict=True)],
        lambda a, b: a | b,
    ),
    "xor": (
        lambda c, a, b: [c.exclusive(x, y) for x, y in zip(a, b, strict=True)],
        lambda a, b: a ^ b,
    ),
}


@pytest.mark.parametrize("name", BINARY)
def test_on_variables(name: str) -> None:
    build, meaning = BINARY[name]
    circuit = Circuit()
    a, b = circuit.word(WIDTH, WIDTH), circuit.word(WIDTH, WIDTH)
    outputs = build(circuit, a, b)
    for x, y in product(range(MASK + 1), repeat=2):
        assert outcome(circuit, bits(x, a) | bits(y, b), outputs) == meaning(x, y)


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("side", [0, 1])
def test_with_a_constant_operand(name: str, side: int) -> None:
    build, meaning = BINARY[name]
    for fixed in range(MASK + 1):
        circuit = Circuit()
        word = circuit.word(WIDTH, WIDTH)
        operands = [word, word]
        operands[side] = circuit.number(fixed, WIDTH)
        outputs = build(circuit, *operands)
        for value in range(MASK + 1):
            numbers = [value, value]
            numbers[side] = fixed
            assert outcome(circuit, bits(value, word), outputs) == meaning(*numbers)


@pytest.mark.parametrize("name", BINARY)
def test_of_a_word_with_itself_and_its_complement(name: str) -> None:
    build, meaning = BINARY[name]
    for sign in (1, -1):
        circuit = Circuit()
        word = circuit.word(WIDTH, WIDTH)
        outputs = build(circuit, word, [sign * bit for bit in word])
        for value in range(MASK + 1):
            other = value if sign == 1 else MASK - value
            assert outcome(circuit, bits(value, word), outputs) == meaning(value, other)


def test_selection() -> None:
    circuit = Circuit()
    condition = circuit.fresh()
    a, b = circuit.word(2, 2), circuit.word(2, 2)
    outputs = circuit.select(condition, a, b)
    for x, y, z in product(range(4), range(4), (False, True)):
        inputs = bits(x, a) | bits(y, b) | {condition: z}
        assert outcome(circuit, inputs, outputs) == (x if z else y)
    assert circuit.choice(TRUE, a[0], b[0]) == a[0]
    assert circuit.choice(FALSE, a[0], b[0]) == b[0]
    assert circuit.choice(condition, a[0], a[0]) == a[0]


def test_shifts_by_a_constant() -> None:
    circuit = Circuit()
    word = circuit.word(WIDTH, WIDTH)
    for amount in range(WIDTH + 2):
        left = circuit.shifted(word, amount, left=True)
        right = circuit.shifted(word, amount, left=False)
        for value in range(MASK + 1):
            inputs = bits(value, word)
            assert outcome(circuit, inputs, left) == value << amount & MASK
            assert outcome(circuit, inputs, right) == value >> amount


def test_equal_gates_are_shared() -> None:
    circuit = Circuit()
    a, b = circuit.fresh(), circuit.fresh()
    for gate in (circuit.conjunction, circuit.exclusive):
        first = gate(a, b)
        size = len(circuit.clauses)
        assert gate(b, a) == first
        assert len(circuit.clauses) == size
    assert circuit.exclusive(-a, b) == -circuit.exclusive(a, b)
    assert circuit.word(1, 3)[1:] == [FALSE, FALSE]


def test_a_required_literal_is_a_unit() -> None:
    circuit = Circuit()
    literal = circuit.fresh()
    circuit.require(-literal)
    assert circuit.clauses[-1] == (-literal,)
