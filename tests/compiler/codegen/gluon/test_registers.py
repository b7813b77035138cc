"""The PTX for registers, read by a small machine of its own."""

import random
import re

import pytest

from algebra import gauss
from compiler.codegen.gluon.registers import permute_registers
from compiler.permuting.index_map import table


def run(text: str, words: list[int], flip: int | None) -> list[int]:
    """Return the output words."""
    count = len(words)
    values: dict[str, int] = {f"${count + i}": word for i, word in enumerate(words)}
    if flip is not None:
        values |= {f"${2 * count + i}": flip for i in range(count)}

    def read(operand: str) -> int:
        return values[operand] if operand in values else int(operand, 0)

    for line in text.splitlines():
        match = re.fullmatch(r"([a-z]+)[.\w]* ([\w$]+), (.*);", line)
        if match is None:
            assert line.startswith((".reg", "{", "}"))
            continue
        name, onto, rest = match.groups()
        operands = [read(operand) for operand in rest.split(", ")]
        match name, operands:
            case "mov", [a]:
                values[onto] = a
            case "mul", [a, b]:
                values[onto] = a * b
            case "xor", [a, b]:
                values[onto] = a ^ b
            case "and", [a, b]:
                values[onto] = a & b
            case "setp", [a, b]:
                values[onto] = a != b
            case "selp", [a, b, choose]:
                values[onto] = a if choose else b
            case "prmt", [a, b, selector]:
                pool = a | b << 32
                values[onto] = sum(
                    (pool >> 8 * (selector >> 4 * i & 7) & 0xFF) << 8 * i
                    for i in range(4)
                )
            case _:
                raise AssertionError(line)
    return [values[f"${i}"] for i in range(count)]


def elements(words: list[int], size: int) -> list[bytes]:
    flat = b"".join(word.to_bytes(4, "little") for word in words)
    return [flat[i : i + size] for i in range(0, len(flat), size)]


@pytest.mark.parametrize("flips", ["none", "input", "output"])
@pytest.mark.parametrize("size", [1, 2, 4])
def test_any_permutation_of_a_block(size: int, flips: str) -> None:
    rng = random.Random(f"{size} {flips}")
    for _ in range(30):
        bits = rng.randrange({1: 2, 2: 1, 4: 0}[size], 7)
        columns: list[int] = []
        while gauss.rank(columns) < bits:
            columns = [rng.getrandbits(bits) for _ in range(bits)]
        offset = rng.getrandbits(bits) if bits else 0
        text, constraints = permute_registers(columns, offset, size, flips)
        words = [rng.getrandbits(32) for _ in range(max((size << bits) // 4, 1))]
        operands = 2 if flips == "none" else 3
        assert constraints.count("r") == operands * len(words)
        flip = 0 if flips == "none" else rng.randrange(4 // size)
        got = run(text, words, None if flips == "none" else flip * size)
        before = elements(words, size)
        places = table(columns, offset)
        for place, element in enumerate(elements(got, size)):
            if flips == "output":
                assert element == before[places[place ^ flip]]
            else:
                assert element == before[places[place] ^ flip]


def test_a_byte_transpose_takes_eight_instructions() -> None:
    text, _ = permute_registers([4, 8, 1, 2], 0, 1)
    assert len(re.findall("prmt", text)) == 8


def test_words_only_change_their_names() -> None:
    text, _ = permute_registers([2, 1], 3, 4)
    assert "prmt" not in text and text.count("mov.b32") == 4
