import json
import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from algebra import LinearLayout
from algebra.encodings import NvidiaMma, PaddedShared, SwizzledShared

Command = Callable[..., Any]
MMA = NvidiaMma(version=(2, 0), warps_per_cta=(2, 1), instr_shape=(16, 8))
SHARED = SwizzledShared(vec=2, per_phase=1, max_phase=4, order=(1, 0))


def test_tables(command: Command) -> None:
    answer = command("show", repr(MMA), "--shape", "32x8")
    assert answer.code == 0
    lines = answer.out.splitlines()
    assert lines[0] == f"{MMA!r}, shape 32x8"
    assert "element -> hardware" in lines
    assert "warp/lane:register" in lines
    row = next(line.split() for line in lines if line.startswith("1 "))
    assert row[:3] == ["1", "0/4:0", "0/4:1"]
    assert "hardware -> element" in lines
    assert any(
        line.split()[:5] == ["warp", "1", "lane", "31", "23,6"] for line in lines
    )


def test_a_terminal_gets_what_fits(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "60")
    answer = command("show", repr(MMA), "--shape", "32x64")
    assert "of 64 columns are shown)" in answer.out


@pytest.mark.parametrize("kind", ["svg", "html"])
def test_pictures(command: Command, tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"picture.{kind}"
    words = ["show", repr(SHARED), "--shape", "8,16", f"--{kind}", path]
    answer = command(*words, "--color-by", "offset", "--element-bits", 16)
    assert answer.code == 0
    assert answer.out == f"wrote {path}\n"
    text = path.read_text()
    picture = text[text.index("<svg") : text.index("</svg>") + 6]
    ET.fromstring(picture)
    assert "colour: offset" in picture
    assert "SwizzledShared(vec=2" in text


def test_padded_memory(command: Command, tmp_path: Path) -> None:
    padded = PaddedShared.with_identity(
        intervals=(8,), paddings=(4,), shape=(4, 8), order=(1, 0)
    )
    path = tmp_path / "padded.svg"
    assert "before padding" in command("show", repr(padded), "--shape", "4x8").out
    assert command("show", repr(padded), "--shape", "4x8", "--svg", path).code == 0
    banks = re.findall('data-bank="([0-9]+)"', path.read_text())
    assert [int(bank) for bank in banks[::8]] == [0, 12, 24, 4]


def test_json_is_the_layout(command: Command, tmp_path: Path) -> None:
    words = ["show", repr(MMA), "--shape", "16x8", "--release", "3.6", "--json"]
    answer = command(*words, "--svg", tmp_path / "x.svg", "--rows", 2, "--columns", 3)
    facts = json.loads(answer.out)
    layout = LinearLayout.from_bases(facts["bases"], facts["out_dims"])
    assert layout == MMA.to_linear_layout([16, 8], release="3.6")
    assert facts["shape"] == [16, 8]
    assert facts["release"] == "3.6"
    assert facts["surjective"] is True
    assert facts["injective"] is False
    assert len(facts["elements"]) == 6
    for cell in facts["elements"]:
        for place in cell["places"]:
            assert list(layout.apply(place).values()) == cell["element"]
    assert len(facts["notes"]) == 2
    assert (tmp_path / "x.svg").is_file()


def test_a_large_tensor_does_not_hang(command: Command) -> None:
    answer = command("show", repr(SHARED), "--shape", f"{1 << 20}x{1 << 20}")
    assert answer.code == 0
    assert f"64 of {1 << 20} rows are shown" in answer.out
