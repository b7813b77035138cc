import math
from pathlib import Path

import pytest

from tilewright.bench import (
    LEAST_BITS,
    Row,
    draw,
    in_turn,
    memory_of,
    most_bits,
    named_maps,
    survey,
    table,
)

ROWS = [
    Row(
        "transpose",
        "int8",
        {"tilewright": 0.9, "eager": 0.1, "torch.compile": None},
        True,
    ),
    Row(
        "morton",
        "int8",
        {"tilewright": 0.4, "eager": 0.1, "torch.compile": None},
        False,
    ),
]


@pytest.mark.parametrize("bits", [20, 24, 28])
def test_maps_have_all_elements(bits: int) -> None:
    for name, (shape, axes) in named_maps(bits).items():
        assert math.prod(shape) == 1 << bits, name
        assert sorted(axes) == list(range(len(shape)))


def test_table() -> None:
    text = table(ROWS)
    assert "0.90" in text and "-" in text and "WRONG" in text
    assert "geomean        int8              0.60" in text


def test_plot(tmp_path: Path) -> None:
    path = tmp_path / "bench.svg"
    draw(ROWS, str(path), "title")
    assert "<svg" in path.read_text()


def test_results_are_compared() -> None:
    rows = survey(LEAST_BITS, "cpu", ["int64"], rounds=1, compiled=False)
    assert [row.name for row in rows] == list(named_maps(LEAST_BITS))
    assert all(row.right for row in rows)
    for row in rows:
        assert row.fractions["torch.compile"] is None
        assert (row.fractions["tilewright"] or 0) > 0


def test_the_first_round_warms_up() -> None:
    calls: list[str] = []
    spans = in_turn({"a": lambda: calls.append("a")}, 2, "cpu")
    assert calls == ["a"] * 3 and spans["a"] >= 0


def test_what_fits_into_memory() -> None:
    assert most_bits(["int8"], 1 << 30) == 28
    assert most_bits(["int8", "int64"], (1 << 30) - 1) == 24
    assert memory_of("cpu") > 1 << 28
