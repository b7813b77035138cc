import json
from pathlib import Path
from typing import Any

import pytest

from tilewright.cli import main

GOOD: dict[str, Any] = {
    "graph": "inference",
    "kernels": [
        {
            "name": "softmax_0",
            "compiled": True,
            "bytes": 3072,
            "origins": ["model.py:3 (forward)"],
            "reasons": ["fused exp: saves 12 bytes of reads"],
            "verdicts": {"in_bounds": "Proved", "no_race": "Unknown: time-out"},
        }
    ],
    "extern_calls": [
        {"target": "aten.mm.default", "reason": "a library", "bytes": 1024},
        {"target": "aten.mm.default", "reason": "a library", "bytes": None},
    ],
    "notes": ["peak memory: 12 bytes"],
    "seconds": {"lower": 0.25},
}


def trace(folder: Path, name: str, facts: dict[str, Any]) -> Path:
    made = folder / name
    (made / "kernels").mkdir(parents=True)
    (made / "summary.json").write_text(json.dumps(facts))
    (made / "kernels" / "softmax_0.cpp").write_text("void softmax_0();")
    return folder


def test_a_graph_as_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(trace(tmp_path, "000-inference", GOOD))]) == 0
    text = capsys.readouterr().out
    assert "000-inference: 1 kernels, 75 % of the bytes, 2 calls" in text
    assert "softmax_0" in text and "3 KiB" in text and "model.py:3" in text
    assert "1 Proved, 1 Unknown" in text and "lower 0.250 s" in text
    assert "2 x aten.mm.default: a library" in text and "saves 12" not in text


def test_reasons(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(trace(tmp_path, "000", GOOD)), "--reasons"]) == 0
    text = capsys.readouterr().out
    assert "saves 12 bytes" in text and "peak memory" in text


def test_json_and_choice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace(trace(tmp_path, "000-forward", GOOD), "001-backward", GOOD)
    assert main(["inspect", str(tmp_path), "--graph", "back", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)) == ["001-backward"]


def test_the_source_of_a_kernel(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(trace(tmp_path, "000", GOOD))
    assert main(["inspect", folder, "--kernel", "softmax_0"]) == 0
    assert capsys.readouterr().out == "void softmax_0();\n"
    assert main(["inspect", folder, "--kernel", "nothing"]) == 2
    assert "there are softmax_0" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"error": "CompileError: no"}, "not compiled: CompileError: no"),
        (
            {"kernels": [{**GOOD["kernels"][0], "compiled": False}]},
            "softmax_0 runs by PyTorch's operators",
        ),
        (
            {"kernels": [{**GOOD["kernels"][0], "verdicts": {"no_race": "Refuted"}}]},
            "softmax_0: no_race is refuted",
        ),
    ],
)
def test_what_was_not_compiled_is_exit_code_1(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    change: dict[str, Any],
    text: str,
) -> None:
    assert main(["inspect", str(trace(tmp_path, "000", {**GOOD, **change}))]) == 1
    assert text in capsys.readouterr().out


def test_unusable_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(tmp_path)]) == 2
    assert "TILEWRIGHT_TRACE" in capsys.readouterr().err
    assert main(["inspect", str(tmp_path / "none")]) == 2
    (tmp_path / "000").mkdir()
    (tmp_path / "000" / "summary.json").write_text("{")
    assert main(["inspect", str(tmp_path)]) == 2
    assert "no summary of a trace" in capsys.readouterr().err
