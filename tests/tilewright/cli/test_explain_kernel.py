import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Command = Callable[..., Any]
DUMP = """\
#b = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [1, 32], \
warpsPerCTA = [4, 1], order = [1, 0]}>
#c = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [32, 1], \
warpsPerCTA = [1, 4], order = [0, 1]}>
module attributes {"ttg.num-warps" = 4 : i32} {
  tt.func public @k(%x: !tt.ptr<f32>) {
    %c = arith.constant dense<1.0> : tensor<128x128xf32, #b>
    %d = ttg.convert_layout %c : tensor<128x128xf32, #b> -> tensor<128x128xf32, #c>
    %p = tt.splat %x : !tt.ptr<f32> -> tensor<128x128x!tt.ptr<f32>, #c>
    tt.store %p, %d : tensor<128x128x!tt.ptr<f32>, #c>
    tt.return
  }
}
"""


def test_words(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "k.ttgir"
    path.write_text(DUMP)
    answer = command("explain", str(path))
    assert answer.code == 0
    assert answer.out.startswith("1 conversions left, ")
    assert "128x128 of 32 bits" in answer.out and "why: " in answer.out
    assert "assignment leaves 0 conversions, 0 cycles a warp (Proved)" in answer.out


def test_json(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "k.ttgir"
    path.write_text(DUMP.replace("tt.store", "tt.unheard_of"))
    facts = json.loads(command("explain", str(path), "--json").out)
    (one,) = facts["conversions"]
    assert one["shape"] == [128, 128] and one["moves"] and one["cost"] > 0
    assert facts["cost"] == one["cost"]
    assert (
        not facts["instead"]["modelled"] and "unheard_of" in facts["instead"]["reason"]
    )


def test_bad_input(command: Command, tmp_path: Path) -> None:
    assert command("explain", "nothing").code == 2
    assert command("explain", str(tmp_path / "missing.ttgir")).code == 2
    assert command("explain", "Blocked()", "Blocked()").code == 2
