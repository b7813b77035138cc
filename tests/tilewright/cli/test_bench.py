import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tilewright.bench import Row

Command = Callable[..., Any]
FRACTIONS: dict[str, float | None] = {
    "tilewright": 0.9,
    "eager": 0.2,
    "torch.compile": None,
}


def surveyed(right: bool) -> Callable[..., list[Row]]:
    def survey(bits: int, device: str, dtypes: list[str], **_: object) -> list[Row]:
        assert (bits, device) == (21, "cpu")
        return [Row("transpose", dtype, FRACTIONS, right) for dtype in dtypes]

    return survey


def test_table_and_plot(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tilewright.bench.survey", surveyed(True))
    path = tmp_path / "bench.svg"
    words = ("bench", "conversions", "--bits", "21", "--device", "cpu")
    answer = command(*words, "--dtypes", "int8", "--plot", path)
    assert answer.code == 0, answer
    assert "transpose" in answer.out and path.exists()
    answer = command(*words, "--json")
    facts = json.loads(answer.out)
    assert facts["bits"] == 21 and len(facts["rows"]) == 3
    assert facts["rows"][0]["fraction_of_copy"]["tilewright"] == 0.9


def test_wrong_results_are_a_failure(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tilewright.bench.survey", surveyed(False))
    answer = command("bench", "conversions", "--bits", "21", "--device", "cpu")
    assert answer.code == 1 and "WRONG" in answer.out


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["kernels"], "subject must be"),
        (["conversions", "--device", "tpu"], "--device must be"),
        (["conversions", "--bits", "10"], "20 at least"),
        (["conversions", "--bits", "99"], "at most for int8, float16, float32"),
        (["conversions", "--dtypes", "int3"], "int3"),
        (["conversions", "--dtypes", ","], "--dtypes needs"),
        (["conversions", "--plot", "a.txt"], "--plot needs"),
    ],
)
def test_rejected(command: Command, words: list[str], text: str) -> None:
    answer = command("bench", *words)
    assert answer.code == 2 and text in answer.err
